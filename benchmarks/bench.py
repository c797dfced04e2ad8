"""Speed, as ratios measured side by side in one run: `make bench`."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from captum.attr import FeatureAblation

from unmask import api
from unmask.data import load
from unmask.training import Recipe

ROWS = 200


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The fastest of a few runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    data = load("digits", seed=0)
    model = api.train_model(data, recipe=Recipe(epochs=5))
    x = data.test.x[:ROWS]
    target = model(x).argmax(1)
    occlusion, l2x, ig = (api.fit(model, data, 8, method=m) for m in ("occlusion", "l2x", "integrated-gradients"))
    loop = FeatureAblation(model.log_probabilities)
    fill = occlusion.task_.removal.fills[0].expand_as(x)
    with torch.no_grad():
        theirs = loop.attribute(x, baselines=fill, target=target)
    ours = occlusion.explain(x, target).scores
    torch.testing.assert_close(ours, data.layout.gather(theirs), atol=1e-4, rtol=1e-3)
    times = {
        "occlusion, captum FeatureAblation": seconds(lambda: _no_grad(lambda: loop.attribute(x, fill, target=target))),
        "occlusion, unmask": seconds(lambda: occlusion.explain(x, target)),
        "integrated gradients, unmask": seconds(lambda: ig.explain(x, target)),
        "L2X, one forward pass": seconds(lambda: l2x.explain(x, target)),
    }
    base = times["occlusion, captum FeatureAblation"]
    print(f"{ROWS} digits, same scores where the method is the same:")
    for name, taken in times.items():
        print(f"  {name:36s} {taken / ROWS * 1e3:8.3f} ms a row   {base / taken:6.1f} times captum's ablation")


def _no_grad(work: Callable[[], object]) -> object:
    with torch.no_grad():
        return work()


if __name__ == "__main__":
    main()
