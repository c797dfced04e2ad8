"""Mimic beside its rivals, and its ablation: our own tables, made like those of the papers."""

from __future__ import annotations

from unmask.reproduce.tables import CONTROLS, Table

__all__ = ["TABLES"]

METRICS = ("fs-m", "fu-m", "approximator", "reading", "encoding-share")
GRADIENTS = ("gradient", "gradient-x-input", "gradient-x-input-abs", "integrated-gradients")
RIVALS = (*CONTROLS, *GRADIENTS, "l2x", "l2x+feedback", "real-x", "meed", "mimic")
NOTE = (
    "Networks of Mimic read the whole image through 128 dense features besides; those of the others are as published. "
    "The ablation on digits has Mimic without."
)
ABLATION = (
    *CONTROLS,
    *GRADIENTS,
    "mimic",
    "mimic+mu=0",
    "mimic+mu=3",
    "mimic+lam=0",
    "mimic+mu-alone",
    "mimic+full",
    "mimic+random-masks",
    "mimic+k-hot",
    "mimic+gumbel-topk",
    "mimic-without-output",
    "mimic-without-context",
    "real-x",
)

TABLES = (
    Table("front", "digits", "image", 8, "zero", METRICS, (*RIVALS, "mimic+mu=3", "auto"), {}, NOTE, small=True),
    Table("front-mean", "digits", "image", 8, "mean", METRICS, RIVALS, {}, NOTE, small=True),
    Table("front", "mnist-3-8", "image", 25, "zero", METRICS, RIVALS, {}, NOTE),
    Table("front", "fashion-pullover-shirt", "image", 64, "zero", METRICS, RIVALS, {}, NOTE),
    Table("front-mean", "fashion-pullover-shirt", "image", 64, "mean", METRICS, RIVALS, {}, NOTE),
    Table("front", "imdb", "words", 10, "pad", METRICS, RIVALS),
    Table("ablation", "digits", "image", 8, "zero", METRICS, ABLATION, small=True),
)
