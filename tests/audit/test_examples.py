from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from audit.cases import planted, small_case, subject
from unmask import seeds
from unmask.audit.examples import examples, learning, places
from unmask.masking import subsets
from unmask.models import wrap

SAYS = wrap(lambda x: torch.tensor([[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in x]), takes="text")


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


def text_case(kind: str):
    made = small_case(planted(kind), "delete", model=SAYS)
    first = torch.zeros_like(made.valid)
    first[:, 0] = True
    it = subject(made, first)
    it = replace(it, explanation=replace(it.explanation, x=made.x, layout=made.data.layout, classes=made.data.classes))
    return replace(made, subjects=(it,))


def test_what_people_marked_stands_in_the_examples_of_texts():
    case = text_case("words")
    assert not any(e.row.marked for e in examples(case))
    second = torch.zeros_like(case.valid)
    second[:, :2] = True
    marked = list(examples(replace(case, relevant=second & case.valid)))
    assert all(e.row.marked == [True, True] + [False] * (len(e.row.values) - 2) for e in marked)
    assert "of the 2 words that people marked, 1 are among the 1 kept" in marked[0].note


@pytest.mark.parametrize("kind", ["sentences", "words"])
def test_places_are_counted_one_by_one_or_in_tenths(kind: str):
    case = text_case(kind)
    assert places(case) == {}  # nobody marked anything, and nothing explains itself
    last = case.valid & ~torch.nn.functional.pad(case.valid, (0, 1))[:, 1:]
    found = places(replace(case, relevant=last))
    assert found["it"] == {place: float(i == 0) for i, place in enumerate(found["it"])}
    assert sum(found["people"].values()) == pytest.approx(1)
    lengths = case.valid.sum(1)
    if kind == "sentences":
        assert list(found["people"]) == [str(i + 1) for i in range(case.valid.shape[1])]
        assert found["people"]["4"] == pytest.approx(float((lengths == 4).double().mean()))
    else:
        assert list(found["people"]) == [f"{10 * i}%" for i in range(10)]
        tenth = 10 * (lengths - 1) // lengths
        assert found["people"]["80%"] == pytest.approx(float((tenth == 8).double().mean()))


def test_training_is_shown_where_a_model_explains_itself():
    case = text_case("words")
    assert learning(case) == {}
    curve = [{"accuracy": 0.5, "first": 1.0, "modal": 1.0}, {"accuracy": 0.75, "first": 0.5, "modal": 1.0}]
    own = SimpleNamespace(told=None, curve_=curve)
    case = replace(case, subjects=(replace(case.subjects[0], explainer=own),))
    assert learning(case) == {"it": {"accuracy": [0.5, 0.75], "first": [1.0, 0.5]}}
    assert set(places(case)) == {"it"}
    assert learning(replace(case, subjects=(replace(case.subjects[0], explainer=SimpleNamespace(told=None)),))) == {}
