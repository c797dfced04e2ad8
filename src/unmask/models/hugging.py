"""Hugging Face classifiers of texts: folders, pipelines, models with their tokenizer; what is selected are words.

The text is put together again from the words of a row, so removal happens before the tokenizer. What the network gets
is one tensor: the id of each piece of a word and, packed into the same number, the word it is a piece of. Special
tokens belong to no word and can never be selected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unmask import devices, progress
from unmask.errors import InputError
from unmask.masking.removals import PAD
from unmask.models.wrapped import Wrapped
from unmask.types import Inputs

__all__ = ["Pieces", "Reading", "hugging_model", "is_hugging"]

BASE = 2**32  # more than any vocabulary holds: a packed number is id + BASE * place
BEYOND, SPECIAL, FIRST = 0, 1, 2  # places: beyond the end of the text, a special token, then the words
SEP = " "


def is_hugging(model: Any) -> bool:
    """Whether this is a folder that Hugging Face wrote, one of its models, or a pipeline."""
    if isinstance(model, (str, Path)):
        return Path(model).is_dir()
    home = type(model).__module__.partition(".")[0]
    return home == "transformers" or _is_pipeline(model) or _is_model(model)


def _is_pipeline(model: Any) -> bool:
    return all(hasattr(model, name) for name in ("model", "tokenizer", "task"))


def _is_model(model: Any) -> bool:
    return isinstance(model, nn.Module) and hasattr(getattr(model, "config", None), "id2label")


def hugging_model(
    source: Any, tokenizer: Any = None, device: str = "auto", removal: str | None = None, attention: str | None = None
) -> Wrapped:
    """A wrapped sequence classifier; its classes are named as in its configuration."""
    if attention is not None:
        raise InputError(f"{type(source).__name__} gives its attention out by itself, got {attention!r}; leave it out")
    name, model, tokenizer = _parts(source, tokenizer)
    labels = _labels(name, model)
    place = devices.pick(device)
    net = Reading(model).to(place).eval()
    pieces = Pieces(tokenizer, _longest(model, tokenizer))
    fast = bool(getattr(tokenizer, "is_fast", False))
    return Wrapped(
        name=name,
        call=net,
        feed=lambda rows: pieces.read(rows).to(place),
        outputs="logits",
        removal=removal,
        classes=len(labels),
        labels=labels,
        module=net if fast else None,
        mask_token=tokenizer.mask_token,
        takes="text",
        batch=64 if tokenizer.pad_token is not None else 1,
        pads=True,
        pieces=pieces if fast else None,
        details={"framework": "transformers", "reads": pieces.said},
    )


def _parts(source: Any, tokenizer: Any) -> tuple[str, Any, Any]:
    """Name, model and tokenizer of a folder, of a pipeline, or of a model that came with its tokenizer."""
    own = None if isinstance(source, (str, Path)) else source.tokenizer if _is_pipeline(source) else tokenizer
    if tokenizer is not None and tokenizer is not own:
        raise InputError("a folder or a pipeline brings its own tokenizer, got another one; leave tokenizer out")
    if isinstance(source, (str, Path)):
        return (Path(source).absolute().name, *_loaded(Path(source)))
    if _is_pipeline(source):
        if source.task not in ("text-classification", "sentiment-analysis"):
            raise InputError(f"a pipeline must classify texts, got one for {source.task!r}; wrap a callable around it")
        return type(source.model).__name__, source.model, source.tokenizer
    if not hasattr(tokenizer, "mask_token"):
        raise InputError(
            f"{type(source).__name__} needs its tokenizer: wrap(model, tokenizer=AutoTokenizer.from_pretrained(...))"
        )
    return type(source).__name__, source, tokenizer


def _loaded(folder: Path) -> tuple[Any, Any]:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} holds no config.json: expected a folder written by save_pretrained")
    try:
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise InputError('Hugging Face models need the package transformers; run pip install "unmask[hf]"') from error
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        _refuse_other(folder, config)
        options: dict[str, Any] = {"local_files_only": True, "use_safetensors": True, "attn_implementation": "eager"}
        model = AutoModelForSequenceClassification.from_pretrained(folder, **options)
        return model, AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except InputError:
        raise
    except Exception as error:  # whatever is wrong with the files
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{folder} cannot be read as a classifier of texts ({first}); expected what save_pretrained writes: "
            "config, tokenizer and safetensors"
        ) from error


def _refuse_other(folder: Path, config: Any) -> None:
    """A folder whose model is no classifier would get a head of random weights."""
    made = list(config.architectures or [])
    if not any(name.endswith("ForSequenceClassification") for name in made):
        raise InputError(
            f"{folder} holds {', '.join(made) or 'an unknown model'}, no classifier of texts "
            "(…ForSequenceClassification); train one on it first"
        )


def _labels(name: str, model: Any) -> tuple[str, ...]:
    config = model.config
    if config.num_labels < 2 or config.problem_type in ("regression", "multi_label_classification"):
        raise InputError(f"{name} predicts {config.problem_type or 'one number'}, not one of several classes")
    return tuple(str(config.id2label.get(i, i)) for i in range(config.num_labels))


def _longest(model: Any, tokenizer: Any) -> int:
    """How many pieces the model reads at most; some models begin to count positions after their padding's number."""
    most = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
            most = part.num_embeddings - part.padding_idx - 1
    return int(min(most, tokenizer.model_max_length))


class Reading(nn.Module):
    """Packed pieces -> logits. The vectors of words stand first, so that whoever looks for an embedding finds these."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.words = model.get_input_embeddings()  # type: ignore[operator]
        self.model = model

    def forward(self, packed: Tensor) -> Tensor:
        ids, place = packed % BASE, packed // BASE
        found: Tensor = self.model(input_ids=ids, attention_mask=(place != BEYOND).long()).logits
        return found


@dataclass
class Pieces:
    """What the tokenizer makes of rows, and how its pieces belong to words (or sentences, where those are units)."""

    tokenizer: Any
    longest: int
    said: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.said.update({"pieces at most": self.longest, "texts cut": False})

    @property
    def pads(self) -> bool:
        """Whether texts of different lengths can be read together."""
        return self.tokenizer.pad_token is not None

    def read(self, rows: Inputs) -> Tensor:
        """(n, pieces) packed; what is beyond the longest text the model reads is cut, and said."""
        texts, owners = zip(*(_spelled(row) for row in rows), strict=True)
        fast = bool(getattr(self.tokenizer, "is_fast", False))
        made = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.longest,
            padding=self.pads,
            return_offsets_mapping=fast,
            return_tensors="pt",
        )
        ids, there = made["input_ids"].long(), made["attention_mask"].bool()
        if not ids.shape[1]:  # nothing is left of the text, and the tokenizer adds nothing of its own
            end = self.tokenizer.pad_token_id or self.tokenizer.eos_token_id or 0
            return torch.full((len(ids), 1), end + BASE * SPECIAL)
        if fast:
            self._notice(made)
        offsets = made["offset_mapping"].numpy() if fast else np.zeros((*ids.shape, 2), dtype=int)
        place: Tensor = torch.where(there, torch.from_numpy(_places(offsets, owners)), BEYOND)
        packed: Tensor = ids + BASE * place
        return packed

    def _notice(self, made: Any) -> None:
        if not self.said["texts cut"] and any(part.overflowing for part in made.encodings):
            self.said["texts cut"] = True
            progress.warn(f"some texts are longer than the {self.longest} pieces the model reads: the rest is cut off")

    def gather(self, values: Tensor, packed: Tensor, d: int) -> Tensor:
        """Values of pieces (n, pieces), summed to (n, d) over words; what special tokens have belongs to nobody."""
        place = (packed // BASE - FIRST).to(values.device)
        live = (place >= 0) & (place < d)
        total = torch.zeros(len(values), d, dtype=values.dtype, device=values.device)
        return total.scatter_add_(1, place.clamp(0, max(d - 1, 0)), torch.where(live, values, 0.0))

    def emptied(self, packed: Tensor, removal: str) -> Tensor:
        """The same pieces, those of words replaced by the mask token, or by padding where removal means that."""
        tokenizer = self.tokenizer
        hidden = tokenizer.mask_token_id if removal == "mask-token" else tokenizer.pad_token_id
        place = packed // BASE
        return torch.where(place >= FIRST, place * BASE + (hidden or 0), packed)

    def attended(self, net: nn.Module, packed: Tensor) -> Tensor:
        """(n, pieces) attention of the first piece in the last layer, mean over heads."""
        model: Any = net.model
        was = model.config._attn_implementation
        model.set_attn_implementation("eager")  # the others give no weights out
        try:
            there = (packed // BASE != BEYOND).long()
            with torch.no_grad():
                found = model(input_ids=packed % BASE, attention_mask=there, output_attentions=True).attentions
        finally:
            model.set_attn_implementation(was)
        if not found:
            raise InputError(f"{type(model).__name__} gives no attention out")
        weights: Tensor = found[-1].mean(1)[:, 0]
        return weights


def _spelled(row: Inputs) -> tuple[str, np.ndarray]:
    """The text of a row, and for each of its characters the unit it belongs to; hidden words leave no trace."""
    units = ((i, word) for i, unit in enumerate(row) for word in ([unit] if isinstance(unit, str) else unit))
    shown = [(i, word) for i, word in units if word != PAD]
    lengths = [len(word) + len(SEP) for _, word in shown]
    return SEP.join(word for _, word in shown), np.repeat([i for i, _ in shown], lengths).astype(np.int64)


def _places(offsets: np.ndarray, owners: tuple[np.ndarray, ...]) -> np.ndarray:
    """(n, pieces) the place of each piece: that of its last character, as a piece may begin with a blank."""
    width = max(map(len, owners)) + 1
    table = np.stack([np.pad(owner, (0, width - len(owner)), constant_values=-1) for owner in owners])
    start, end = offsets[..., 0], offsets[..., 1]
    unit = np.take_along_axis(table, np.clip(end - 1, 0, width - 1), 1)
    return np.where((end > start) & (unit >= 0), unit + FIRST, SPECIAL)
