"""The one loop: known minima, players that do not disturb each other, the best epoch put back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from unmask.errors import InputError, TrainingError
from unmask.seeds import generator
from unmask.training import (
    OPTIMIZERS,
    Loss,
    Recipe,
    evaluate,
    fit_classifier,
    minimize,
    soft_cross_entropy,
)


class Point(nn.Module):
    """A free vector."""

    def __init__(self, *start: float) -> None:
        super().__init__()
        self.at = nn.Parameter(torch.tensor(start))


class Body(nn.Module):
    """Dropout, a layer and a batch norm, and a buffer that the test moves."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.4), nn.Linear(4, 3))
        self.register_buffer("epoch", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


ROWS = torch.randn(40, 3, generator=generator(0))


def state(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def pull(point: Point, to: Tensor) -> Loss:
    return lambda rows, rng: (point.at - to).square().sum()


# --- minima -----------------------------------------------------------------------------------------------------------


def test_least_squares_reaches_the_solution() -> None:
    x = torch.randn(60, 3, generator=generator(1))
    y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(60, generator=generator(2))
    point = Point(0.0, 0.0, 0.0)
    recipe = Recipe(epochs=150, batch=60, rate=0.05)
    history = minimize({"w": (point, lambda x, y, rng: (x @ point.at - y).square().mean())}, (x, y), recipe)
    best = torch.linalg.lstsq(x, y[:, None]).solution[:, 0]
    torch.testing.assert_close(point.at.detach(), best, atol=2e-3, rtol=0)
    assert history.losses[-1]["w"] == pytest.approx(float((x @ best - y).square().mean()), abs=1e-4)


def test_two_players_reach_their_saddle_point() -> None:
    a, b = Point(1.0), Point(-1.0)
    players = {
        "down": (a, lambda rows, rng: (a.at**2 + a.at * b.at).sum()),
        "up": (b, lambda rows, rng: (b.at**2 - a.at * b.at).sum()),
    }
    minimize(players, (torch.zeros(8, 1),), Recipe(epochs=150, batch=4, rate=0.03))
    assert abs(a.at.item()) < 0.02
    assert abs(b.at.item()) < 0.02


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_step_is_that_of_the_originals(name: str) -> None:
    point, rate = Point(2.0), 0.01
    minimize(
        {"p": (point, pull(point, torch.zeros(1)))}, (ROWS,), Recipe(epochs=2, batch=40, rate=rate, optimizer=name)
    )
    place, square, moved, first = 2.0, 0.0, 0.0, 0.0
    for step in (1, 2):
        g = 2 * place
        if name == "rmsprop":
            square = 0.9 * square + 0.1 * g * g
            place -= rate * g / (math.sqrt(square) + 1e-7)
        elif name == "adadelta":
            square = 0.95 * square + 0.05 * g * g
            change = math.sqrt(moved + 1e-7) / math.sqrt(square + 1e-7) * g
            moved = 0.95 * moved + 0.05 * change * change
            place -= rate * change
        else:
            beta = 0.5 if name == "adam-half" else 0.9
            first, square = beta * first + (1 - beta) * g, 0.999 * square + 0.001 * g * g
            place -= rate * (first / (1 - beta**step)) / (math.sqrt(square / (1 - 0.999**step)) + 1e-7)
    assert point.at.item() == pytest.approx(place, abs=1e-6)


def test_decay_adds_to_the_gradient() -> None:
    point, rate, decay = Point(2.0), 0.1, 0.5
    recipe = Recipe(epochs=1, batch=40, rate=rate, decay=decay, optimizer="adadelta")
    minimize({"p": (point, lambda rows, rng: 1e-3 * point.at.sum())}, (ROWS,), recipe)
    g = 1e-3 + decay * 2.0
    change = math.sqrt(1e-7) / math.sqrt(0.05 * g * g + 1e-7) * g
    without = math.sqrt(1e-7) / math.sqrt(0.05 * 1e-6 + 1e-7) * 1e-3
    assert point.at.item() == pytest.approx(2.0 - rate * change, abs=1e-6)
    assert change > 1.5 * without


def test_each_player_has_its_rate() -> None:
    slow, fast = Point(1.0), Point(1.0)
    players = {"slow": (slow, pull(slow, torch.zeros(1))), "fast": (fast, pull(fast, torch.zeros(1)))}
    minimize(players, (ROWS,), Recipe(epochs=1, batch=40, rate={"slow": 0.001, "fast": 0.1}))
    assert slow.at.item() == pytest.approx(0.999, abs=1e-5)  # Adam's first step is the rate
    assert fast.at.item() == pytest.approx(0.9, abs=1e-5)


def test_the_rate_fades_after_each_epoch() -> None:
    """Adam by hand, two batches an epoch; in epoch e the rate is rate * fade^e."""
    point, rate, fade = Point(2.0), 0.1, 0.5
    recipe = Recipe(epochs=3, batch=20, rate=rate, fade=fade)
    minimize({"p": (point, pull(point, torch.zeros(1)))}, (ROWS,), recipe)
    place, first, square = 2.0, 0.0, 0.0
    for step in range(1, 7):
        g = 2 * place
        first, square = 0.9 * first + 0.1 * g, 0.999 * square + 0.001 * g * g
        now = rate * fade ** ((step - 1) // 2)
        place -= now * (first / (1 - 0.9**step)) / (math.sqrt(square / (1 - 0.999**step)) + 1e-7)
    assert point.at.item() == pytest.approx(place, abs=1e-6)


def test_all_rates_fade() -> None:
    slow, fast = Point(1.0), Point(1.0)
    players = {"slow": (slow, lambda rows, rng: slow.at.sum()), "fast": (fast, lambda rows, rng: fast.at.sum())}
    minimize(players, (ROWS,), Recipe(epochs=3, batch=40, rate={"slow": 0.001, "fast": 0.1}, fade=0.1))
    assert slow.at.item() == pytest.approx(1 - 0.00111, abs=1e-6)  # under a constant gradient, Adam moves by the rate
    assert fast.at.item() == pytest.approx(1 - 0.111, abs=1e-5)


# --- running means ----------------------------------------------------------------------------------------------------


def averaged(average: float, scores: list[float]) -> tuple[list[dict[str, Tensor]], list[dict[str, Tensor]], Body]:
    """The parameters before each step, the whole states that are scored, and the network as it is left."""
    body, before, scored = Body(), [], []

    def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
        before.append({name: p.detach().clone() for name, p in body.named_parameters()})
        return body(rows).square().mean()

    def score() -> float:
        scored.append(state(body))
        return scores[len(scored) - 1]

    recipe = Recipe(epochs=len(scores), batch=10, rate=0.05, average=average)
    minimize({"body": (body, loss)}, (ROWS,), recipe, score=score)
    return before, scored, body


def test_running_means_are_scored_and_kept_and_disturb_nothing() -> None:
    plain, states, _ = averaged(0.0, [0.1, 0.9, 0.2])
    before, scored, body = averaged(0.7, [0.1, 0.9, 0.2])
    assert len(before) == 12
    assert all(same(a, b) for a, b in zip(plain, before, strict=True)), "the steps themselves must not change"
    mean = before[0]
    after = [*before[1:], {name: states[2][name] for name in mean}]  # after each of the twelve steps
    for step in range(12):
        keep = min(0.7, (2 + step) / (11 + step))  # shorter at first
        mean = {name: keep * mean[name] + (1 - keep) * after[step][name] for name in mean}
        if step % 4 == 3:
            for name, value in mean.items():
                torch.testing.assert_close(scored[step // 4][name], value)
    assert same(state(body), scored[1])
    assert not torch.allclose(body.net[0].weight, states[1]["net.0.weight"], atol=1e-4)
    assert torch.equal(body.net[1].running_mean, states[1]["net.1.running_mean"])  # buffers are as they are


def test_a_mean_moves_with_the_steps_of_its_own_player_only() -> None:
    """a is pulled once a batch, b waits at its place: b's mean stays b; a's is that of a's steps alone."""
    a, b = Point(1.0), Point(1.0)
    seen: list[tuple[float, float]] = []

    def score() -> float:
        seen.append((a.at.item(), b.at.item()))
        return float(len(seen))

    players = {"a": (a, lambda rows, rng: a.at.sum()), "b": (b, lambda rows, rng: 0.0 * b.at.sum())}
    minimize(players, (ROWS,), Recipe(epochs=2, batch=20, rate=0.1, average=0.5), score=score)
    place, mean, want = 1.0, 1.0, []
    for step in range(1, 5):
        place -= 0.1
        keep = min(0.5, (1 + step) / (10 + step))
        mean = keep * mean + (1 - keep) * place
        want.append(mean)
    assert seen[0] == (pytest.approx(want[1], abs=1e-5), 1.0)
    assert seen[1] == (pytest.approx(want[3], abs=1e-5), 1.0)
    assert a.at.item() == seen[1][0]


def test_ctrl_c_while_means_are_scored_keeps_the_best_means() -> None:
    point, seen = Point(1.0), []

    def score() -> float:
        seen.append(point.at.item())
        if len(seen) == 3:
            raise KeyboardInterrupt
        return -float(len(seen))

    recipe = Recipe(epochs=5, batch=40, rate=0.1, average=0.5)
    with pytest.raises(KeyboardInterrupt):
        minimize({"p": (point, lambda rows, rng: point.at.sum())}, (ROWS,), recipe, score=score)
    assert point.at.item() == seen[0] == pytest.approx(1 - 0.1 * 9 / 11, abs=1e-5)


# --- turns ------------------------------------------------------------------------------------------------------------


def test_players_step_in_order_on_each_batch() -> None:
    turns: list[tuple[str, tuple[float, ...]]] = []
    points = {name: Point(1.0) for name in "abc"}

    def loss_of(name: str) -> Loss:
        def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
            turns.append((name, tuple(rows[:, 0].tolist())))
            return points[name].at.sum()

        return loss

    minimize({n: (p, loss_of(n)) for n, p in points.items()}, (torch.arange(6.0)[:, None],), Recipe(epochs=2, batch=3))
    assert [name for name, _ in turns] == list("abc") * 4
    batches = [rows for name, rows in turns if name == "a"]
    assert [rows for name, rows in turns if name == "c"] == batches
    assert sorted(batches[0] + batches[1]) == sorted(batches[2] + batches[3]) == list(range(6))
    assert batches[:2] != batches[2:]


def test_a_step_moves_its_own_player_only() -> None:
    bodies = {"first": Body(1), "second": Body(2)}
    outside = Body(3).eval()
    frozen = state(outside)
    seen: list[dict[str, dict[str, Tensor]]] = []

    def loss_of(name: str) -> Loss:
        def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
            seen.append({n: state(body) for n, body in bodies.items()})
            return outside(bodies["second"](bodies["first"](rows))).square().mean()  # flows through all of them

        return loss

    recipe = Recipe(epochs=2, batch=10, rate=0.01)
    minimize({name: (body, loss_of(name)) for name, body in bodies.items()}, (ROWS,), recipe)
    for i, (before, after) in enumerate(pairwise(seen)):
        mover, other = ("first", "second") if i % 2 == 0 else ("second", "first")
        assert same(before[other], after[other])
        assert not torch.equal(before[mover]["net.0.weight"], after[mover]["net.0.weight"])
        assert not torch.equal(before[mover]["net.1.running_mean"], after[mover]["net.1.running_mean"])
    assert same(frozen, state(outside))
    assert all(p.grad is None for p in outside.parameters())
    assert all(p.grad is None for body in bodies.values() for p in body.parameters())
    assert not any(body.training for body in bodies.values())


def test_frozen_parameters_of_a_player_stay() -> None:
    body = Body()
    body.net[0].requires_grad_(False)
    before = state(body)
    minimize({"body": (body, lambda x, rng: body(x).square().mean())}, (ROWS,), Recipe(epochs=1, batch=20, rate=0.01))
    assert torch.equal(before["net.0.weight"], body.net[0].weight)
    assert not torch.equal(before["net.4.weight"], body.net[4].weight)


def test_a_single_row_at_the_end_does_not_break_batch_norm() -> None:
    body = Body()
    minimize({"body": (body, lambda x, rng: body(x).square().mean())}, (ROWS[:11],), Recipe(epochs=1, batch=5))
    assert body.net[1].num_batches_tracked == 2


@pytest.mark.parametrize("n", [1, 6])
def test_batches_of_one_row_do_train(n: int) -> None:
    point = Point(1.0)
    recipe = Recipe(epochs=1, batch=1, rate=0.01)
    history = minimize({"p": (point, pull(point, torch.zeros(1)))}, (ROWS[:n],), recipe)
    assert point.at.item() == pytest.approx(1 - 0.01 * n, abs=2e-3)
    assert history.losses[0]["p"] > 0.5


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 10, 11, 12])
@pytest.mark.parametrize("rows", [1, 2, 10, 11, 12])
def test_steps_are_what_the_loop_takes(rows: int, batch: int) -> None:
    point, calls, recipe = Point(1.0), [], Recipe(epochs=2, batch=batch)

    def loss(x: Tensor, rng: torch.Generator) -> Tensor:
        calls.append(len(x))
        return point.at.sum()

    minimize({"p": (point, loss)}, (ROWS[:rows],), recipe)
    assert len(calls) == 2 * recipe.steps(rows)


# --- seeds ------------------------------------------------------------------------------------------------------------


def trained(seed: int) -> dict[str, Tensor]:
    body = Body()

    def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
        return (body(rows) - torch.rand(rows.shape, generator=rng)).square().mean()

    minimize({"body": (body, loss)}, (ROWS,), Recipe(epochs=2, batch=16, rate=0.01, seed=seed))
    return state(body)


def test_a_seed_fixes_everything_and_leaves_the_global_state() -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first = trained(4)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert same(first, trained(4))
    assert not same(first, trained(5))


# --- the best epoch ---------------------------------------------------------------------------------------------------


def planted(scores: list[float], stop: Callable[[], None] | None = None, patience: int | None = None) -> tuple:
    """A run whose validation scores are given; the states after each epoch are kept."""
    body, states = Body(), []

    def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
        body.epoch += 1
        return body(rows).square().mean()

    def score() -> float:
        assert not body.training
        assert not torch.is_grad_enabled()
        states.append(state(body))
        if len(states) > len(scores):
            assert stop is not None
            stop()
        return scores[len(states) - 1]

    recipe = Recipe(epochs=len(scores) + (stop is not None), batch=40, rate=0.05, patience=patience)
    return body, states, lambda: minimize({"body": (body, loss)}, (ROWS,), recipe, score=score)


def test_the_whole_state_of_the_best_epoch_comes_back() -> None:
    body, states, run = planted([0.1, 0.7, 0.3, 0.7, 0.6])
    history = run()
    assert history.best == 1  # the first of equals
    assert history.scores == [0.1, 0.7, 0.3, 0.7, 0.6]
    assert same(state(body), states[1])
    assert not same(states[1], states[3])
    assert body.epoch == 2
    assert int(body.net[1].num_batches_tracked) == 2


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 6), (9, 7)])
def test_patience_ends_a_run(patience: int, epochs: int) -> None:
    _, states, run = planted([0.1, 0.5, 0.2, 0.6, 0.3, 0.4, 0.9], patience=patience)
    history = run()
    assert len(states) == len(history.losses) == epochs
    assert history.best == {3: 1, 6: 3, 7: 6}[epochs]


def test_without_a_score_the_last_epoch_stays() -> None:
    body = Body()
    history = minimize({"body": (body, lambda x, rng: body(x).square().mean())}, (ROWS,), Recipe(epochs=3, patience=1))
    assert (history.best, history.scores, len(history.losses)) == (2, [], 3)
    assert body.net[1].num_batches_tracked == 3


def test_a_score_may_come_with_words_for_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []

    @contextmanager
    def bar(title: str, total: int) -> Iterator[Callable[[str], None]]:
        yield notes.append

    monkeypatch.setattr("unmask.progress.bar", bar)
    point, scores = Point(1.0), iter([(0.25, "all is well"), (0.75, "even better"), (0.5, "")])
    recipe = Recipe(epochs=3, batch=40, rate=0.1)
    history = minimize({"p": (point, pull(point, torch.zeros(1)))}, (ROWS,), recipe, score=lambda: next(scores))
    assert (history.scores, history.best) == ([0.25, 0.75, 0.5], 1)
    assert notes[0] == "p 1.000; validation 0.250; all is well"
    assert notes[1].endswith("; validation 0.750; even better")
    assert notes[2].endswith("; validation 0.500")


@pytest.mark.parametrize("worst", [math.nan, -math.inf])
def test_a_score_that_is_no_number_never_wins(worst: float) -> None:
    body, states, run = planted([worst, 0.2, worst])
    assert run().best == 1
    assert same(state(body), states[1])


def interrupt() -> None:
    raise KeyboardInterrupt


def test_ctrl_c_in_a_score_keeps_the_best_epoch() -> None:
    body, states, run = planted([0.1, 0.8, 0.3], stop=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert same(state(body), states[1])
    assert not body.training


def test_ctrl_c_in_a_loss_keeps_the_last_whole_epoch() -> None:
    point, calls = Point(1.0), []

    def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
        calls.append(point.at.item())
        if len(calls) == 6:  # in the middle of the third epoch
            raise KeyboardInterrupt
        return point.at.sum()

    with pytest.raises(KeyboardInterrupt):
        minimize({"p": (point, loss)}, (ROWS,), Recipe(epochs=5, batch=20, rate=0.1))
    assert calls[5] != calls[4]
    assert point.at.item() == calls[4]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_names_its_player(bad: float) -> None:
    good, ill = Point(1.0), Point(1.0)
    calls: list[float] = []

    def loss(rows: Tensor, rng: torch.Generator) -> Tensor:
        calls.append(good.at.item())
        return ill.at.sum() * (bad if len(calls) == 2 else 1.0)

    players = {"good": (good, pull(good, torch.zeros(1))), "ill": (ill, loss)}
    with pytest.raises(TrainingError, match=r"the loss of 'ill' became (nan|inf) in epoch 2; lower the rate"):
        minimize(players, (ROWS,), Recipe(epochs=3, batch=40, rate=0.1))
    assert good.at.item() == calls[0]  # as after the first epoch
    assert ill.at.item() == pytest.approx(0.9, abs=1e-5)


# --- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epochs": 0}, "a recipe needs at least 1 epoch and 1 row a batch, got 0 and 128"),
        ({"batch": 0}, "a recipe needs at least 1 epoch and 1 row a batch, got 20 and 0"),
        ({"fade": 0.0}, "fade must be above 0 and at most 1, average from 0 to below 1; got 0.0 and 0.0"),
        ({"fade": 1.1}, "fade must be above 0 and at most 1, average from 0 to below 1; got 1.1 and 0.0"),
        ({"average": 1.0}, "fade must be above 0 and at most 1, average from 0 to below 1; got 1.0 and 1.0"),
        ({"average": -0.1}, "fade must be above 0 and at most 1, average from 0 to below 1; got 1.0 and -0.1"),
        ({"precision": "half"}, "precision must be one of full, mixed, got 'half'"),
        ({"optimizer": "sgd"}, "optimizer must be one of adam, adam-half, rmsprop, adadelta, got 'sgd'"),
    ],
)
def test_a_wrong_recipe_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        Recipe(**wrong)
    assert str(caught.value) == said


def test_mixed_precision_rounds_products_and_nothing_else() -> None:
    """Losses see bfloat16 products; weights and what is scored stay float32, and the solution is found all the same."""
    x = torch.randn(60, 3, generator=generator(1))
    net, seen = nn.Linear(3, 1), set()
    y = x @ torch.tensor([1.0, -2.0, 0.5])

    def loss(x: Tensor, y: Tensor, rng: torch.Generator) -> Tensor:
        said = net(x)[:, 0]
        seen.add(said.dtype)
        return (said - y).square().mean()

    def score() -> float:
        seen.add((net.weight.dtype, net(x).dtype))
        return 0.0

    minimize({"w": (net, loss)}, (x, y), Recipe(epochs=150, batch=60, rate=0.05, precision="mixed"), score=score)
    assert seen == {torch.bfloat16, (torch.float32, torch.float32)}
    minimize({"w": (net, loss)}, (x, y), Recipe(epochs=150, batch=60, rate=0.05, precision="mixed"))
    torch.testing.assert_close(net.weight[0].detach(), torch.tensor([1.0, -2.0, 0.5]), atol=0.02, rtol=0)


def test_batches_of_evaluation_make_a_whole() -> None:
    body = Body().train()
    got = evaluate(body, ROWS, batch=7)
    assert not body.training
    assert not got.requires_grad
    torch.testing.assert_close(got, body(ROWS).detach())
    assert evaluate(body, ROWS[:0]).shape == (0, 3)


def test_evaluation_takes_several_inputs() -> None:
    net = nn.Bilinear(3, 2, 4)
    other = torch.randn(40, 2, generator=generator(1))
    torch.testing.assert_close(evaluate(net, ROWS, other, batch=16), net(ROWS, other).detach())


def test_cross_entropy_takes_classes_and_probabilities() -> None:
    logits, target = torch.randn(5, 3, generator=generator(0)), torch.tensor([0, 2, 1, 1, 0])
    want = -logits.log_softmax(1)[range(5), target]
    torch.testing.assert_close(soft_cross_entropy(logits, target), want)
    torch.testing.assert_close(soft_cross_entropy(logits, torch.eye(3)[target]), want)
    p = torch.rand(5, 3, generator=generator(1)).softmax(1)
    torch.testing.assert_close(soft_cross_entropy(logits, p), -(p * logits.log_softmax(1)).sum(1))


def test_a_classifier_is_fitted_and_its_epoch_chosen_on_held_out_rows() -> None:
    x = torch.randn(300, 3, generator=generator(0))
    y = (x[:, 0] > 0).long()
    net = nn.Linear(3, 2)
    rows, held_out = (x[:200], y[:200]), (x[200:], y[200:])
    history = fit_classifier(net, rows, held_out, Recipe(epochs=8, batch=50, rate=0.1), title="model")
    assert list(history.losses[0]) == ["model"]
    loss = soft_cross_entropy(evaluate(net, held_out[0]), held_out[1]).mean()
    assert history.scores[history.best] == max(history.scores) == pytest.approx(-float(loss))
    assert float((evaluate(net, held_out[0]).argmax(1) == held_out[1]).float().mean()) > 0.95
