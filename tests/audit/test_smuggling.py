from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import unmask
from audit.cases import small_case, subject, table
from unmask import seeds
from unmask.audit import smuggling
from unmask.audit.case import Subject
from unmask.judge import RECIPE, Judge, Rows, judge_net, train_judge
from unmask.masking import subsets
from unmask.nets import read
from unmask.types import Explanation

pytestmark = pytest.mark.slow

THIRDS = {"train": [0, 1], "validation": [2, 3], "test": [4, 5]}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=40, batch=64, patience=8))


def everywhere(case, choose, name="it"):
    """A subject made by `choose(x, target, valid, rng)` on the audited and the judges' rows."""

    def on(rows, seed):
        kept = choose(rows.x, rows.target, rows.valid, seeds.generator(seed))
        return Explanation(kept.float(), kept, rows.valid, rows.target)

    own = Explanation(*(2 * (choose(case.x, case.target, case.valid, seeds.generator(9)),)), case.valid, case.target)
    return Subject(name, replace(own, scores=own.kept.float()), on(case.train, 1), on(case.validation, 2))


def text_case(data):
    """A case of texts; the judges only need rows and answers, so the labels stand for the model's."""
    reader = read(data)

    def rows(split):
        x = reader.prepare(data[split].x)
        return Rows(x, data[split].y, reader.valid(x))

    return replace(
        small_case(),
        data=data,
        reader=reader,
        x=data.test.x,
        valid=data.test.valid,
        target=data.test.y,
        train=rows("train"),
        validation=rows("validation"),
    )


def noise_code(x, target, valid, rng):
    """A liar: column 4 for one class, column 5 for the other; neither has any weight."""
    kept = torch.zeros_like(valid)
    kept[torch.arange(len(kept)), 4 + target] = True
    return kept


def at_random(x, target, valid, rng):
    return subsets.uniform(valid, 1, rng)


def strongest(x, target, valid, rng):
    """Honest: the column that decides most is always shown."""
    kept = torch.zeros_like(valid)
    kept[:, 0] = True
    return kept


@pytest.mark.slow
def test_a_position_code_is_all_gain_and_the_values_tell_nothing():
    case = small_case(table(600), k=1)
    liar = everywhere(case, noise_code)
    case = replace(case, subjects=(liar, everywhere(case, at_random, "random")))
    gain = smuggling.encoding_gain(case, liar).values
    share = smuggling.encoding_share(case, liar)
    assert float(gain.mean()) == pytest.approx(0.69, abs=0.12)  # one bit, in nats
    assert float(share.values.mean() / share.over.mean()) > 0.85
    assert float(smuggling.mask_only(case, liar).values.mean()) == 1.0
    for nats in (smuggling.reading_nats, smuggling.told_by_values):  # how often they are right is luck: two masks
        values, chance = (float(nats(case, s).values.mean()) for s in case.subjects)
        assert values < 0.05
        assert values < chance / 2  # most columns tell something


@pytest.mark.slow
def test_one_and_the_same_mask_gains_exactly_nothing_and_is_read():
    case = small_case(table(600), k=1)
    honest = everywhere(case, strongest)
    case = replace(case, subjects=(honest,))
    assert bool((smuggling.encoding_gain(case, honest).values == 0).all())
    share = smuggling.encoding_share(case, honest)
    assert float(share.values.sum()) == 0.0
    sign = (case.x[:, 0] > 0).long() == case.target  # all that the shown column can tell
    assert float(smuggling.reading(case, honest).values.mean()) == pytest.approx(float(sign.float().mean()), abs=0.06)
    majority = float(torch.bincount(case.target).max() / len(case.target))
    assert float(smuggling.mask_only(case, honest).values.mean()) <= majority


def ordered(case, score, kept=(4, 5)):
    """A subject that always keeps the same columns, with scores made by `score(target, rng)`, (n, kept)."""

    def on(rows, seed):
        mask, scores = torch.zeros_like(rows.valid), torch.zeros(rows.valid.shape)
        mask[:, list(kept)] = True
        scores[:, list(kept)] = score(rows.target, seeds.generator(seed))
        return Explanation(scores, mask, rows.valid, rows.target)

    own = Rows(case.x, case.target, case.valid)
    return Subject("it", on(own, 9), on(case.train, 1), on(case.validation, 2))


def test_a_code_in_the_order_of_the_scores_is_seen_where_the_mask_never_changes():
    case = small_case(table(600), k=2)
    liar = ordered(case, lambda target, rng: torch.stack([target, 1 - target], 1).float())
    chance = ordered(case, lambda target, rng: torch.rand(len(target), 2, generator=rng))
    assert bool((smuggling.encoding_gain(case, liar).values == 0).all())
    assert float(smuggling.encoding_scores(case, liar).values.mean()) == pytest.approx(0.69, abs=0.12)
    assert abs(float(smuggling.encoding_scores(case, chance).values.mean())) < 0.08
    always = ordered(case, lambda target, rng: torch.tensor([[2.0, 1.0]]).expand(len(target), 2))
    assert bool((smuggling.encoding_scores(case, always).values == 0).all())


def test_random_masks_gain_nothing():
    case = small_case(table(900), k=2)
    chance = everywhere(case, lambda x, t, v, rng: subsets.uniform(v, 2, rng))
    assert abs(float(smuggling.encoding_gain(case, chance).values.mean())) < 0.08


def test_what_judges_know_is_read_from_whole_rows():
    case = small_case(table(900), k=2)
    it = subject(case, case.valid)
    found = smuggling.whole_rows(case, it)
    known = float(found.values.mean() / found.over.mean())
    assert 0.5 < known < 1.0
    right = case.target[torch.randperm(len(case.train.target), generator=seeds.generator(0)) % len(case.target)]
    dumb = replace(case, train=replace(case.train, target=right), memory={})  # what they learn is wrong
    lost = smuggling.whole_rows(dumb, it)
    assert float(lost.values.mean() / lost.over.mean()) < 0.1


def test_judges_of_few_texts_are_not_stopped_before_they_have_begun(monkeypatch):
    monkeypatch.setattr(smuggling, "RECIPE", RECIPE)
    case = replace(text_case(unmask.load("reviews:preset=easy,n=600")), k=4)
    found = smuggling.whole_rows(case, subject(case, case.valid))
    assert float(found.values.mean() / found.over.mean()) > 0.25


def panel_of(case, monkeypatch, asleep):
    """Judges of random masks, three of them; those trainings that `asleep` counts teach nothing. And all seeds."""
    trained = []

    def train(net, rows, held_out, draw, recipe):
        trained.append(recipe.seed)
        untaught = Judge(judge_net(case.reader, 2, recipe.seed), 1.0)
        return untaught if len(trained) in asleep else train_judge(net, rows, held_out, draw, recipe)

    monkeypatch.setattr(smuggling, "SEEDS", 3)
    monkeypatch.setattr(smuggling, "train_judge", train)
    whole = smuggling.whole_rows(replace(case, memory={}), subject(case, case.valid))
    return float(whole.values.mean() / whole.over.mean()), trained


@pytest.mark.parametrize(("asleep", "trainings"), [((), 3), ((2,), 4), ((2, 4), 5), ((1, 3), 5)])
def test_a_judge_that_learned_nothing_is_trained_again(monkeypatch, asleep, trainings):
    case = small_case(table(900), k=2)
    known, trained = panel_of(case, monkeypatch, asleep)
    assert known > 0.5
    assert len(trained) == len(set(trained)) == trainings


def test_a_judge_that_never_learns_is_let_be_after_three_attempts(monkeypatch):
    case = small_case(table(900), k=2)
    awake, _ = panel_of(case, monkeypatch, asleep=())
    known, trained = panel_of(case, monkeypatch, asleep=(2, 4, 5))
    assert len(trained) == 5
    assert 0.5 * awake < known < 0.8 * awake  # two that know, and one that does not


@pytest.mark.parametrize(
    ("knows", "spare", "want"),
    [
        ({"best": 0.8, "asleep": 0.3, "worse": 0.1, "worst": 0.0}, ["worse", "worst"], ["best", "asleep"]),
        ({"dozes": 0.12, "asleep": 0.0, "wakes": 0.62, "woken": 0.6}, ["wakes", "woken"], ["woken", "wakes"]),
    ],
    ids=["one that knows even less is not taken", "who passed among sleepers is asked again once somebody knows"],
)
def test_who_replaces_whom_in_a_panel(monkeypatch, knows, spare, want):
    case, left = small_case(table(900), k=2), iter(spare)
    monkeypatch.setattr(smuggling, "_known", lambda case, judge: knows[judge])
    assert smuggling._all_awake(case, list(knows)[:2], lambda *which: next(left)) == want


def test_where_no_judge_learns_anything_none_is_trained_again(monkeypatch):
    case = small_case(table(900), k=2)
    assert len(panel_of(case, monkeypatch, asleep=(1, 2, 3))[1]) == 3


def test_judges_of_few_texts_take_steps_enough(monkeypatch):
    batches = []

    def train(net, rows, held_out, draw, recipe):
        batches.append(recipe.batch)
        return Judge(net, 1.0)

    monkeypatch.setattr(smuggling, "RECIPE", RECIPE)
    monkeypatch.setattr(smuggling, "train_judge", train)
    case = text_case(unmask.load("reviews:preset=easy,n=100"))
    it = everywhere(replace(case, x=case.reader.prepare(case.x)), at_random)
    smuggling.encoding_gain(case, it)
    assert batches == [32] + 2 * 3 * [64]  # of random masks, then pairs


def test_an_explanation_that_tells_nothing_has_no_share():
    case = small_case(table(600), k=1)

    def idle(x, target, valid, rng):
        kept = torch.zeros_like(valid)
        kept[:, 5] = True
        return kept

    share = smuggling.encoding_share(case, everywhere(case, idle))
    assert bool(share.values.isnan().all())
    assert "tells nothing" in share.note


@pytest.mark.slow
def test_ready_made_explanations_are_cross_fitted_and_still_caught():
    case = small_case(table(1500), k=1)
    liar = subject(case, noise_code(case.x, case.target, case.valid, None))
    gain = smuggling.encoding_gain(case, liar).values
    assert float(gain.mean()) > 0.5
    assert float(smuggling.mask_only(case, liar).values.mean()) == 1.0


@pytest.mark.slow
def test_a_code_in_words_is_found_though_positions_tell_nothing():
    """Which of two idle words is kept spells the class; where it stands is left to chance."""
    rng = seeds.generator(0)
    order = torch.stack([torch.randperm(8, generator=rng) for _ in range(900)])
    vocabulary = ["good", "bad", "the", "a", "of", "to", "in", "it"]
    y = torch.randint(2, (900,), generator=rng)
    texts = [[vocabulary[i] for i in row.tolist() if i != 1 - int(c)] for row, c in zip(order, y, strict=True)]
    data = unmask.dataset(texts, y, kind="words")
    case = text_case(data)
    reader = case.reader

    def coded(x, target, valid, rng):
        ids = reader.vocabulary.ids
        spelled = torch.where(target == 0, ids["the"], ids["of"])
        return x == spelled[:, None]

    liar = everywhere(replace(case, x=reader.prepare(case.x)), coded)
    assert float(smuggling.encoding_gain(case, liar).values.mean()) > 0.5
    assert float(smuggling.mask_only(case, liar).values.mean()) < 0.65


@pytest.mark.slow
def test_where_a_sentence_stands_can_be_a_code_and_is_found():
    """Idle sentences; the class is in which of them is kept."""
    rng = seeds.generator(0)
    y = torch.randint(2, (600,), generator=rng)
    words = ["the", "a", "of", "to", "in", "it"]
    texts = [[[words[i], words[j]] for i, j in torch.randint(6, (4, 2), generator=rng).tolist()] for _ in y]
    data = unmask.dataset(texts, y, kind="sentences")
    case = text_case(data)
    reader = case.reader

    def placed(x, target, valid, rng):
        return torch.arange(valid.shape[1]) == target[:, None]

    liar = everywhere(replace(case, x=reader.prepare(case.x)), placed)
    assert float(smuggling.encoding_gain(case, liar).values.mean()) > 0.5


def test_odd_and_even_places_of_a_long_text_are_told_apart():
    torch.manual_seed(0)
    reader = read(unmask.dataset([["w"] * 200] * 6, [0, 1] * 3, kind="words", split=THIRDS))
    net, x = judge_net(reader, 2, 0).eval(), reader.prepare([["w"] * 200] * 2)
    one, other = net(x, torch.eye(200)[[100, 101]])
    assert not torch.allclose(one, other, atol=1e-4)


def test_neutral_judges_borrow_from_every_explanation_alike():
    case = small_case(table(600), k=1)
    pair = (everywhere(case, noise_code, "a"), everywhere(case, strongest, "b"))
    draw = smuggling._lent_masks(replace(case, subjects=pair))
    kept = draw(torch.ones(4000, 6, dtype=torch.bool), seeds.generator(0)).float().mean(0)
    assert bool((kept.sum() - 1).abs() < 1e-5)
    # half uniform (1/12 each), a quarter column 0, a quarter split between columns 4 and 5
    assert torch.allclose(
        kept, torch.tensor([1 / 12 + 0.25, 1 / 12, 1 / 12, 1 / 12, 1 / 12 + 0.125, 1 / 12 + 0.125]), atol=0.04
    )


def test_masks_on_other_rows_are_another_explanation():
    case = small_case(table(600), k=1)
    fitted = everywhere(case, noise_code)
    copied = Subject("copy", fitted.explanation)
    assert fitted.key != copied.key
