"""MNIST 3 against 8 with 25 pixels, zero removal: FS-M and FU-M beside the published values, in per cent."""

from __future__ import annotations

from typing import Any

from common import Record, rounded
from unmask import api
from unmask.data import load
from unmask.methods import make
from unmask.models import shown
from unmask.training import Recipe

K = 25
PUBLISHED = {  # Liang et al. 2020, Table 3; the gradient rows there take absolute values
    "l2x": (91.38, 91.18),
    "gradient": (98.19, 68.75),
    "gradient-x-input-abs": (99.45, 67.64),
}
SETTINGS: dict[str, dict[str, Any]] = {"l2x": {"recipe": Recipe(epochs=12, batch=128, rate=1.0, optimizer="adadelta")}}
METHODS = (
    "l2x",
    "gradient",
    "gradient-x-input",
    "gradient-x-input-abs",
    "integrated-gradients",
    "random",
    "first-k",
    "last-k",
)


def main() -> None:
    record = Record("mnist-3-8")
    data = load("mnist-3-8", seed=0)
    recipe = Recipe(epochs=12, batch=128, rate=1.0, optimizer="adadelta")
    model = api.train_model(data, recipe=recipe, removal="zero")

    def measure(method: str) -> dict[str, Any]:
        explainer = make(method, K, "zero", SETTINGS.get(method)).fit(model, data)
        e = explainer.explain(data.test.x)
        removal = explainer.task_.removal
        same = shown(model, removal, data.test.x, e.kept).argmax(1) == e.target
        left = shown(model, removal, data.test.x, e.valid & ~e.kept).argmax(1) == e.target
        paper = PUBLISHED.get(method, (None, None))
        return {
            "fs-m": rounded(100 * float(same.float().mean()), 2),
            "fs-m published": paper[0],
            "fu-m": rounded(100 * float(left.float().mean()), 2),
            "fu-m published": paper[1],
            "fs-m by class": [rounded(100 * float(same[e.target == c].float().mean()), 2) for c in (0, 1)],
            "approximator": None
            if not hasattr(explainer, "approximated")
            else rounded(100 * float((explainer.approximated(data.test.x, e.kept) == e.target).float().mean()), 2),
        }

    rows = {method: record.entry(method, lambda method=method: measure(method)) for method in METHODS}
    record.summary = {"model accuracy": model.details["test accuracy"], "test rows": len(data.test), "k": K}
    record.save()
    print(f"{'':22s} {'FS-M':>7s} {'paper':>7s} {'FU-M':>7s} {'paper':>7s}   FS-M by class")
    for method, row in rows.items():
        paper = [row[f"{check} published"] or "-" for check in ("fs-m", "fu-m")]
        numbers = f"{row['fs-m']:7.2f} {paper[0]!s:>7s} {row['fu-m']:7.2f} {paper[1]!s:>7s}"
        print(f"{method:22s} {numbers}   {row['fs-m by class']}")


if __name__ == "__main__":
    main()
