"""A very small BERT with random weights and a vocabulary of a few pieces, made here: no download, no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film", "the", "##ly", "a", "nice", "##ness"]
LONGEST = 16


def tokenizer(longest: int = LONGEST) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    named = {f"{name}_token": token for name, token in special.items()}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=longest, **named)


def bert(labels: tuple[str, ...] = ("neg", "pos"), seed: int = 0, **more: Any) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(
        vocab_size=len(PIECES),
        max_position_embeddings=LONGEST,
        id2label=dict(enumerate(labels)),
        label2id={name: i for i, name in enumerate(labels)},
        **sizes,
        **more,
    )
    torch.manual_seed(seed)
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():  # random weights of the usual size say the same to every text
        for p in model.parameters():
            p.mul_(8.0) if p.ndim > 1 else p
    return model


def save(folder: Path, model: Any = None) -> Path:
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer().save_pretrained(folder)
    (model or bert()).save_pretrained(folder)
    return folder
