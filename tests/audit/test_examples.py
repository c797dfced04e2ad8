from __future__ import annotations

from dataclasses import replace

from audit.cases import small_case, subject
from unmask import seeds
from unmask.audit.examples import examples
from unmask.masking import subsets


def test_common_rows_come_first_then_each_ones_best_and_worst():
    case = small_case()
    subjects = []
    for name, seed in (("a", 0), ("b", 1)):
        made = subject(case, subsets.uniform(case.valid, 2, seeds.generator(seed)), name)
        drawn = replace(made.explanation, x=case.x, layout=case.data.layout, classes=case.data.classes)
        subjects.append(replace(made, explanation=drawn))
    case = replace(case, subjects=tuple(subjects))
    found = list(examples(case))
    assert [e.explanation for e in found] == ["a", "b", "a", "b", "a", "a", "b", "b"]
    assert found[0].row.values == found[1].row.values
    assert found[0].row.label != found[2].row.label
    enough = case.pick(case.shown(subjects[0].kept))
    assert found[4].row.values == case.x[int(enough.argmax())].tolist()
    assert found[5].row.values == case.x[int(enough.argmin())].tolist()
    assert f"{float(enough.max()):.2f} on what is kept" in found[4].note
