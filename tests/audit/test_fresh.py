"""Fresh networks: what a copy learns from what is kept, and that it is a copy in all but its weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from audit.cases import everywhere, linear, planted, small_case, subject, table
from unmask import seeds
from unmask.audit import fresh
from unmask.audit.case import Subject
from unmask.judge import Rows
from unmask.masking.removals import make_removal
from unmask.models import bind, wrap
from unmask.types import Explanation

pytestmark = pytest.mark.slow  # many small fits

OWN, DEFAULT = "a copy of the model's network, weights drawn anew", "the default network for such data"


@pytest.fixture
def brisk(monkeypatch):
    """Larger steps, fewer of them: enough for what is this easy to learn. The other tests train as the package does."""
    monkeypatch.setattr(fresh, "RECIPE", replace(fresh.RECIPE, epochs=8, rate=1e-2, patience=3))


def first_column(outputs="logits"):
    """A linear network that looks at column 0 alone."""
    layer = nn.Linear(6, 2)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
        layer.weight[1, 0] = 8.0
    return wrap(layer if outputs == "logits" else nn.Sequential(layer, nn.Softmax(1)), outputs=outputs)


def column_0(x, target, valid):
    kept = torch.zeros_like(valid)
    kept[:, 0] = True
    return kept


def noise_code(x, target, valid):
    """A liar: column 4 for one class, column 5 for the other; neither has any weight."""
    kept = torch.zeros_like(valid)
    kept[torch.arange(len(kept)), 4 + target] = True
    return kept


def mean(values):
    return float(values.values.mean())


def majority(case):
    return float(torch.bincount(case.target).max() / len(case.target))


class Scaled(nn.Module):
    """Draws its child's weights in a way of its own."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("centre", torch.full((3,), 5.0))

    def reset_parameters(self):
        nn.init.constant_(self.inner.weight, 0.25)

    def forward(self, x):
        return self.inner(x - self.centre)


class Loose(nn.Module):
    """Owns a parameter that nobody can draw again."""

    def __init__(self):
        super().__init__()
        self.inner, self.scale = nn.Linear(3, 3), nn.Parameter(torch.ones(3))


def test_a_reset_copy_has_new_weights_from_its_seed_and_the_original_keeps_its_own():
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    net(torch.randn(30, 4, generator=seeds.generator(0)))  # moves the running statistics
    net[0].weight.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    torch.manual_seed(5)
    state = torch.get_rng_state()
    a, b, other = (fresh.reset(net, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert torch.equal(a[0].weight, b[0].weight)
    assert not torch.equal(a[0].weight, other[0].weight)
    assert not torch.equal(a[3].bias, net[3].bias)
    assert_close(a[1].running_mean, torch.zeros(8))
    assert all(p.requires_grad for p in a.parameters())
    assert not any(m.training for m in a.modules())


def test_who_owns_a_layer_has_the_last_word_and_buffers_stay():
    copy = fresh.reset(Scaled(), 0)
    assert_close(copy.inner.weight, torch.full((3, 3), 0.25))
    assert_close(copy.centre, torch.full((3,), 5.0))


def test_attention_can_be_reset_a_loose_parameter_cannot():
    attention = nn.TransformerEncoderLayer(8, 2, 16)
    copy = fresh.reset(attention, 0)
    assert not torch.equal(copy.self_attn.in_proj_weight, attention.self_attn.in_proj_weight)
    assert fresh.reset(Loose(), 0) is None
    assert fresh.reset(nn.Flatten(), 0) is None


def test_a_model_anew_answers_in_the_same_form_and_otherwise():
    data = table()
    model = bind(first_column("probabilities"), data)
    copy = fresh.anew(model, 0)
    assert copy.outputs == "probabilities"
    assert not torch.allclose(copy(data.test.x), model(data.test.x), atol=0.01)
    assert fresh.anew(bind(wrap(linear), data), 0) is None


@pytest.mark.parametrize("outputs", ["logits", "probabilities"])
def test_where_the_kept_column_decides_it_is_enough_and_nothing_is_left(outputs):
    case = small_case(table(600), model=first_column(outputs), k=1)
    honest = everywhere(case, column_0)
    enough, needed = fresh.fs_a(case, honest), fresh.fu_a(case, honest)
    assert enough.note == needed.note == OWN
    assert mean(enough) > 0.95
    assert abs(mean(needed) - majority(case)) < 0.12  # the other columns are noise


def test_a_label_code_is_enough_for_a_fresh_network_though_not_for_the_model():
    case = small_case(table(900), k=1)
    liar = everywhere(case, noise_code)
    found = fresh.fs_a(case, liar)
    assert found.note == DEFAULT
    assert mean(found) > 0.95
    model = (case.shown(liar.kept).argmax(1) == case.target).float().mean()
    assert abs(float(model) - 0.5) < 0.12


def test_values_are_answers_row_by_row(brisk):
    case = small_case(table(300), model=first_column(), k=1)
    found = fresh.fs_a(case, everywhere(case, column_0)).values
    assert set(found.tolist()) <= {0.0, 1.0}
    assert found.shape == case.target.shape
    assert torch.equal(found, fresh.fs_a(case, everywhere(case, column_0)).values)


def test_removals_that_draw_show_one_version_each_time():
    data = table(600)
    case = replace(small_case(data, model=first_column(), k=1), removal=make_removal("marginal", data))
    honest = everywhere(case, column_0)
    lessons = fresh._lessons(case, honest, case.model, complement=False)
    assert lessons[0][0].x.shape == (len(data.train), 8, 6)
    assert mean(fresh.fs_a(case, honest)) > 0.95


@pytest.mark.slow
def test_ready_made_explanations_are_cross_fitted_with_the_spare_rows(brisk):
    case = small_case(table(900), model=first_column(), k=1)
    more = case.pools["validation"].split
    kept = column_0(None, None, more.valid)
    spare = Rows(case.reader.prepare(more.x), case.pools["validation"].full.argmax(1), more.valid, kept)
    ready = Subject(
        "mine",
        Explanation(case.valid.float(), column_0(None, None, case.valid), case.valid, case.target),
        spare=spare,
        spare_x=more.x,
    )
    lessons = fresh._lessons(case, ready, case.model, complement=False)
    assert torch.cat([index for *_, index in lessons]).sort().values.tolist() == list(range(len(case.target)))
    for train, held_out, test, _ in lessons:
        rows = [{tuple(r) for r in part.x[:, 0].tolist()} for part in (train, held_out, test)]
        assert not rows[2] & (rows[0] | rows[1])
        assert len(train.x) == len(train.said) > len(more)
    assert mean(fresh.fs_a(case, ready)) > 0.9
    assert mean(fresh.fs_a(case, replace(ready, spare=None, spare_x=None))) > 0.9


def telling(x, target, valid):
    """The one word or sentence that tells the class."""
    flat = [[unit if isinstance(unit, str) else unit[0] for unit in row] for row in x]
    rows = [[word in ("good", "bad") for word in row] for row in flat]
    return torch.tensor([row + [False] * (valid.shape[1] - len(row)) for row in rows])


def says(lines):
    p = torch.tensor([0.5 + 0.45 * ("bad" in line.split()) - 0.45 * ("good" in line.split()) for line in lines])
    return torch.stack([1 - p, p], 1)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "removal"), [("words", "pad"), ("words", "delete"), ("sentences", "delete")])
def test_texts_of_any_length(kind, removal, brisk):
    data = planted(kind, 600)
    case = replace(small_case(data, removal, k=1, model=wrap(says, takes="text")), removal=make_removal(removal, data))
    honest = everywhere(case, telling)
    assert mean(fresh.fs_a(case, honest)) > 0.95
    assert abs(mean(fresh.fu_a(case, honest)) - majority(case)) < 0.12
    short = subject(case, honest.kept)  # as if it had come ready-made
    assert mean(fresh.fs_a(case, short)) > 0.8


class Bag(nn.Module):
    """Reads ids; 7 is padding."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(8, 16), nn.Linear(16, 2)

    def forward(self, ids):
        there = (ids != 7).float()[..., None]
        return self.head((self.table(ids) * there).sum(1) / there.sum(1).clamp(min=1))


def tokenizer(rows):
    """Pads to the longest with an id of its own."""
    known = {"good": 0, "bad": 1, "the": 2, "of": 3, "it": 4, "<mask>": 5, "<pad>": 6}
    longest = max(map(len, rows))
    return torch.tensor([[known[word] for word in row] + [7] * (longest - len(row)) for row in rows])


def test_a_users_tokenizer_feeds_the_copy_too(brisk):
    data = planted("words", 300)
    net = Bag()
    with torch.no_grad():
        net.table.weight.zero_()
        net.table.weight[0, 0], net.table.weight[1, 0] = -1.0, 1.0
        net.head.weight.copy_(torch.eye(2, 16).flip(0) * 30)
    net.head.weight.data[0] = 0.0
    net.head.bias.data.zero_()
    model = wrap(net, takes="ids", tokenizer=tokenizer, outputs="logits")
    case = replace(small_case(data, "delete", k=1, model=model), removal=make_removal("delete", data))
    honest = everywhere(case, telling)
    found = fresh.fs_a(case, honest)
    assert found.note == OWN
    assert mean(found) > 0.95


class Roots(nn.Module):
    """Works for weights that are not negative, which random ones are."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 2)

    def forward(self, x):
        return x @ self.inner.weight.sqrt().T


def test_a_copy_that_cannot_be_trained_is_said_and_not_hidden():
    net = Roots()
    with torch.no_grad():
        net.inner.weight.zero_()[1, 0] = 4.0
    case = small_case(table(300), model=wrap(net, outputs="logits"), k=1)
    found = fresh.fs_a(case, everywhere(case, column_0))
    assert bool(found.values.isnan().all())
    assert "could not be trained: the loss of 'approximator' became" in found.note
