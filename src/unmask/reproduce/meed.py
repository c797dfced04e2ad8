"""Liang et al. 2020: Tables 1 to 4 and the sanity check, per cent; SEN is in per cent too."""

from __future__ import annotations

from unmask.reproduce.tables import CONTROLS, Table

__all__ = ["TABLES"]

FOUR = ("fs-m", "fu-m", "fs-a", "fu-a")
CLASSIC = ("gradient", "gradient-x-input-abs", "lime", "kernel-shap", "cxplain", "infd", "l2x", "vibi", "meed")
OURS = ("gradient-x-input", "integrated-gradients", "l2x+feedback", "l2x+feedback+by-model", "real-x", "mimic")


def _figures(rows: str, metrics: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """One row a line: its name, then its figures in the order of the metrics."""
    table = {}
    for line in rows.strip().splitlines():
        name, *numbers = line.split()
        table[name] = dict(zip(metrics, map(float, numbers), strict=True))
    return table


IMDB = _figures(
    """
    gradient              85.58 87.58 86.18 85.79
    gradient-x-input-abs  87.31 86.25 87.88 83.86
    lime                  89.75 82.13 88.53 82.96
    kernel-shap           50.17 99.16 50.24 99.50
    cxplain               90.60 80.01 90.70 83.04
    infd                  40.50 99.80 64.50 96.70
    l2x                   89.23 82.90 89.05 83.81
    vibi                  90.79 80.36 90.12 82.57
    meed                  98.48 59.05 98.70 81.83
    """,
    FOUR,
)
ABLATION = _figures(
    """
    meed                  98.48 59.05 98.70 81.83
    meed-without-output   92.47 54.28 91.99 79.82
    meed-without-ail      78.31 97.62 99.33 94.42
    meed-without-prior    98.38 60.22 98.97 81.07
    """,
    FOUR,
)
MNIST = _figures(
    """
    gradient              98.19 68.75 99.55 99.55 139
    gradient-x-input-abs  99.45 67.64 99.55 99.24 120
    lime                  80.37 99.75 82.46 99.80 62.6
    kernel-shap           92.74 90.83 98.87 99.75 87.2
    cxplain               99.40 64.77 99.70 99.24 91.8
    infd                  89.62 96.62 99.95 99.95 101
    l2x                   91.38 91.18 98.54 99.65 6.90
    vibi                  98.29 86.29 99.29 99.65 6.35
    meed                  99.04 74.70 99.80 99.70 6.11
    meed+noisy-logit-max  99.04 74.70 99.80 99.70 6.11
    """,
    (*FOUR, "sen"),
)
FASHION = _figures(
    """
    gradient              58.60 76.20 93.70 95.45 2528
    gradient-x-input-abs  62.15 66.25 93.35 94.45 2662
    lime                  75.63 94.30 73.60 97.35 61.03
    kernel-shap           63.29 55.78 93.97 95.58 84.59
    cxplain               59.65 16.50 94.85 95.10 107
    infd                  100.0 45.80 100.0 100.0 87.37
    l2x                   77.30 87.30 89.85 96.00 1.76
    vibi                  84.10 70.85 91.90 94.40 17.36
    meed+swd              97.80 66.65 99.80 99.65 0.70
    meed+swd+noisy-logit-max  97.80 66.65 99.80 99.65 0.70
    """,
    (*FOUR, "sen"),
)

PIXELS = ("fs-m", "fu-m", "fs-a", "fu-a", "approximator", "sen-legacy", "sen")
MEED_FORMS = ("meed", "meed+swd", "meed+noisy-logit-max", "meed+swd+noisy-logit-max")
OTHERS = ("meed+noisy-logit-max", "meed+released", "meed-without-prior", "meed+weight=1")
RELAXED = (
    "The paper describes Eq. 5; its figures come from its released code, which relaxes otherwise (noisy-logit-max). "
    "They stand beside both."
)


def _legacy(figures: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The published SEN is the last of 50 draws: it stands beside ours of that form."""
    return {row: {("sen-legacy" if m == "sen" else m): v for m, v in f.items()} for row, f in figures.items()}


TABLES = (
    Table("1", "imdb", "words", 10, "pad", (*FOUR, "approximator"), (*CONTROLS, *CLASSIC, *OURS), IMDB),
    Table(
        "2",
        "imdb",
        "words",
        10,
        "pad",
        (*FOUR, "approximator"),
        (*CONTROLS, "gradient", "gradient-x-input", "gradient-x-input-abs", *ABLATION, "meed+prior"),
        ABLATION,
        "The paper's prior ablation compares two runs without a prior: its code has none on texts, and so has meed "
        "here; meed+prior is what the paper describes.",
    ),
    Table(
        "sanity",
        "imdb",
        "words",
        10,
        "pad",
        ("randomized-model", "permuted-labels"),
        (*CONTROLS, "gradient", "gradient-x-input", "gradient-x-input-abs", "meed"),
        {"meed": {"randomized-model": 9.39, "permuted-labels": 10.25}},
        "Cosine of masks after the explainer is fitted again; the random row is the chance level.",
    ),
    Table(
        "3",
        "mnist-3-8",
        "image",
        25,
        "zero",
        PIXELS,
        (*CONTROLS, *CLASSIC, *OTHERS, *OURS),
        _legacy(MNIST),
        RELAXED,
    ),
    Table(
        "4",
        "fashion-pullover-shirt",
        "image",
        64,
        "zero",
        PIXELS,
        (*CONTROLS, *CLASSIC[:-1], *MEED_FORMS, "meed+released", "meed+weight=1", *OURS),
        _legacy(FASHION),
        f"{RELAXED} All four forms are rows.",
    ),
)
