"""What the checks on attention see and do, against closed forms and slow loops."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from audit.cases import linear, planted, small_case
from audit.lookers import HOWS, attention_of, looking
from unmask import distances, seeds
from unmask.audit import looking as at
from unmask.audit.case import some
from unmask.errors import InputError
from unmask.models import Wrapped, bind, wrap
from unmask.models.attending import reach
from unmask.nets import read
from unmask.nets.attention import attention_net

pytestmark = pytest.mark.slow


def drawn(kind="gru", hooked=False, outputs=None, data=None):
    """An attention model with random weights, through its methods or caught at its submodule."""
    data = data or planted("words")
    net = attention_net(read(data), 2, kind, hidden=6, seed=2)
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(4)
    return small_case(data, "pad", 1, model=bind(wrap(net, attention="attention" if hooked else None), data))


# --- where a model looks ----------------------------------------------------------------------------------------------


def test_what_has_no_attention_is_told_apart():
    assert at.pays_attention(looking().model)
    assert at.pays_attention(drawn(hooked=True).model)
    assert not at.pays_attention(bind(wrap(linear), small_case().data))
    assert not at.pays_attention(
        Wrapped("m", torch.nn.Linear(2, 2), lambda x: x, "logits", module=torch.nn.Linear(2, 2))
    )
    assert at.see(small_case()) == "the model has no attention that can be asked for"


def test_the_model_is_seen_as_it_is():
    case = looking()
    s = at.see(case)
    assert_close(s.p, case.full)
    assert torch.equal(s.w, attention_of(case))
    assert float((s.w * ~case.valid).sum()) == 0.0


def test_a_part_that_gives_no_weights_is_a_reason():
    case = drawn()
    case = replace(case, model=replace(case.model, attention="decoder"))
    assert "putting the attention weights back" in at.see(case) or "weights" in at.see(case)
    narrow = replace(drawn(), valid=torch.ones(len(case.target), 99, dtype=torch.bool))
    assert at.see(narrow) == f"attention has {case.valid.shape[1]} weights for rows of up to 99 units"


def test_permuted_weights_are_the_same_weights_on_other_words():
    valid = torch.arange(7) < torch.tensor([7, 3, 1, 0])[:, None]
    w = torch.rand(4, 7, generator=seeds.generator(1)) * valid
    other = at.permuted(w, valid, seeds.generator(2))
    assert torch.equal(other.sort(1).values, w.sort(1).values)
    assert float((other * ~valid).abs().sum()) == 0.0
    assert not torch.equal(other, w)
    assert torch.equal(other, at.permuted(w, valid, seeds.generator(2)))
    many = torch.stack([at.permuted(w, valid, seeds.generator(i))[0] for i in range(600)])
    assert_close(many.mean(0), w[0].mean().expand(7), atol=0.05, rtol=0.0)


@pytest.mark.parametrize("hooked", [False, True])
def test_reshuffled_answers_are_those_under_permuted_weights(hooked):
    case = drawn(hooked=hooked)
    s, rng = at.see(case), seeds.generator(3)
    got = at.reshuffled(s, 3, seeds.generator(3))
    for moved in got:
        other = at.permuted(s.w, s.valid, rng)
        states = case.model.module.attend(s.x)[1]
        assert_close(moved, distances.tvd(s.p, case.model.module.answer(states, other).softmax(1).detach()))
    assert float(got.max()) > 0.01
    assert float(at.reshuffled(at.see(looking("even")), 4, rng).max()) < 1e-6


# --- moved words ------------------------------------------------------------------------------------------------------


def test_noise_is_added_to_the_vectors():
    case = looking("honest", sharp=2.0)
    s = at.see(case)
    said, w = at.shaken(case, s)
    net = case.model.module
    rng = seeds.generator(seeds.derive(case.seed, "noise on vectors"))
    by = (2 * torch.rand(*s.x.shape, 2, generator=rng) - 1) * reach(net.table)
    vectors = net.table(s.x).detach() + by
    scores = (4 * vectors.sum(-1)).masked_fill(~s.valid, -1e9)
    assert_close(w, scores.softmax(1))
    assert_close(said, (2.0 * (vectors * w[..., None]).sum(1)).softmax(1))
    assert 0 < float((w - s.w).abs().max()) < 0.1


def test_one_word_of_each_row_becomes_its_nearest_neighbour():
    case = drawn()
    s = at.see(case)
    x = at.replaced(case, s)
    assert ((x != s.x).sum(1) == 1).all()
    assert not bool(((x != s.x) & ~s.valid).any())
    table = case.model.module.embedding.table.weight.detach()
    words = sorted({w for row in case.data.train.x for w in row})
    known = [case.model.module.reader.vocabulary.ids[w] for w in words]
    for old, new in zip(s.x[x != s.x].tolist(), x[x != s.x].tolist(), strict=True):
        cosines = {i: float(torch.cosine_similarity(table[old], table[i], dim=0)) for i in known if i != old}
        assert cosines[new] == pytest.approx(max(cosines.values()), abs=1e-6)
    with pytest.raises(InputError, match="one id for each word"):
        at.replaced(case, replace(s, x=s.x[..., None]))


WORDS = ["good", "great", "bad", "awful", "film", "movie", "run", "walk", "zzyx"]


@pytest.mark.parametrize("n", [1, 3])
def test_as_many_words_as_wished_are_replaced_by_those_that_are_alike(n):
    vectors = torch.randn(len(WORDS), 4, generator=seeds.generator(0))
    x = torch.randint(len(WORDS), (60, 6), generator=seeds.generator(1))
    known = torch.arange(len(WORDS))
    free = at.swapped(vectors, x, torch.ones_like(x, dtype=torch.bool), known, 5, n)
    assert ((free != x).sum(1) == n).all()
    spelling = dict(enumerate(WORDS))
    found = at.swapped(vectors, x, torch.ones_like(x, dtype=torch.bool), known, 5, n, spelling)
    pairs = {
        (spelling[a], spelling[b]) for a, b in zip(x[found != x].tolist(), found[found != x].tolist(), strict=True)
    }
    assert pairs <= {("good", "great"), ("great", "good"), ("bad", "awful"), ("awful", "bad"), ("film", "movie")} | {
        ("movie", "film"),
        ("run", "walk"),
        ("walk", "run"),
    }
    assert {a for a, _ in pairs} == set(WORDS) - {"zzyx"}  # unknown to the lexicon: it stays


def test_words_are_spelled_as_the_rows_spell_them(monkeypatch):
    case = drawn()
    s, seen = at.see(case), []
    monkeypatch.setattr(at, "alike", lambda a, b: seen.append((a, b)) or torch.ones(len(a), len(b), dtype=torch.bool))
    assert torch.equal(at.replaced(case, s, synonyms=True), at.replaced(case, s))
    (old, known), *_ = seen
    ids = case.model.module.reader.vocabulary.ids
    assert len(old) == len(s.x)
    assert sorted(known, key=lambda w: ids[w]) == known
    assert set(known) == {w for row in case.data.train.x for w in row}


def test_constants_draw_their_even_share_of_even_attention_and_little_of_an_honest_one():
    case = looking("even")
    share = at.on_constants(case, at.see(case))
    assert_close(share, at.CONSTANTS / (case.valid.sum(1) + at.CONSTANTS))
    case = looking("last")  # the last word is one of them now
    lengths = case.valid.sum(1).double() + at.CONSTANTS
    others = torch.tensor(6.0).double().exp() + 3
    assert_close(at.on_constants(case, at.see(case)).double(), others / (others + lengths - 4), atol=1e-5, rtol=0)
    assert float(at.on_constants(looking("honest"), at.see(looking("honest"))).mean()) < 0.1


def test_constants_need_words():
    case = looking()
    with pytest.raises(InputError, match="rows of words only"):
        at.on_constants(replace(case, data=planted("sentences")), at.see(case))


def test_units_left_out_one_by_one():
    case = looking("honest", sharp=3.0)
    got = at.left_out(case)
    for i, row in enumerate(case.x[:12]):
        for j in range(len(row)):
            hidden = [*row[:j], "<pad>", *row[j + 1 :]]
            want = distances.tvd(case.full[i : i + 1], case.model([hidden]))
            assert_close(got[i, j], want[0])
    assert float((got * ~case.valid).abs().sum()) == 0.0
    assert got is at.left_out(case)  # asked once


def test_rows_that_are_too_many_are_not_asked_about(monkeypatch):
    case = looking()
    monkeypatch.setattr(at, "MOST", int(case.valid[:5].sum()))
    those = at.asked(case)
    assert int(case.valid[those].sum()) <= at.MOST < int(case.valid[some(case, len(those) + 1)].sum())
    got, others = at.left_out(case), torch.ones(len(case.target), dtype=torch.bool)
    others[those] = False
    assert bool(got[those].isfinite().all())
    assert bool((got[others].isnan() == case.valid[others]).all())
    monkeypatch.setattr(at, "MOST", 0)
    assert at.asked(case).tolist() == [0]  # one row is asked about whatever it takes


def test_attention_to_other_words_in_the_same_place():
    case = looking("hiding")
    s = at.see(case)
    told = torch.tensor([[w in ("good", "bad") for w in row].index(True) for row in case.x])
    usual = at.in_place(case, s, told, seeds.generator(0))
    lengths = case.valid.sum(1)
    assert float((usual - 1 / lengths).abs().median()) < 1e-6  # a word that tells nothing is one of many alike
    hidden = s.w.gather(1, told[:, None])[:, 0]
    assert bool((hidden < 0.01).all())
    with pytest.raises(InputError, match="only words and sentences"):
        at.in_place(replace(case, data=planted("table")), s, told, seeds.generator(0))


# --- slopes -----------------------------------------------------------------------------------------------------------


def test_slopes_in_closed_form_with_attention_held_still():
    """p_c = softmax(a sum_t w_t v_t): |v_t . dp_c/dv_t| = a w_t p_c |v_tc - sum_b p_b v_tb|."""
    case = looking("honest", sharp=1.5)
    net = case.model.module
    with torch.no_grad():
        net.table.weight.copy_(torch.randn(net.table.weight.shape, generator=seeds.generator(5)) * 0.3)
    case = replace(case, full=case.model(case.x), target=case.model(case.x).argmax(1), memory={})
    s = at.see(case)
    v, p = net.table(s.x).detach(), s.p
    at_target = v.gather(2, case.target[:, None, None].expand(-1, v.shape[1], 1))[..., 0]
    want = 1.5 * s.w * case.pick(p)[:, None] * (at_target - (v * p[:, None]).sum(-1)).abs()
    assert_close(at.slopes(case, s), want, atol=1e-6, rtol=1e-4)


def test_slopes_of_a_model_caught_at_its_submodule_are_the_same():
    ours, caught = drawn(), drawn(hooked=True)
    assert_close(at.slopes(ours, at.see(ours)), at.slopes(caught, at.see(caught)))
    assert all(p.grad is None for p in ours.model.module.parameters())


@pytest.mark.parametrize("how", HOWS)
def test_all_lookers_keep_the_protocol(how):
    assert isinstance(at.see(looking(how)), at.Seen)
