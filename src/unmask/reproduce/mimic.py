"""Mimic beside its rivals, and its ablation: our own tables, made like those of the papers."""

from __future__ import annotations

from unmask.reproduce.tables import CONTROLS, Table

__all__ = ["TABLES"]

METRICS = ("fs-m", "fu-m", "approximator", "reading", "encoding-share")
RIVALS = (*CONTROLS, "gradient-x-input", "integrated-gradients", "l2x", "l2x+feedback", "real-x", "meed", "mimic")
ABLATION = (
    "mimic",
    "mimic+mu=0",
    "mimic+mu=3",
    "mimic+lam=0",
    "mimic+full",
    "mimic+random-masks",
    "mimic+k-hot",
    "mimic+gumbel-topk",
    "mimic-without-output",
    "real-x",
)

TABLES = (
    Table("front", "digits", "image", 8, "zero", METRICS, (*RIVALS, "mimic+mu=3"), small=True),
    Table("front-mean", "digits", "image", 8, "mean", METRICS, RIVALS, small=True),
    Table("front", "mnist-3-8", "image", 25, "zero", METRICS, RIVALS),
    Table("front", "fashion-pullover-shirt", "image", 64, "zero", METRICS, RIVALS),
    Table("front-mean", "fashion-pullover-shirt", "image", 64, "mean", METRICS, RIVALS),
    Table("front", "imdb", "words", 10, "pad", METRICS, RIVALS),
    Table("ablation", "digits", "image", 8, "zero", METRICS, ABLATION, small=True),
)
