from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from audit.cases import small_case, subject
from audit.lookers import attention_of, looking
from unmask import distances, seeds
from unmask.audit.examples import DRAWS, WIDE, examples, heats
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


def test_attention_is_shown_as_it_is_and_under_noise():
    case = looking("honest")
    found, w = heats(case), attention_of(case)
    assert len(found) == 2
    for heat in found:
        i = next(i for i, row in enumerate(case.x) if tuple(row) == heat.words)
        names, weights = zip(*heat.lines, strict=True)
        assert names == ("as it is", *(f"noise {n + 1}" for n in range(DRAWS)))
        assert weights[0] == pytest.approx(w[i, : len(heat.words)].tolist(), abs=1e-4)
        assert len(set(weights)) == 1 + DRAWS  # each draw is another
        assert all(sum(line) == pytest.approx(1.0, abs=2e-3) for line in weights)
        lines = torch.tensor(weights)
        apart = distances.jsd(lines[:1].expand(DRAWS, -1), lines[1:], torch.ones(DRAWS, lines.shape[1]).bool()).mean()
        assert float(heat.note.split()[2]) == pytest.approx(float(apart), abs=2e-4)
        assert heat.label.endswith(f"the model says {case.data.classes[int(case.target[i])]}")


def test_of_long_rows_the_heaviest_words_are_shown_in_their_order():
    case = looking("honest")
    long = replace(case, x=[[*row, *["and"] * 30] for row in case.x])
    long = replace(long, valid=case.data.layout.valid(long.x))
    first = heats(long)[0]
    assert len(first.words) == WIDE
    assert first.note.startswith(f"the {WIDE} heaviest of ")
    assert {"good", "bad"} & set(first.words)


def test_equal_weights_stand_still_and_what_has_no_attention_is_not_drawn():
    assert all(
        len(set(heat.lines[0][1])) == 1 and len({w for _, w in heat.lines}) == 1 for heat in heats(looking("even"))
    )
    assert heats(small_case()) == []
