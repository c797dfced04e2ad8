"""Findings that no audit made: every kind of example, every kind of check, all three verdicts."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from unmask.drawing import Row
from unmask.heat import Heat
from unmask.types import Example, Findings, Result, Verdict

KEYS = ["explanation", "check", "value", "low", "high", "null", "better", "passed", "n", "seconds"]  # of a JSON row
CONTROLS = ("random", "first-k", "last-k")
NAMES = ("l2x", "integrated-gradients", "gradient", "occlusion", "cheater", *CONTROLS)

LEVELS = {  # check: direction, then one value for each of NAMES
    "fs-m": ("higher", 0.871, 0.952, 0.713, 0.911, 0.248, 0.342, 0.203, 0.187),
    "fu-m": ("lower", 0.412, 0.061, 0.395, 0.118, 0.936, 0.874, 0.921, 0.933),
    "sufficiency": ("lower", 0.112, 0.043, 0.261, 0.081, 0.661, 0.587, 0.701, 0.712),
    "comprehensiveness": ("higher", 0.481, 0.832, 0.522, 0.774, 0.052, 0.114, 0.071, 0.066),
    "encoding-gain": ("lower", 0.421, 0.291, 0.082, 0.322, 1.182, 0.021, -0.004, 0.002),
    "encoding-share": ("lower", 0.214, 0.128, 0.041, 0.139, 0.561, 0.013, -0.002, 0.001),
    "reading": ("higher", 0.763, 0.948, 0.781, 0.902, 0.492, 0.542, 0.403, 0.391),
    "mask-only": ("none", 0.851, 0.998, 0.502, 0.991, 0.472, 0.102, 0.098, 0.098),
    "approximator-gap": ("lower", 0.104, 0.021, 0.044, 0.031, 0.692, 0.011, 0.004, 0.006),
    "eval-x": ("higher", -0.812, -0.214, -0.702, -0.318, -1.612, -1.502, -1.902, -1.931),
    "seconds": ("lower", 0.00021, 0.0142, 0.00093, 0.0381, 0.00002, 0.00001, 0.00001, 0.00001),
}
QUESTIONS = {
    "Is it enough, is it needed?": ("fs-m", "fu-m", "sufficiency", "comprehensiveness", "insertion"),
    "Does the mask smuggle the answer?": (
        "encoding-gain",
        "encoding-share",
        "reading",
        "mask-only",
        "approximator-gap",
        "eval-x",
    ),
    "Do the methods agree?": ("agreement",),
    "What does it cost?": ("seconds",),
}
DEFINITIONS = {
    "fs-m": "How often the model keeps its answer when it sees only what the explanation kept.",
    "fu-m": "How often the model keeps its answer when it sees only what the explanation left out.",
    "sufficiency": "How much probability is lost when only the kept units stay.",
    "comprehensiveness": "How much probability is lost when the kept units are removed.",
    "insertion": "Probability of the class as units return, best first.",
    "encoding-gain": "What the choice of units tells about the answer beyond the values shown, in nats.",
    "encoding-share": "The part of what the explanation tells that is told by the choice alone.",
    "reading": "How often a neutral judge finds the answer from the values shown.",
    "mask-only": "How often the answer is found from the positions alone; honest masks can score high.",
    "approximator-gap": "How much better the explainer's own predictor does than the model on the same units.",
    "eval-x": "Mean log-likelihood of the answer under the neutral judge, in nats.",
    "agreement": "Share of the kept units that two explanations have in common.",
    "seconds": "Time for each example.",
}
VERDICTS = (
    Verdict(
        "l2x",
        "care",
        (
            "The choice of units gives away part of the answer: 21% of what it tells, against 1% for random units.",
            "What it shows still tells a neutral judge more than random units do (0.76 against 0.54).",
        ),
    ),
    Verdict("integrated-gradients", "trust", ("The kept units are enough (0.95 against 0.34 for random units).",)),
    Verdict("gradient", "care", ("The kept units change when the seed changes (overlap 0.41).",)),
    Verdict("occlusion", "trust", ("The kept units are enough (0.91) and needed (0.12 without them).",)),
    Verdict(
        "cheater",
        "reject",
        (
            "The kept units are no better than random ones, neither enough nor needed.",
            "The mask smuggles the answer: 56% of what it tells is told by the choice, and the values shown tell a "
            "neutral judge less than random ones.",
        ),
    ),
)


def findings() -> Findings:
    """An audit of the digits task as it might have come out."""
    return Findings(
        task="digits: which of ten digits is drawn (8 x 8 pixels)",
        model="mlp 64-128-10, accuracy 0.978",
        rows=(*_levels(), *_by_class(), *_curves(), *_agreement()),
        verdicts=VERDICTS,
        controls=CONTROLS,
        examples=examples(),
        heats=heats(),
        settings=_settings(),
        questions=QUESTIONS,
        definitions=DEFINITIONS,
    )


PLACES = {
    "people": {"1": 0.0, "2": 0.3, "3": 0.5, "4": 0.2},
    "cheater": {"1": 1.0, "2": 0.0, "3": 0.0, "4": 0.0},
    "random": {"1": 0.25, "2": 0.25, "3": 0.26, "4": 0.24},
}
LEARNING = {"cheater": {"accuracy": [0.5, 0.7, 0.8], "first": [0.3, 0.9, 1.0]}}


def rationales() -> Findings:
    """The same audit where people marked what decides, and something explains itself."""
    base = findings()
    marked = [e for e in base.examples if e.row.kind in ("words", "sentences")]
    shown = [replace(e, row=replace(e.row, marked=[i % 3 == 0 for i in range(len(e.row.values))])) for e in marked]
    return replace(base, places=PLACES, learning=LEARNING, examples=tuple(shown))


def hostile() -> Findings:
    """The same with markup wherever a user's text can stand."""
    evil = "<script>alert('x')</script>"
    base = findings()
    example = Example(evil, evil, replace(words(0), label=evil, values=[evil] * 24), note=evil)
    row = replace(base.rows[0], explanation=evil, check=evil, note=evil)
    return replace(
        base,
        task=evil,
        model=evil,
        rows=(*base.rows, row, replace(row, check="fs-m"), replace(row, check="reading")),
        verdicts=(Verdict(evil, "reject", (evil,)),),
        examples=(example,),
        heats=(Heat(evil, evil, (evil, evil), ((evil, (0.4, 0.6)), (evil, (0.5, 0.5))), evil),),
        settings={evil: {evil: [evil]}},
        questions={**QUESTIONS, evil: (evil,)},
        definitions={evil: evil},
        places={evil: {evil: 1.0}},
        learning={evil: {"accuracy": [0.5, 0.6], "first": [0.1, 0.2]}},
    )


def result(explanation: str, check: str, value: float, better: str = "higher", **changes: object) -> Result:
    fields = {"low": value - 0.02, "high": value + 0.02, "null": 0.342, "passed": None, "n": 500, "seconds": 0.4}
    return Result(explanation, check, value, better=better, **{**fields, **changes})  # type: ignore[arg-type]


def _levels() -> list[Result]:
    rows = []
    for check, (better, *values) in LEVELS.items():
        null = values[NAMES.index("random")]
        for name, value in zip(NAMES, values, strict=True):
            half = 0.018 + 0.03 * abs(value) if check != "seconds" else 0.1 * value
            passed = None if name in CONTROLS else _passed(check, value, null)
            top = 1.0 if abs(value) <= 1 else value + half
            span = {"low": value - half, "high": min(value + half, top), "null": null, "passed": passed}
            rows.append(result(name, check, value, better, **span))
    return rows


def _passed(check: str, value: float, null: float) -> bool | None:
    if check == "encoding-share":
        return value < 0.2
    return {"fs-m": value > null, "fu-m": value < null, "reading": value > null}.get(check)


def _by_class() -> list[Result]:
    draw = random.Random(1)
    base = dict(zip(NAMES, LEVELS["fs-m"][1:], strict=True))
    spread = [(name, c, min(1.0, max(0.0, base[name] + draw.uniform(-0.2, 0.12)))) for c in range(10) for name in NAMES]
    return [result(name, f"fs-m@class={c}", value) for name, c, value in spread]


def _curves() -> list[Result]:
    rows = []
    for name, speed in (("l2x", 3.1), ("integrated-gradients", 6.0), ("cheater", 0.8), ("random", 1.2)):
        for step in range(11):
            value = 1 - math.exp(-speed * step / 10)
            rows.append(result(name, "insertion", value, at=step / 10, null=1 - math.exp(-1.2 * step / 10)))
    return rows


def _agreement() -> list[Result]:
    draw = random.Random(2)
    pairs = [(a, b) for a in NAMES[:5] for b in NAMES[:5] if a != b]
    return [result(a, f"agreement@explanation={b}", draw.uniform(0.05, 0.8), "none", null=0.125) for a, b in pairs]


def _settings() -> dict[str, object]:
    return {
        "k": 8,
        "n": 500,
        "split": "test",
        "seed": 0,
        "removal": "mean",
        "judge": {"networks": 3, "folds": 5, "seed": 11, "loss": float("nan")},
        "thresholds": {"encoding-share": 0.2, "alpha": 0.05},
        "versions": {"python": "3.11", "torch": "2.13.0"},
    }


def examples() -> tuple[Example, ...]:
    """One input of each kind as several explanations see it."""
    names = ("l2x", "integrated-gradients", "cheater", "random")
    out = []
    for seed, name in enumerate(names):
        out += [Example(name, "typical digit", image(seed)), Example(name, "typical review", words(seed))]
        out += [Example(name, "worst tumour", table(seed), note="the model is unsure: 0.52")]
        out += [Example(name, "typical photo", photo(seed)), Example(name, "typical beer", sentences(seed))]
    return tuple(out)


def heats() -> tuple[Heat, ...]:
    """Attention over a short and a long row, as it is and under five draws of noise."""
    draw = random.Random(5)
    found = []
    for at, words in enumerate(
        ("a slow start , but superb", "the acting is superb and the last twenty minutes of it are")
    ):
        texts = (*words.split(), *["simply-unforgettable", "moments"] * (4 * at))
        base = [draw.gauss(0, 1) for _ in texts]
        lines = []
        for name in ("as it is", *(f"noise {i + 1}" for i in range(5))):
            raised = [math.exp(b + draw.gauss(0, 0.2)) for b in base]
            lines.append((name, tuple(r / sum(raised) for r in raised)))
        found.append(Heat("attention", f"row {at + 1}, the model says positive", texts, tuple(lines), "JSD 0.0042"))
    return tuple(found)


def _marks(d: int, k: int, seed: int) -> tuple[list[float], list[bool]]:
    draw = random.Random(seed)
    scores = [draw.gauss(0.1, 1) ** 3 for _ in range(d)]
    top = sorted(range(d), key=lambda u: -abs(scores[u]))[:k]
    return scores, [u in top for u in range(d)]


def image(seed: int) -> Row:
    """An eight by eight digit, each pixel a unit."""
    digit = ["00397000", "0af8fb00", "3e5008e0", "58000580", "87000850", "4b002870", "0e5ab700", "06eb8000"]
    scores, kept = _marks(64, 8, seed)
    names = [f"pixel {p // 8},{p % 8}" for p in range(64)]
    values = [int(c, 16) / 15 for line in digit for c in line]
    return Row("image", values, scores, kept, "0", names, list(range(64)), [1, 8, 8])


def photo(seed: int) -> Row:
    """An RGB image of 96 by 96 pixels, its units the patches of 12 by 12."""
    side, patch = 96, 12
    values = [
        0.5 + 0.5 * math.sin((x * (c + 1) + y * (3 - c)) / 23)
        for c in range(3)
        for y in range(side)
        for x in range(side)
    ]
    per = side // patch
    owner = [(y // patch) * per + x // patch for y in range(side) for x in range(side)]
    scores, kept = _marks(per * per, 9, seed)
    return Row("image", values, scores, kept, "waves", [f"patch {u}" for u in range(per * per)], owner, [3, side, side])


def words(seed: int) -> Row:
    """A short review."""
    text = (
        "a slow start , but the acting is superb and the last twenty minutes are simply unforgettable . do not miss it"
    )
    scores, kept = _marks(24, 5, seed)
    return Row("words", [*text.split(), "this", "year"][:24], scores, kept, "positive")


def sentences(seed: int) -> Row:
    """A review of five sentences."""
    text = "Pours a hazy amber.|Smells of citrus and pine.|Thin in the mouth.|Bitter, but clean.|I would buy it again."
    scores, kept = _marks(5, 2, seed)
    return Row("sentences", text.split("|"), scores, kept, "aroma: good")


def table(seed: int) -> Row:
    """Twelve columns, one value missing, the last variable spread over three columns."""
    names = [
        "radius",
        "texture",
        "perimeter",
        "area",
        "smoothness",
        "compactness",
        "concavity",
        "points",
        "symmetry",
        "fractal",
        "site",
    ]
    values = [17.99, 10.38, 122.8, 1001.0, float("nan"), 0.2776, 0.3001, 0.1471, 0.2419, 0.0787, 0.0, 1.0, 0.0]
    scores, kept = _marks(11, 4, seed)
    return Row("table", values, scores, kept, "malignant", names, [*range(11), 10, 10], [13])
