"""Post-hoc explainers, one file per paper; each is a dataclass with `fit(model, data)` and `explain(x)`."""

from __future__ import annotations

from unmask.entries import Method

__all__ = ["METHODS"]


METHODS: dict[str, Method] = {
    "random": Method("baselines:Control", "k units at random", settings={"control": "random"}),
    "first-k": Method("baselines:Control", "the first k units", settings={"control": "first-k"}),
    "last-k": Method("baselines:Control", "the last k units", settings={"control": "last-k"}),
    "cheater": Method("cheater:Cheater", "a deliberate liar: the class is in which uninformative units it keeps"),
    "gradient": Method(
        "gradients:Gradient",
        "size of the gradient of the target's log-probability",
        "Simonyan et al. 2014",
        needs_gradients=True,
    ),
    "gradient-x-input": Method(
        "gradients:GradientXInput", "gradient times input, signed", "Shrikumar et al. 2016", needs_gradients=True
    ),
    "gradient-x-input-abs": Method(
        "gradients:GradientXInput",
        "gradient times input, absolute values as in the published tables",
        "Shrikumar et al. 2016",
        settings={"absolute": True},
        needs_gradients=True,
    ),
    "integrated-gradients": Method(
        "integrated:IntegratedGradients",
        "gradients along the way from what is removed to the input, signed",
        "Sundararajan et al. 2017",
        needs_gradients=True,
    ),
    "occlusion": Method(
        "occlusion:Occlusion", "what the target loses when one unit is removed", "Zeiler & Fergus 2014"
    ),
    "smoothgrad": Method(
        "smoothgrad:SmoothGrad",
        "mean gradient of noisy copies, signed",
        "Smilkov et al. 2017",
        needs_gradients=True,
    ),
    "lime": Method("lime:LIME", "a line fitted to what the model says to random masks", "Ribeiro et al. 2016"),
    "kernel-shap": Method(
        "kernel_shap:KernelSHAP", "Shapley values of showing a unit, by least squares", "Lundberg & Lee 2017"
    ),
    "lime-package": Method(
        "packages:Package",
        "as lime, by LIME's own package, row by row (extra peers)",
        "Ribeiro et al. 2016",
        settings={"package": "lime"},
    ),
    "shap-package": Method(
        "packages:Package",
        "as kernel-shap, by SHAP's own package, row by row (extra peers)",
        "Lundberg & Lee 2017",
        settings={"package": "shap"},
    ),
    "infd": Method("infd:INFD", "the scores of least infidelity, by least squares", "Yeh et al. 2019"),
    "l2x": Method(
        "l2x:L2X", "a selector trained with its approximator to tell what the model says", "Chen et al. 2018"
    ),
    "vibi": Method(
        "vibi:VIBI", "as l2x, and the choice may say no more than it must (information bottleneck)", "Bang et al. 2021"
    ),
    "meed": Method(
        "meed:MEED",
        "sees the model's answer; what it leaves out must not tell it (adversarial infidelity learning)",
        "Liang et al. 2020",
    ),
    "mimic": Method(
        "mimic:Mimic", "its approximator learns what the model says to what is shown: a code is worth nothing", "unmask"
    ),
    "invase": Method(
        "invase:INVASE", "a chance for each unit, learned from the reward of hard draws", "Yoon et al. 2019"
    ),
    "real-x": Method(
        "realx:REALX",
        "as invase, against a fixed predictor that learned from random masks",
        "Jethani et al. 2021",
    ),
    "cxplain": Method(
        "cxplain:CXPlain", "learned shares of what the answer loses without a unit", "Schwab & Karlen 2019"
    ),
    "fastshap": Method("fastshap:FastSHAP", "Shapley values of all classes in one pass", "Jethani et al. 2022"),
    "sequential": Method(
        "sequential:Sequential",
        "each next unit is chosen from the values already shown: cannot encode the answer",
        "after Covert et al. 2023",
    ),
}
