"""Chooser, teller, and both together."""

from __future__ import annotations

import torch
from torch.testing import assert_close

from nets.samples import SETS
from unmask.nets import read
from unmask.nets.bodies import Nets
from unmask.rationales.networks import RationaleNet, built, folded

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


def test_attention_on_one_unit_reads_that_unit() -> None:
    _, teller = built(READER, 2, Nets(hidden=6), 1, attends=True)
    alone = torch.zeros(VALID.shape)
    alone[:, 0] = 1
    with torch.no_grad():
        teller.soft.load_state_dict(teller.head.state_dict())
    assert_close(teller.attended(X, alone), teller(X, alone))
