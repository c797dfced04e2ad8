"""Chooser, teller, and both together."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import unmask
from nets.samples import SETS
from rationales.samples import rows
from unmask.errors import InputError
from unmask.nets import read
from unmask.nets.bodies import Nets
from unmask.rationales.networks import RationaleNet, _by_sentence, _places, built, folded

DATA = SETS["sentences"]()
READER = read(DATA)
X = READER.prepare(DATA.train.x)
VALID = READER.valid(X)


def first(scores: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return scores, valid & (torch.arange(valid.shape[1]) == 0)


def test_the_whole_tells_from_what_is_chosen() -> None:
    chooser, teller = built(READER, 3, Nets(hidden=6), 1)
    net = RationaleNet(chooser, teller, first)
    logits, scores, kept = net.answers(X, batch=2)
    assert_close(scores, chooser(X).detach())
    assert kept.tolist() == [[1, 0, 0, 0]] * len(X)
    assert_close(logits, teller(X, kept).detach())
    assert_close(net(X).detach(), logits)


def test_bodies_are_shared_on_demand_only() -> None:
    chooser, teller = built(READER, 2, Nets(hidden=6), 1)
    assert chooser.body is not teller.body
    chooser, teller = folded(READER, 2, Nets(hidden=6), 1)
    assert chooser.body is teller.body


def test_weights_come_from_the_seed() -> None:
    one, same, other = (built(READER, 2, Nets(hidden=6), seed)[0](X) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("kind", ["sentences", "table", "image"])
def test_attention_on_one_unit_reads_that_unit(kind: str) -> None:
    """At the corners the soft loss is the hard one: what A2R rests on. (Words are read with those near by.)"""
    data = rows(kind)
    reader = read(data)
    x = reader.prepare(data.train.x)
    _, teller = built(reader, 2, Nets(hidden=6), 1, attends=True)
    alone = torch.zeros(reader.valid(x).shape)
    alone[:, 0] = 1
    with torch.no_grad():
        teller.soft.load_state_dict(teller.head.state_dict())
    assert_close(teller.attended(x, alone), teller(x, alone))


# --- places and sentences ---------------------------------------------------------------------------------------------


def test_places_are_the_share_of_the_row_and_the_distance_to_its_end() -> None:
    valid = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], dtype=torch.bool)
    share, far = _places(valid).unbind(-1)
    assert_close(share, torch.tensor([[0, 0.25, 0.5, 0.75, 1], [0, 0.5, 1, 0, 0], [0, 0, 0, 0, 0]]))
    assert_close((far * 5).expm1().round(), torch.tensor([[4.0, 3, 2, 1, 0], [2, 1, 0, 0, 0], [0, 0, 0, 0, 0]]))


def test_half_of_a_score_is_that_of_the_sentence() -> None:
    scores = torch.tensor([[1.0, 3.0, 5.0, 7.0, 9.0, 100.0]])[..., None]
    ends = torch.tensor([[False, True, False, False, False, False]])
    valid = torch.tensor([[True, True, True, True, True, False]])
    assert _by_sentence(scores, ends, valid)[0, :5, 0].tolist() == [2.0, 2.0, 7.0, 7.0, 7.0]


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_chooser_that_knows_places_and_sentences(outputs: int) -> None:
    rows = [["good", ".", "dull", "plot", "!", "fine"], ["fine", "plot", "."], ["dull"]]
    data = unmask.dataset([" ".join(row) for row in rows * 8], [0, 1, 0] * 8, kind="words")
    reader = read(data)
    x = reader.prepare(data.train.x)
    plain, knowing = (
        built(reader, 2, Nets(hidden=6, places=more, sentences=more), 1, outputs=outputs)[0] for more in (False, True)
    )
    found, valid = knowing(x), reader.valid(x)
    assert found.shape == plain(x).shape
    states = torch.cat([knowing.body.states(x), _places(valid)], -1)
    own = knowing.score(states)
    ends = torch.isin(x, torch.tensor([reader.vocabulary.ids[mark] for mark in (".", "!")]))  # type: ignore[union-attr]
    want = (own + _by_sentence(own, ends, valid)) / 2
    assert_close(found, want[..., 0] if outputs == 1 else want)


def test_sentences_are_those_of_words() -> None:
    with pytest.raises(InputError, match="sentences=True is for rows of words"):
        built(READER, 3, Nets(hidden=6, sentences=True), 1)
