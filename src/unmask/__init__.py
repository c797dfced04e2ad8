"""Explanations of machine-learning models that can be trusted: trained without shortcuts, audited with controls.

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.api import audit, explainer, fit, load_explainer, rationalize, take, train_attention, train_model
    from unmask.attention.adversary import Adversary
    from unmask.attention.deceiving import Deceptive
    from unmask.attention.diagnostic import diagnose
    from unmask.attention.neutral import Weighting
    from unmask.attention.perturbed import AttentionAT
    from unmask.attention.plain import Attention
    from unmask.attention.schemes import RandomPretraining
    from unmask.attention.seat import SEAT
    from unmask.attention.words import WordAT
    from unmask.data import dataset, load, plant
    from unmask.errors import InputError, NotFittedError, TrainingError, UnmaskError
    from unmask.explainers.cxplain import CXPlain
    from unmask.explainers.fastshap import FastSHAP
    from unmask.explainers.gradients import Gradient, GradientXInput
    from unmask.explainers.infd import INFD
    from unmask.explainers.integrated import IntegratedGradients
    from unmask.explainers.invase import INVASE
    from unmask.explainers.kernel_shap import KernelSHAP
    from unmask.explainers.l2x import L2X
    from unmask.explainers.lime import LIME
    from unmask.explainers.meed import MEED
    from unmask.explainers.mimic import Mimic
    from unmask.explainers.occlusion import Occlusion
    from unmask.explainers.realx import REALX
    from unmask.explainers.sequential import Sequential
    from unmask.explainers.smoothgrad import SmoothGrad
    from unmask.explainers.vibi import VIBI
    from unmask.importance import global_importance
    from unmask.models import wrap
    from unmask.nets.bodies import Nets
    from unmask.rationales.a2r import A2R
    from unmask.rationales.fr import FR
    from unmask.rationales.hardkuma import HardKuma
    from unmask.rationales.mcd import MCD
    from unmask.rationales.mgr import MGR
    from unmask.rationales.rnp import RNP
    from unmask.rationales.three_player import ThreePlayer
    from unmask.report import Report, side_by_side
    from unmask.stored import check, compare, read_report
    from unmask.study import export_study, score_study
    from unmask.training import Recipe
    from unmask.types import Dataset, Explanation

__all__ = [
    "A2R",
    "FR",
    "INFD",
    "INVASE",
    "L2X",
    "LIME",
    "MCD",
    "MEED",
    "MGR",
    "REALX",
    "RNP",
    "SEAT",
    "VIBI",
    "Adversary",
    "Attention",
    "AttentionAT",
    "CXPlain",
    "Dataset",
    "Deceptive",
    "Explanation",
    "FastSHAP",
    "Gradient",
    "GradientXInput",
    "HardKuma",
    "InputError",
    "IntegratedGradients",
    "KernelSHAP",
    "Mimic",
    "Nets",
    "NotFittedError",
    "Occlusion",
    "RandomPretraining",
    "Recipe",
    "Report",
    "Sequential",
    "SmoothGrad",
    "ThreePlayer",
    "TrainingError",
    "UnmaskError",
    "Weighting",
    "WordAT",
    "audit",
    "check",
    "compare",
    "dataset",
    "diagnose",
    "explainer",
    "export_study",
    "fit",
    "global_importance",
    "load",
    "load_explainer",
    "plant",
    "rationalize",
    "read_report",
    "score_study",
    "side_by_side",
    "take",
    "train_attention",
    "train_model",
    "wrap",
]

_HOMES = {
    "unmask.api": (
        "audit",
        "explainer",
        "fit",
        "load_explainer",
        "rationalize",
        "take",
        "train_attention",
        "train_model",
    ),
    "unmask.attention.adversary": ("Adversary",),
    "unmask.attention.deceiving": ("Deceptive",),
    "unmask.attention.diagnostic": ("diagnose",),
    "unmask.attention.neutral": ("Weighting",),
    "unmask.attention.perturbed": ("AttentionAT",),
    "unmask.attention.plain": ("Attention",),
    "unmask.attention.schemes": ("RandomPretraining",),
    "unmask.attention.seat": ("SEAT",),
    "unmask.attention.words": ("WordAT",),
    "unmask.data": ("dataset", "load", "plant"),
    "unmask.errors": ("InputError", "NotFittedError", "TrainingError", "UnmaskError"),
    "unmask.explainers.cxplain": ("CXPlain",),
    "unmask.explainers.fastshap": ("FastSHAP",),
    "unmask.explainers.gradients": ("Gradient", "GradientXInput"),
    "unmask.explainers.infd": ("INFD",),
    "unmask.explainers.integrated": ("IntegratedGradients",),
    "unmask.explainers.invase": ("INVASE",),
    "unmask.explainers.kernel_shap": ("KernelSHAP",),
    "unmask.explainers.l2x": ("L2X",),
    "unmask.explainers.lime": ("LIME",),
    "unmask.explainers.meed": ("MEED",),
    "unmask.explainers.mimic": ("Mimic",),
    "unmask.explainers.occlusion": ("Occlusion",),
    "unmask.explainers.realx": ("REALX",),
    "unmask.explainers.sequential": ("Sequential",),
    "unmask.explainers.smoothgrad": ("SmoothGrad",),
    "unmask.explainers.vibi": ("VIBI",),
    "unmask.importance": ("global_importance",),
    "unmask.models": ("wrap",),
    "unmask.nets.bodies": ("Nets",),
    "unmask.rationales.a2r": ("A2R",),
    "unmask.rationales.fr": ("FR",),
    "unmask.rationales.hardkuma": ("HardKuma",),
    "unmask.rationales.mcd": ("MCD",),
    "unmask.rationales.mgr": ("MGR",),
    "unmask.rationales.rnp": ("RNP",),
    "unmask.rationales.three_player": ("ThreePlayer",),
    "unmask.report": ("Report", "side_by_side"),
    "unmask.stored": ("check", "compare", "read_report"),
    "unmask.study": ("export_study", "score_study"),
    "unmask.training": ("Recipe",),
    "unmask.types": ("Dataset", "Explanation"),
}

# The room `audit/` and the call `audit` share a name. Loaded now (it is light), the room cannot take the name later.
importlib.import_module("unmask.audit")
globals().pop("audit")


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'unmask' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
