"""Why rationales interlock, in two toys that can be computed to the last digit (Yu et al. 2021, Table 1 and Figure 2).

The game: the generator selects one of two sentences, the predictor fits one of them; both are paid the same.

The landscape: each of two sentences says one of two words. In the first, word 1 speaks for the label with probability
`P[0]`; in the second *word 2* does, with probability `P[1]`. A predictor of what was selected knows the words only: the
loss of the best one is the entropy of a mixture, so concave in the chance of selecting the first sentence. A soft
predictor adds evidence from both, at most `BOUND` times the weight of each. What it may say is a convex set that grows
linearly with the weights, so the loss of the best one is convex. At the corners, one sentence alone, the two are equal.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, xlogy

__all__ = ["PAYOFF", "agreement", "attention_loss", "equilibria", "path", "rationale_loss"]

PAYOFF = ((-1.0, -10.0), (-20.0, -2.0))  # select X1 or X2 (rows), fit X1 or X2 (columns)
P = (0.75, 0.9)  # the second sentence tells more
BOUND = 4.0  # of the evidence, in logits; more than either sentence has
Array = NDArray[np.float64]


def equilibria(payoff: tuple[tuple[float, float], ...] = PAYOFF) -> list[tuple[int, int]]:
    """Pairs (selected, fitted) that neither player leaves alone."""
    return [
        (i, j)
        for i, j in product(range(2), range(2))
        if payoff[i][j] >= payoff[1 - i][j] and payoff[i][j] >= payoff[i][1 - j]
    ]


def path(
    start: tuple[int, int], first: str = "generator", payoff: tuple[tuple[float, float], ...] = PAYOFF
) -> list[tuple[int, int]]:
    """Best responses in turn until nobody moves, the start included."""
    at, still, turn = start, 0, first == "generator"
    found = [at]
    while still < 2:
        other = (1 - at[0], at[1]) if turn else (at[0], 1 - at[1])
        better = payoff[other[0]][other[1]] > payoff[at[0]][at[1]]
        at, still = (other, 0) if better else (at, still + 1)
        if better:
            found.append(at)
        turn = not turn
    return found


def _mixed(first: Array) -> Array:
    """How often word 1 speaks for the label when the first sentence is selected with this chance."""
    return first * P[0] + (1 - first) * (1 - P[1])


def rationale_loss(first: Array) -> Array:
    """The loss of the best predictor of selected words: the entropy of the label given the word, in nats."""
    return _entropy(_mixed(first))


def attention_loss(first: Array) -> Array:
    """The loss of the best soft predictor with weights `first` and 1 - `first`, in nats."""
    return np.array([_best(float(weight))[0] for weight in first])


def _best(weight: float) -> tuple[float, Array]:
    """The lowest loss over evidence u with |u_i| <= BOUND * weight_i, and that evidence."""
    signs, chances = _cases()
    limits = [(-BOUND * w, BOUND * w) for w in (weight, 1 - weight)]

    def loss(u: Array) -> tuple[float, Array]:
        margin = signs @ u
        return float(chances @ np.logaddexp(0.0, -margin)), -(chances * expit(-margin)) @ signs

    found = minimize(
        loss, np.zeros(2), jac=True, bounds=limits, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12}
    )
    return float(found.fun), found.x


def _cases() -> tuple[Array, Array]:
    """Whether each sentence speaks for the label (1) or against it (-1), and how likely that is."""
    signs = np.array(list(product((1.0, -1.0), repeat=2)))
    each = np.where(signs > 0, np.array(P), 1 - np.array(P))
    return signs, each.prod(1)


def agreement(first: Array) -> Array:
    """Mean Jensen-Shannon divergence of the two best predictors' answers, the sentence drawn by the weights."""
    signs, chances = _cases()
    told = np.empty(len(first))
    for at, weight in enumerate(first):
        soft = expit(signs @ _best(float(weight))[1])  # that the answer is the label
        q = float(_mixed(np.array([weight]))[0])
        hard = [np.where(signs[:, 0] > 0, q, 1 - q), np.where(signs[:, 1] > 0, 1 - q, q)]
        told[at] = sum(w * chances @ _js(h, soft) for w, h in zip((weight, 1 - weight), hard, strict=True))
    return told


def _js(a: Array, b: Array) -> Array:
    return _entropy((a + b) / 2) - (_entropy(a) + _entropy(b)) / 2


def _entropy(p: Array) -> Array:
    found: Array = -xlogy(p, p) - xlogy(1 - p, 1 - p)
    return found
