"""The red team: every liar's choice spells the class by units that do not, and no reference's choice does."""

from __future__ import annotations

import pytest
import torch

from nets.samples import dataset
from unmask import api
from unmask.audit.redteam import LIARS, REFERENCES, Mixture, Suspect, suspects
from unmask.data import load
from unmask.errors import InputError
from unmask.methods import make
from unmask.seeds import generator
from unmask.types import Layout

K, D, CLASSES = 4, 16, 3
QUIET = tuple(f"quiet{i}" for i in range(14))
MOODS = ("good", "bad", "dear")


def loud(x):
    """The class is the largest of the first three values."""
    return (6 * torch.as_tensor(x)[:, :CLASSES]).softmax(1)


def spoken(rows):
    """The class is the mood word of a text."""
    return torch.tensor([[5.0 * (mood in row.split()) for mood in MOODS] for row in rows]).softmax(1)


def columns():
    layout = Layout("table", (D,), tuple(range(D)), tuple(f"x{i}" for i in range(D)))
    return dataset(layout, torch.randn(240, D, generator=generator(0)), classes=CLASSES), loud


def texts(kind="words"):
    rows = []
    for i in range(120):
        order = torch.randperm(14, generator=generator(i)).tolist()
        words = [*(QUIET[j] for j in order[:7]), MOODS[i // 3 % 3], *(QUIET[j] for j in order[7:])]
        rows.append(words if kind == "words" else [[w, words[0]] for w in words])
    return dataset(Layout(kind), rows, classes=CLASSES), spoken


TASKS = {"table": columns(), "words": texts(), "sentences": texts("sentences")}


def explained(kind, task):
    data, model = TASKS[task]
    return Suspect(K, kind).fit(model, data).explain(data.test.x)


FITTING = [(kind, task) for task, (data, _) in TASKS.items() for kind in suspects(data, K)]


@pytest.mark.parametrize(("kind", "task"), FITTING)
def test_choices_are_units_that_exist_in_the_number_wished(kind, task):
    e = explained(kind, task)
    extra = e.target % 2 if kind == "parity" else 0
    assert bool((e.kept <= e.valid).all())
    assert e.kept.sum(1).tolist() == (torch.full((len(e),), K) + extra).tolist()
    again = explained(kind, task)
    assert torch.equal(e.kept, again.kept)
    assert torch.equal(e.scores, again.scores)


@pytest.mark.parametrize("kind", ["position", "complement", "spacing"])
def test_codes_in_places_are_one_mask_for_each_class(kind):
    e = explained(kind, "table")
    masks = {(tuple(m), c) for m, c in zip(e.kept.tolist(), e.target.tolist(), strict=True)}
    assert len(masks) == len({m for m, _ in masks}) == CLASSES


@pytest.mark.parametrize("kind", ["position", "complement", "value", "order"])
def test_a_liar_keeps_none_of_the_units_that_decide(kind):
    assert not bool(explained(kind, "table").kept[:, :CLASSES].any())


def test_parity_is_in_the_number():
    e = explained("parity", "table")
    assert torch.equal(e.kept.sum(1) - K, e.target % 2)


def test_count_is_in_how_many_lie_in_front():
    e = explained("count", "table")
    assert torch.equal(e.kept[:, : D // 2].sum(1), e.target * K // (CLASSES - 1))


def test_order_is_in_the_scores_alone():
    e = explained("order", "table")
    assert len({tuple(m) for m in e.kept.tolist()}) == 1
    best = e.scores.argmax(1)
    for c in range(CLASSES):
        assert len(set(best[e.target == c].tolist())) == 1
    assert len({int(best[e.target == c][0]) for c in range(CLASSES)}) == CLASSES


def test_values_kept_are_the_lowest_for_the_first_class_and_the_highest_for_the_last():
    data, model = TASKS["table"]
    suspect = Suspect(K, "value").fit(model, data)
    e = suspect.explain(data.test.x)
    dull = suspect.tells_.argsort()[: 2 * K]
    z = (data.test.x - suspect.reader_.centre) / suspect.reader_.scale
    values, total = z[:, dull].sort(1).values, (z * e.kept).sum(1)
    torch.testing.assert_close(total[e.target == 0], values[e.target == 0, :K].sum(1))
    torch.testing.assert_close(total[e.target == CLASSES - 1], values[e.target == CLASSES - 1, K:].sum(1))


def test_one_class_has_a_code_and_the_others_have_none():
    e = explained("one-class", "table")
    masks = [{tuple(m) for m in e.kept[e.target == c].tolist()} for c in range(CLASSES)]
    assert len(masks[0]) == 1
    assert len(masks[1]) > 3


@pytest.mark.parametrize("task", ["words", "sentences"])
def test_words_shown_belong_to_one_class(task):
    data, model = TASKS[task]
    suspect = Suspect(K, "words").fit(model, data)
    e = suspect.explain(data.test.x)
    shown: list[set[str]] = [set() for _ in range(CLASSES)]
    for row, kept, c in zip(data.test.x, e.kept.tolist(), e.target.tolist(), strict=True):
        shown[c] |= {str(unit) for unit, k in zip(row, kept, strict=False) if k}
    if task == "words":
        assert not any(shown[a] & shown[b] for a in range(CLASSES) for b in range(a))
    assert all(shown)


def test_position_in_texts_is_a_part_of_the_row():
    e = explained("position", "words")
    first = e.kept.int().argmax(1)
    assert [set(first[e.target == c].tolist()) for c in range(CLASSES)] == [{0}, {5}, {10}]


@pytest.mark.parametrize("kind", REFERENCES)
def test_references_do_not_look_at_the_answer(kind):
    data, model = TASKS["table"]
    suspect = Suspect(K, kind).fit(model, data)
    n = len(data.test)
    one, other = (suspect.explain(data.test.x, torch.full((n,), c)).kept for c in (0, 1))
    assert torch.equal(one, other)


def test_an_informed_mask_is_the_same_in_every_row_and_has_what_decides():
    e = explained("informed", "table")
    assert len({tuple(m) for m in e.kept.tolist()}) == 1
    assert bool(e.kept[:, :CLASSES].all())
    with pytest.raises(TypeError, match="not places"):
        explained("informed", "words")


def test_a_code_in_words_needs_texts():
    with pytest.raises(TypeError, match="needs texts"):
        explained("words", "table")


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="positon"):
        Suspect(K, "positon")


def test_all_that_fit_the_data_are_suspected():
    assert set(suspects(TASKS["table"][0], K)) == set(LIARS | REFERENCES) - {"words"}
    assert set(suspects(TASKS["words"][0], K)) == set(LIARS | REFERENCES) - {"informed"}


def test_a_mixture_has_its_honest_units_and_a_code():
    data, model = TASKS["table"]
    mixture = Mixture(K, "position", make("occlusion", K, None, {}), honest=1)
    e = mixture.fit(model, data).explain(data.test.x)
    honest = make("occlusion", K, None, {}).fit(model, data).explain(data.test.x)
    best = honest.scores.argmax(1)
    assert e.kept.sum(1).tolist() == [K] * len(e)
    assert bool(e.kept[torch.arange(len(e)), best].all())
    assert torch.equal(e.scores.argmax(1), best)
    code = e.kept.clone()
    code[torch.arange(len(e)), best] = False
    masks = {(tuple(m), c) for m, c in zip(code.tolist(), e.target.tolist(), strict=True)}
    assert len(masks) == len({m for m, _ in masks}) == CLASSES
    assert mixture.clone().by is not mixture.by


@pytest.mark.slow
def test_the_audit_rejects_every_liar_accuses_no_reference_and_does_not_trust_a_code_behind_honest_units():
    data = load("tumours", seed=300)
    model = api.train_model(data, seed=300)
    given = {name: suspect.fit(model, data) for name, suspect in suspects(data, K).items()}
    for code in ("position", "complement"):
        honest = make("occlusion", K, None, {})
        given[f"{code} behind honest units"] = Mixture(K, code, honest, K // 2).fit(model, data)
    found = api.audit(model, data, given, k=K, checks="half-share")
    verdicts = {v.explanation: v for v in found.verdicts}
    assert {name: verdicts[name].verdict for name in given if name in LIARS} == dict.fromkeys(
        (name for name in given if name in LIARS), "reject"
    )
    accused = {
        name: any(reason.startswith(("it smuggles", "it leaks", "a part of it")) for reason in verdicts[name].reasons)
        for name in given
    }
    assert [name for name in REFERENCES if name in given and accused[name]] == []
    behind = [name for name in given if name.endswith("honest units")]
    assert {name: (verdicts[name].verdict, accused[name]) for name in behind} == dict.fromkeys(behind, ("care", True))
