from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from audit.cases import planted, small_case, subject
from audit.lookers import attention_of, looking
from unmask import distances, seeds
from unmask.audit.examples import DRAWS, WIDE, examples, heats, learning, places
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
