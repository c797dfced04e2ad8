"""The checks on attention: whom they are about, what they are shown beside, and models of which the truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import kendalltau
from torch.testing import assert_close

from audit.cases import planted, small_case, subject
from audit.lookers import Looker, attention_of, chance, looking, own, scored
from unmask import distances, seeds
from unmask.audit import CHECKS, astray, attention, chosen, function_of, smuggling
from unmask.audit import looking as at
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.distances import kendall
from unmask.judge import RECIPE
from unmask.models import bind, wrap
from unmask.nets import read
from unmask.nets.attention import attention_net
from unmask.types import Explanation

pytestmark = pytest.mark.slow

ALL = [name for name, check in CHECKS.items() if check.attention]


@pytest.fixture(autouse=True)
def short_search(monkeypatch):
    """How far the search for adversarial attention comes is tested beside it."""
    monkeypatch.setattr(astray, "STEPS", 10)


# --- whom they are about ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_one_value_for_each_row_and_one_for_attention_that_knows_nothing(name):
    case = looking("honest", sharp=3.0)
    for who in (own(case), chance(case), chance(case, "random like mine")):
        found = function_of(name)(case, who)
        assert found.values.shape == case.target.shape
        assert bool(found.values.isfinite().all()), name
        assert found.values.dtype == torch.float32


@pytest.mark.parametrize("name", ALL)
def test_other_explanations_and_other_models_have_no_value(name):
    case = looking()
    found = function_of(name)(case, chance(case, "mine"))
    assert bool(found.values.isnan().all())
    assert found.note == "these scores are not the attention of the model"
    table = small_case()
    found = function_of(name)(table, subject(table, table.valid))
    assert bool(found.values.isnan().all())
    assert found.note == "the model has no attention that can be asked for"


def test_attention_is_known_on_any_scale():
    case = looking()
    found = attention.entropy(case, scored(case, 7 * attention_of(case), "mine"))
    assert_close(found.values, distances.entropy(attention_of(case), case.valid))


@pytest.mark.parametrize("name", [name for name in ALL if name != "attention-conicity"])
def test_a_model_caught_at_its_submodule_is_measured_alike(name):
    data = planted("words")
    net = attention_net(read(data), 2, "gru", hidden=6, seed=2)
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(4)
    ours, caught = (small_case(data, "pad", 1, model=bind(wrap(net, attention=n), data)) for n in (None, "attention"))
    a, b = (function_of(name)(case, own(case)) for case in (ours, caught))
    assert_close(a.values, b.values, atol=2e-3 if name == "attention-adversarial" else 1e-5, rtol=1e-3, equal_nan=True)


def test_what_a_model_cannot_be_asked_is_a_note():
    """Words without vectors: there is no table to put noise on."""
    case = looking()
    net = Looker(read(case.data), "even")
    del net.table
    net.attend = lambda x: (torch.ones(x.shape) / x.shape[1], x.float()[..., None].expand(-1, -1, 2))
    case = replace(case, model=bind(wrap(net, device="cpu"), case.data), memory={})
    found = attention.jsd(case, own(case))
    assert bool(found.values.isnan().all())
    assert "Embedding" in found.note


# --- what they say ----------------------------------------------------------------------------------------------------


def test_even_attention_is_stable_and_says_nothing():
    case = looking("even")
    assert_close(attention.entropy(case, own(case)).values, torch.ones(len(case.target)))
    assert float(attention.jsd(case, own(case)).values.max()) < 1e-6
    assert float(attention.permutation(case, own(case)).values.max()) < 1e-6
    assert bool(attention.occlusion(case, own(case)).values.isnan().all())  # nothing but ties
    share = attention.constant_tokens(case, own(case)).values
    assert_close(share, attention.constant_tokens(case, chance(case)).values)


def test_the_answer_moves_by_as_much_as_the_noise_says():
    case = looking("honest", sharp=3.0)
    s = at.see(case)
    said, w = at.shaken(case, s)
    assert_close(attention.tvd(case, own(case)).values, distances.tvd(case.full, said))
    assert_close(attention.jsd(case, own(case)).values, distances.jsd(s.w, w, s.valid))


def test_answers_are_compared_with_those_of_rows_drawn_at_random_and_never_with_themselves():
    """Sorted by class, the next row has the same answer: that would be no level to compare with."""
    case = looking("honest", sharp=3.0)
    order = case.target.argsort(stable=True)
    rows = {name: getattr(case, name)[order] for name in ("valid", "target", "full")}
    in_order = replace(case, x=[case.x[i] for i in order.tolist()], memory={}, **rows)
    every = distances.tvd(case.full[:, None].expand(-1, len(order), -1).flatten(0, 1), case.full.repeat(len(order), 1))
    mean = float(every.sum() / (len(order) * (len(order) - 1)))
    for it in (case, in_order):
        null = attention.tvd(it, chance(it)).values
        assert float(null.mean()) == pytest.approx(mean, abs=4 * float(every.std()) / len(order) ** 0.5)
        far = distances.tvd(it.full, it.full.roll(1, 0)).mean()
    assert float(far) < mean / 5  # what the next row would have said


class Probable(Looker):
    """The same, its answers probabilities."""

    def answer(self, states, weights):
        return super().answer(states, weights).softmax(1)


@pytest.mark.parametrize("outputs", ["logits", "probabilities"])
def test_an_attack_moves_the_answer_of_a_linear_model_as_far_as_it_can(outputs):
    """Even weights: the lead of one class changes by the sharpness times the radius for each of the two columns."""
    case = looking("even", sharp=3.0)
    if outputs == "probabilities":
        net = Probable(read(case.data), "even", 3.0)
        case = replace(case, model=bind(wrap(net, outputs=outputs, device="cpu"), case.data), memory={})
    far = 2 * 3.0 * at.noise_of(at.see(case))
    lead = case.full[:, 0].logit()
    ends = torch.stack([(lead + sign * far).sigmoid() - case.full[:, 0] for sign in (1, -1)]).abs()
    moved = attention.tvd_attacked(case, own(case)).values
    assert_close((ends - moved).abs().amin(0), torch.zeros(len(moved)), atol=1e-5, rtol=0)
    assert bool((moved > attention.tvd(case, own(case)).values).all())
    assert float(attention.jsd_attacked(case, own(case)).values.max()) < 1e-6


def test_an_attack_on_the_answer_moves_attention_too():
    case = looking("honest", sharp=3.0)
    w = at.attacked(case, at.see(case))[1]
    assert_close(attention.jsd_attacked(case, own(case)).values, distances.jsd(at.see(case).w, w, case.valid))
    assert bool((attention.jsd_attacked(case, own(case)).values > 0).all())
    assert_close(w[~case.valid], torch.zeros(int((~case.valid).sum())))


@pytest.mark.parametrize(("how", "past"), [("honest", 0.0), ("hiding", 1.0), ("last", 1.0)])
def test_words_that_decide_without_their_weight_go_past_attention(how, past):
    """Where states know the whole text, no weight matters; where they are the words', all goes through the weights."""
    case = looking(how)
    found = attention.bypass(case, own(case))
    share = float(found.values.sum() / found.over.sum())
    assert share == pytest.approx(past, abs=0.05)
    null = attention.bypass(case, chance(case))  # a word drawn at random, over what that word does
    if how == "hiding":
        assert float(null.values.sum() / null.over.sum()) == pytest.approx(1.0, abs=0.05)


def test_more_words_replaced_move_attention_more():
    case = looking("honest", sharp=3.0)
    found = attention.jsd_words(case, own(case))
    assert list(found.curve) == [1.0, 3.0, 5.0]
    assert_close(found.curve[1.0], found.values)
    assert float(found.curve[5.0].mean()) > float(found.curve[1.0].mean())
    assert not attention.jsd_words(case, chance(case)).curve


def test_the_answer_moves_by_as_much_as_replaced_words_say():
    case = looking("honest", sharp=3.0)
    found = attention.tvd_words(case, own(case))
    assert list(found.curve) == [1.0, 3.0, 5.0]
    for n, values in found.curve.items():
        moved = case.model.module(at.replaced(case, at.see(case), int(n))).softmax(1).detach()
        assert_close(values, distances.tvd(case.full, moved))
    assert float(found.curve[5.0].mean()) > 0.1
    assert_close(attention.tvd_words(case, chance(case)).values, attention.tvd(case, chance(case)).values)


def test_permutation_is_the_median_over_the_draws():
    case = looking("honest", sharp=3.0)
    rng = seeds.generator(seeds.derive(case.seed, "permutations"))
    every = at.reshuffled(at.see(case), attention.PERMUTATIONS, rng)
    want = [(sorted(column)[49] + sorted(column)[50]) / 2 for column in every.T.tolist()]
    assert_close(attention.permutation(case, own(case)).values, torch.tensor(want))
    assert float(attention.permutation(case, own(case)).values.mean()) > 0.2
    assert float(attention.permutation(looking("hiding"), own(looking("hiding"))).values.max()) < 1e-6


def test_an_honest_ranking_agrees_with_what_leaving_words_out_changes():
    case = looking("honest", sharp=3.0)
    w, effect = attention_of(case), at.left_out(case)
    want = [kendalltau(w[i, :n], effect[i, :n]).statistic for i, n in enumerate(case.valid.sum(1).tolist())]
    got = attention.occlusion(case, own(case)).values
    assert_close(got, torch.tensor(want, dtype=torch.float32), atol=1e-5, rtol=0)
    assert float(got.mean()) > 0.9
    hiding = looking("hiding", sharp=3.0)
    assert float(attention.occlusion(hiding, own(hiding)).values.mean()) < -0.9


@pytest.mark.parametrize("ties", [False, True])
def test_kendall_is_that_of_scipy(ties):
    lengths = torch.tensor([12, 7, 3, 2, 1, 0] * 15)
    valid = torch.arange(12) < lengths[:, None]
    a, b = (torch.rand(90, 12, generator=seeds.generator(i)) for i in (0, 1))
    if ties:
        a, b = (3 * a).round(), (3 * b).round()
    want = [kendalltau(x[:n], y[:n]).statistic if n > 1 else math.nan for x, y, n in zip(a, b, lengths, strict=True)]
    assert_close(kendall(a, b, valid), torch.tensor(want, dtype=torch.float32), atol=1e-6, rtol=0, equal_nan=True)


# --- what attention hides ---------------------------------------------------------------------------------------------


def ratio(values):
    return float(values.values.mean() / values.over.mean())


@pytest.mark.parametrize(("how", "hidden"), [("honest", 0.0), ("even", 0.0), ("last", 0.0), ("hiding", 1.0)])
def test_only_words_that_attention_avoids_are_hidden(how, hidden):
    """Looking at the last word alone is no hiding: whatever stands elsewhere gets as little."""
    case = looking(how)
    assert ratio(attention.flow(case, own(case))) == pytest.approx(hidden, abs=0.05)


def test_beside_it_stands_what_attention_hides_of_any_word():
    case = looking("hiding")
    even_share = float((1 / case.valid.sum(1)).mean())  # a word drawn at random is the decisive one that often
    assert ratio(attention.flow(case, chance(case))) == pytest.approx(even_share, abs=0.15)


def test_where_no_word_decides_there_is_nothing_to_hide():
    case = looking("hiding", sharp=0.01)
    found = attention.flow(case, own(case))
    assert bool(found.values.isnan().all())
    assert found.note.startswith("no single word decides")


def test_rows_that_were_not_asked_about_are_said_and_do_not_count(monkeypatch):
    case = looking("hiding")
    monkeypatch.setattr(at, "MOST", int(case.valid[:30].sum()))
    found = attention.flow(case, own(case))
    those = at.asked(case)
    assert int(case.valid[those].sum()) <= at.MOST
    assert found.note == f"{len(those)} of the rows"
    assert int(those.diff().max()) - int(those.diff().min()) <= 1  # from all over the data
    others = torch.ones(len(case.target), dtype=torch.bool)
    others[those] = False
    assert float(found.over[others].sum()) == 0.0
    assert ratio(found) == pytest.approx(1.0, abs=0.1)


def test_a_few_rows_that_were_asked_about_are_enough_to_see_that_words_decide(monkeypatch):
    case = looking("hiding")
    monkeypatch.setattr(at, "MOST", int(case.valid[:1].sum()))
    found = attention.flow(case, own(case))
    assert float(found.over.mean()) < attention.DECISIVE  # over all rows, most of which nobody asked about
    assert ratio(found) == pytest.approx(1.0, abs=0.1)


# --- the verdict ------------------------------------------------------------------------------------------------------


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=1))


def audited(how):
    data = planted("words")
    model = bind(wrap(Looker(read(data), how), device="cpu"), data)
    x = model.feed(data.test.x)
    w = model.module.attend(x)[0].detach()
    mine = Explanation(w, w == w.amax(1, keepdim=True), data.test.valid, model(data.test.x).argmax(1))
    other = Explanation(1 - w, mine.kept & data.test.valid, data.test.valid, mine.target)
    mine = replace(mine, kept=mine.kept & data.test.valid)
    settings = Settings(k=1, n=40, removal="pad", checks=chosen("attention-flow"), pool=40)
    return run(model, data, {"attention": mine, "other": other}, settings)


def test_hiding_is_rejected_in_words_and_nothing_else_is_accused_of_it(hasty):
    found = audited("hiding")
    said = {v.explanation: v for v in found.verdicts}
    assert said["attention"].verdict == "reject"
    assert said["attention"].reasons[0].startswith("the model decides by words that its attention hides")
    assert not any("hides" in r for name in ("other", "random", "first-k") for r in said[name].reasons)
    rows = {r.explanation: r for r in found.rows if r.check == "attention-flow"}
    assert rows["attention"].passed is False
    assert rows["other"].passed is None
    assert found.settings["thresholds"]["attention hides"] == 0.7


def test_honest_attention_is_not_accused(hasty):
    found = audited("honest")
    said = {v.explanation: v for v in found.verdicts}
    assert any(r.startswith("attention does not hide what decides") for r in said["attention"].reasons)
    assert next(r for r in found.rows if (r.explanation, r.check) == ("attention", "attention-flow")).passed is True


# --- the states that attention weighs ---------------------------------------------------------------------------------


def theirs(data):
    """A model whose attention is caught at a submodule: its states are not to be seen."""
    return bind(wrap(attention_net(read(data), 2, "gru", hidden=6, seed=2), attention="attention"), data)


def test_conicity_is_that_of_the_states_and_chance_is_narrower_for_short_rows():
    case = looking("honest")
    s = at.see(case)
    states = case.model.module.attend(s.x)[1].detach()
    got = attention.conicity(case, own(case)).values
    for i in range(len(got)):
        mine = states[i][s.valid[i]]
        cosines = [torch.cosine_similarity(h, mine.mean(0), dim=0).abs() for h in mine]
        assert float(got[i]) == pytest.approx(float(torch.stack(cosines).mean()), abs=1e-5)
    beside = attention.conicity(case, chance(case)).values
    caught = small_case(case.data, "pad", 1, model=theirs(case.data))
    assert attention.conicity(caught, own(caught)).note.startswith("only a model with attend")
    wide = states.shape[2]
    drawn = distances.conicity(torch.randn(4000, 6, wide, generator=seeds.generator(1)), torch.ones(4000, 6).bool())
    assert float(beside[s.valid.sum(1) == 6].mean()) == pytest.approx(float(drawn.mean()), abs=0.05)
