"""Attention classifiers: training them, stabilising them, leading them astray; weights serve as explanations."""

from __future__ import annotations

from unmask.entries import Method

__all__ = ["METHODS"]

METHODS: dict[str, Method] = {
    "attention": Method("plain:Attention", "the attention weights of a model that has them", needs_gradients=True),
    "seat": Method(
        "seat:SEAT",
        "a copy of an attention model that stands small changes, near to the old answers and the old top words",
        "Hu et al. 2023",
        needs_gradients=True,
    ),
    "seat-words": Method(
        "seat:SEAT",
        "the same, near to the old ones also where word vectors are moved: attention itself is steadier (ours)",
        "Hu et al. 2023, Miyato et al. 2017",
        settings={"lam_words": 1.0, "lam_overlap": 30.0},
        needs_gradients=True,
    ),
    "seat-development": Method(
        "coded:CodedSEAT",
        "what an older version of SEAT's code does: total variation from the old answer, both times",
        "Hu et al. 2023, code",
        settings={"form": "development", "radius": 0.05, "lam_overlap": 100.0},
        needs_gradients=True,
    ),
    "seat-released": Method(
        "coded:CodedSEAT",
        "what SEAT's released code does: labels under attack on word vectors; the old model has no part in it",
        "Hu et al. 2023, code",
        needs_gradients=True,
    ),
    "word-at": Method(
        "words:WordAT",
        "an attention model trained on against moved word vectors",
        "Miyato et al. 2017",
        needs_gradients=True,
    ),
    "word-iat": Method(
        "words:WordAT",
        "the same, vectors moved toward other words only",
        "Sato et al. 2018",
        settings={"toward_words": True},
        needs_gradients=True,
    ),
    "attention-rp": Method(
        "perturbed:AttentionAT",
        "an attention model trained on under random attention",
        "Kitada & Iyatomi 2021",
        settings={"way": "random"},
        needs_gradients=True,
    ),
    "attention-at": Method(
        "perturbed:AttentionAT",
        "an attention model trained on against moved attention",
        "Kitada & Iyatomi 2021",
        needs_gradients=True,
    ),
    "attention-iat": Method(
        "perturbed:AttentionAT",
        "the same, moved along differences of attention only",
        "Kitada & Iyatomi 2021",
        settings={"way": "differences"},
        needs_gradients=True,
    ),
}
