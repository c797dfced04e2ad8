"""What every maskable network and every selector promises, kind by kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from nets.samples import ARRAYS, REVIEWS, SETS, TEXTS
from unmask.nets import ACTIVATIONS, Reader, WordBag, default, read, selector
from unmask.nets.defaults import Activation
from unmask.seeds import generator, seeded
from unmask.types import Inputs

CLASSES = 3
Build = Callable[[Reader], nn.Module]


def bag(reader: Reader) -> nn.Module:
    with seeded(0):
        return WordBag(reader, CLASSES, width=20, hidden=30)


def stirred(net: nn.Module) -> nn.Module:
    """Every parameter moved off its start, so that zeros at the start hide nothing."""
    with torch.no_grad():
        for name, p in net.named_parameters():
            if not name.endswith("table.weight"):
                p.add_(0.05 * torch.randn(p.shape, generator=generator(len(name))))
        for name, p in net.named_parameters():
            if name.endswith("table.weight"):
                p[2:].mul_(10)
    return net.eval()


BLIND = {name: lambda reader: default(reader, CLASSES, "small") for name in SETS}
SEEING = {name: lambda reader: default(reader, CLASSES, "small", sees_mask=True) for name in SETS}
CLASSIFIERS: list[tuple[str, Build]] = [*BLIND.items(), *SEEING.items(), ("words", bag)]
SELECTORS: list[tuple[str, Build]] = [(name, selector) for name in SETS]
IDS = [*BLIND, *(f"{name} seeing" for name in SEEING), "words bag"]
classifiers = pytest.mark.parametrize(("name", "build"), CLASSIFIERS, ids=IDS)
ARRAY_CASES = [(n, b) for n, b in CLASSIFIERS + SELECTORS if n in ARRAYS]
arrays = pytest.mark.parametrize(("name", "build"), ARRAY_CASES)
every = pytest.mark.parametrize(
    ("name", "build"), CLASSIFIERS + SELECTORS, ids=[*IDS, *(f"{name} selector" for name in SETS)]
)


def case(name: str, build: Build) -> tuple[nn.Module, Tensor, Tensor]:
    """A network, prepared rows and half of their units."""
    data = SETS[name]()
    reader = read(data)
    valid = data.train.valid
    kept = ((torch.rand(valid.shape, generator=generator(4)) < 0.5) & valid).float()
    kept[0], kept[0, 0] = 1.0 * valid[0], 0.0  # at least one unit of each sort
    return stirred(build(reader)), reader.prepare(data.train.x), kept


def changed(name: str, x: Tensor, row: int, unit: int) -> Tensor:
    """Another value, word or sentence of the same length in one unit of one row."""
    other, layout = x.clone(), SETS[name]().layout
    if name == "words":
        other[row, unit] = 4 if int(x[row, unit]) != 4 else 5
    elif name == "sentences":
        there = x[row, unit] > 0
        other[row, unit, there] = (x[row, unit, there] - 4 + 3) % 8 + 4
    else:
        place = layout.spread(torch.eye(layout.d)[unit : unit + 1])[0].expand(x.shape[1:]) > 0
        other[row, place] += 2.5
    return other


@classifiers
def test_classifiers_give_one_logit_for_each_class(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    assert net(x).shape == net(x, kept).shape == (len(x), CLASSES)
    assert net(x[:1], kept[:1]).shape == (1, CLASSES)
    assert net(x[:0], kept[:0]).shape == (0, CLASSES)


@pytest.mark.parametrize("name", SETS)
def test_selectors_give_one_score_for_each_unit(name: str) -> None:
    net, x, kept = case(name, selector)
    assert net(x).shape == net(x, kept).shape == kept.shape
    assert net(x[:1]).shape == (1, kept.shape[1])
    assert float(net(x).detach().std()) > 0


@every
def test_no_mask_means_all_is_kept(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    torch.testing.assert_close(net(x), net(x, torch.ones_like(kept)), atol=0, rtol=0)


@every
def test_a_mask_of_booleans_is_a_mask_of_ones(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    torch.testing.assert_close(net(x, kept.bool()), net(x, kept), atol=0, rtol=0)


@every
def test_a_row_does_not_depend_on_the_others(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    together = net(x, kept)
    alone = torch.cat([net(x[i : i + 1], kept[i : i + 1]) for i in range(len(x))])
    torch.testing.assert_close(alone, together, atol=1e-6, rtol=1e-5)


@every
def test_hidden_units_have_no_influence(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    for row, unit in (kept[:2] == 0).nonzero().tolist():
        if unit < int(SETS[name]().train.valid[row].sum()):
            other = changed(name, x, row, unit)
            assert not torch.equal(other, x)
            assert torch.equal(net(other, kept), net(x, kept))


@every
def test_kept_units_do_matter(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    base, moved = net(x, kept), 0
    places = kept[:1].nonzero().tolist()
    for row, unit in places:
        moved += not torch.equal(net(changed(name, x, row, unit), kept)[row], base[row])
    assert moved > len(places) / 2


@arrays
def test_gradients_of_hidden_units_are_zero(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    x.requires_grad_()
    shown = SETS[name]().layout.spread(kept).expand_as(x) > 0
    (grad,) = torch.autograd.grad(net(x, kept).square().sum(), x)
    assert torch.equal(grad[~shown], torch.zeros_like(grad[~shown]))
    assert float(grad[shown].abs().max()) > 0


@every
def test_gradients_reach_a_soft_mask(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    soft = torch.full_like(kept, 0.6).requires_grad_()
    (grad,) = torch.autograd.grad(net(x, soft).square().sum(), soft)
    valid = SETS[name]().train.valid
    assert bool(grad.isfinite().all())
    assert float(grad[valid].abs().max()) > 0
    assert torch.equal(grad[~valid], torch.zeros_like(grad[~valid]))


@pytest.mark.parametrize(
    "build", [BLIND["words"], SEEING["words"], bag, selector], ids=["net", "seeing", "bag", "selector"]
)
def test_padding_beyond_the_end_of_words_changes_nothing(build: Build) -> None:
    net, x, kept = case("words", build)
    longer = torch.cat([x, torch.zeros(len(x), 5, dtype=torch.long)], 1)
    for fill in (0.0, 1.0):
        wide = torch.cat([kept, torch.full((len(x), 5), fill)], 1)
        got = net(longer, wide)[:, : x.shape[1]] if build is selector else net(longer, wide)
        torch.testing.assert_close(
            _valid_only(got, x, build), _valid_only(net(x, kept), x, build), atol=1e-6, rtol=1e-5
        )


@pytest.mark.parametrize(
    "build", [BLIND["sentences"], SEEING["sentences"], selector], ids=["net", "seeing", "selector"]
)
def test_padding_beyond_the_end_of_sentences_changes_nothing(build: Build) -> None:
    net, x, kept = case("sentences", build)
    n, d, words = x.shape
    longer = torch.zeros(n, d + 2, words + 3, dtype=torch.long)
    longer[:, :d, :words] = x
    for fill in (0.0, 1.0):
        wide = torch.cat([kept, torch.full((n, 2), fill)], 1)
        got = net(longer, wide)[:, :d] if build is selector else net(longer, wide)
        torch.testing.assert_close(
            _valid_only(got, x, build), _valid_only(net(x, kept), x, build), atol=1e-6, rtol=1e-5
        )


def _valid_only(out: Tensor, x: Tensor, build: Build) -> Tensor:
    exists = x != 0 if x.ndim == 2 else (x != 0).any(-1)
    return out[exists] if build is selector else out


@pytest.mark.parametrize("rows", [[[], []], [["soup"], []], [[]]], ids=["all", "one", "alone"])
@pytest.mark.parametrize(
    "build", [BLIND["words"], SEEING["words"], bag, selector], ids=["net", "seeing", "bag", "selector"]
)
def test_an_empty_text_has_a_finite_answer(build: Build, rows: Inputs) -> None:
    reader = read(SETS["words"]())
    net, x = stirred(build(reader)), reader.prepare(rows)
    assert bool(net(x).isfinite().all())
    assert bool(net(x, torch.zeros(x.shape[:2])).isfinite().all())


@pytest.mark.parametrize("rows", [[[], []], [[["soup"]], []], [[]], [[[]]]], ids=["all", "one", "alone", "no words"])
@pytest.mark.parametrize(
    "build", [BLIND["sentences"], SEEING["sentences"], selector], ids=["net", "seeing", "selector"]
)
def test_a_text_without_sentences_has_a_finite_answer(build: Build, rows: Inputs) -> None:
    reader = read(SETS["sentences"]())
    net, x = stirred(build(reader)), reader.prepare(rows)
    assert bool(net(x).isfinite().all())
    assert bool(net(x, torch.zeros(x.shape[:2])).isfinite().all())


@every
def test_nothing_kept_has_a_finite_answer_that_all_rows_share(name: str, build: Build) -> None:
    net, x, kept = case(name, build)
    out = net(x, torch.zeros_like(kept))
    assert bool(out.isfinite().all())
    if name in ARRAYS:
        torch.testing.assert_close(out, out[:1].expand_as(out), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["table", "groups", "grey", "colour", "patches"])
def test_only_a_network_that_sees_the_mask_tells_the_centre_from_nothing(name: str) -> None:
    data = SETS[name]()
    reader = read(data)
    x = reader.centre.expand_as(data.train.x)
    kept = torch.ones(len(x), data.layout.d)
    hidden = kept.clone()
    hidden[:, 0] = 0.0
    blind, seeing = stirred(BLIND[name](reader)), stirred(SEEING[name](reader))
    assert torch.equal(blind(x, kept), blind(x, hidden))
    assert not torch.allclose(seeing(x, kept), seeing(x, hidden))


@pytest.mark.parametrize(("name", "rows"), [("words", TEXTS), ("sentences", REVIEWS)])
def test_only_a_network_that_sees_the_mask_tells_how_much_is_hidden(name: str, rows: Inputs) -> None:
    reader = read(SETS[name]())
    blind, seeing = stirred(BLIND[name](reader)), stirred(SEEING[name](reader))
    x = reader.prepare(rows)
    nothing = torch.zeros(x.shape[:2])
    out = blind(x, nothing)
    if name == "sentences":
        torch.testing.assert_close(out, out[:1].expand_as(out))
    assert not torch.allclose(seeing(x, nothing), seeing(x[:, :0], nothing[:, :0]))


@every
def test_a_seed_fixes_the_weights_and_leaves_the_global_state(name: str, build: Build) -> None:
    reader = read(SETS[name]())
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = build(reader).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    second = build(reader).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", SETS)
def test_another_seed_gives_other_weights(name: str) -> None:
    reader = read(SETS[name]())
    for make in (lambda seed: default(reader, CLASSES, seed=seed), lambda seed: selector(reader, seed=seed)):
        first, second = list(make(0).parameters()), list(make(1).parameters())
        assert not all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", SETS)
def test_small_is_smaller(name: str) -> None:
    reader = read(SETS[name]())
    small, medium = (
        sum(p.numel() for p in default(reader, CLASSES, size).parameters()) for size in ("small", "medium")
    )
    assert small < medium


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_perceptrons_for_tables_take_an_activation(activation: Activation) -> None:
    reader = read(SETS["table"]())
    for net in (default(reader, CLASSES, activation=activation), selector(reader, activation=activation)):
        found = {type(module) for module in net.modules()} & set(ACTIVATIONS.values())
        assert found == {ACTIVATIONS[activation]}


# --- feedback and more outputs ----------------------------------------------------------------------------------------


def fed(name: str, outputs: int = 1) -> tuple[nn.Module, Tensor, Tensor, Tensor]:
    """A selector that is told the answer, rows, half of their units, and answers."""
    net, x, kept = case(name, lambda reader: selector(reader, feedback=CLASSES, outputs=outputs))
    return net, x, kept, torch.randn(len(x), CLASSES, generator=generator(8)).softmax(1)


@pytest.mark.parametrize("name", SETS)
def test_feedback_changes_the_scores(name: str) -> None:
    net, x, kept, answer = fed(name)
    valid = SETS[name]().train.valid
    for mask in (None, kept):
        own, other = net(x, mask, answer), net(x, mask, answer.roll(1, 1))
        assert own.shape == valid.shape
        assert bool(((own - other).abs() * valid).amax(1).gt(1e-6).all())


@pytest.mark.parametrize("name", SETS)
def test_the_branch_of_the_answer_learns(name: str) -> None:
    net, x, _, answer = fed(name)
    answer.requires_grad_()
    score = (net(x, None, answer) * SETS[name]().train.valid).square().sum()
    own = [p for key, p in net.named_parameters() if key.startswith("answer.")]
    assert bool(own) == (name not in ("table", "groups"))  # columns have the answer beside them, without a branch
    grads = torch.autograd.grad(score, [answer, *own])
    assert all(float(g.abs().sum()) > 0 for g in grads)


@pytest.mark.parametrize("name", SETS)
def test_with_feedback_a_row_does_not_depend_on_the_others(name: str) -> None:
    net, x, kept, answer = fed(name)
    together = net(x, kept, answer)
    alone = torch.cat([net(x[i : i + 1], kept[i : i + 1], answer[i : i + 1]) for i in range(len(x))])
    torch.testing.assert_close(alone, together, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_without_feedback_nothing_is_added(name: str) -> None:
    reader = read(SETS[name]())
    plain, told = selector(reader), selector(reader, feedback=CLASSES)
    sizes = [sum(p.numel() for p in net.parameters()) for net in (plain, told)]
    assert sizes[0] < sizes[1]
    assert getattr(plain, "answer", None) is None
    if name in ("table", "groups"):
        assert plain.net.body[0].in_features == reader.centre.numel() + reader.layout.d
        assert told.net.body[0].in_features == plain.net.body[0].in_features + CLASSES
    elif name in ARRAYS:
        assert plain.net[0].in_channels == reader.layout.shape[0] + 1


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_each_of_several_outputs_is_a_selector_of_its_own(name: str, told: bool) -> None:
    """Output c of three is what a selector gives whose last layer has the weights of output c only."""
    many, x, kept, answer = fed(name, outputs=3)
    answer = answer if told else answer.mean(0).expand_as(answer)
    found = many(x, kept, answer)
    assert found.shape == (*kept.shape, 3)
    one = selector(read(SETS[name]()), feedback=CLASSES).eval()
    wanted = one.state_dict()
    for c in range(3):
        for key, value in many.state_dict().items():
            if value.shape == wanted[key].shape:
                wanted[key] = value
            elif name in ("table", "groups"):
                wanted[key] = value.view(kept.shape[1], 3, *value.shape[1:])[:, c]
            else:
                wanted[key] = value[c : c + 1]
        one.load_state_dict(wanted)
        torch.testing.assert_close(one(x, kept, answer), found[..., c], atol=1e-6, rtol=1e-5)
