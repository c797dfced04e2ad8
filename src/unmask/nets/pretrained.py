"""A pretrained transformer that reads words: the packaged MiniLM, a BERT of 6 layers and 384 dimensions.

Words are its units: the states of a word's sub-words are averaged, special tokens are none. A text of more than `SIZE`
sub-words is read in windows, each on its own with its own beginning and end, and the states are put in line again.
"""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from unmask import seeds
from unmask.errors import InputError
from unmask.nets.pieces import MOST, PACKAGE, checksum, folder, library, special
from unmask.nets.vocabulary import HIDDEN

__all__ = ["LAYERS", "LENGTH", "NAME", "SIZE", "Contextual", "PieceEmbedding", "pretrained", "tuned_layers"]

NAME = "transformer"
LAYERS = 6
TUNED = 2  # layers that learn, where nobody says how many: the upper ones, the rest stays as it is
ALL = LAYERS + 1  # layers and vectors
LENGTH = 256  # sub-words of a window, its two ends among them: what MiniLM was trained for; 512 would be read too
SIZE = LENGTH - 2 - (MOST - 1)  # at which a window ends, so that its last word and both ends fit
TOGETHER = 2048  # sub-words that are read side by side: more at once is slower


def tuned_layers(encoder: str) -> int | None:
    """How many upper layers learn, `transformer` or `transformer:tuned=3`; None where it is another encoder."""
    name, _, option = encoder.partition(":")
    if name != NAME:
        return None
    key, _, value = option.partition("=")
    if not option:
        return TUNED
    if key == "tuned" and (value == "all" or (value.isdecimal() and int(value) <= LAYERS)):
        return ALL if value == "all" else int(value)
    raise InputError(
        f"{NAME} takes tuned=0 to tuned={LAYERS}, the number of upper layers that learn, or tuned=all with its "
        f"vectors as well; got {encoder!r}"
    )


@lru_cache(maxsize=1)
def _packaged() -> Any:
    """The model as it is packaged; it is never trained, only copied."""
    transformers = library()
    log = transformers.utils.logging
    before, shown = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()  # its report that the unused pooler is left out
    log.disable_progress_bar()
    try:
        with seeds.seeded(0):
            model = transformers.AutoModel.from_pretrained(
                str(folder()), attn_implementation="eager", add_pooling_layer=False, local_files_only=True
            )
    finally:
        log.set_verbosity(before)
        if shown:
            log.enable_progress_bar()
    return model.requires_grad_(False).eval()


def pretrained(encoder: str) -> tuple[PieceEmbedding, Contextual]:
    """The two halves of the transformer by name: ids to vectors, and vectors to states."""
    tuned = tuned_layers(encoder)
    assert tuned is not None
    return PieceEmbedding(tuned == ALL), Contextual(tuned)


class PieceEmbedding(nn.Module):
    """Ids (n, words, sub-words) -> vectors times `kept` of the word; hidden words and what is none are zero vectors."""

    def __init__(self, learns: bool = False) -> None:
        super().__init__()
        self.table = deepcopy(_packaged().embeddings.word_embeddings).requires_grad_(learns)
        _as_packaged(self)

    def reset_parameters(self) -> None:
        """As they are packaged: nothing of a task is left."""
        self.table.load_state_dict(_packaged().embeddings.word_embeddings.state_dict())

    def packaged(self) -> dict[str, Tensor]:
        return {"table.weight": _packaged().embeddings.word_embeddings.weight}

    def forward(self, ids: Tensor, kept: Tensor | None = None) -> Tensor:
        shown = (ids > HIDDEN).to(self.table.weight.dtype)
        if kept is not None:
            shown = shown * kept[..., None]
        vectors: Tensor = self.table(ids) * shown[..., None]
        return vectors


class Contextual(nn.Module):
    """Vectors of sub-words (n, words, sub-words, e) -> states (n, words, width), the `tuned` upper layers learning."""

    def __init__(self, tuned: int = TUNED) -> None:
        super().__init__()
        whole = _packaged()
        self.body = deepcopy(whole, {id(whole.embeddings.word_embeddings): nn.Identity()})
        self.width: int = whole.config.hidden_size
        for layer in self.body.encoder.layer[max(0, LAYERS - tuned) :]:
            layer.requires_grad_(True)
        if tuned == ALL:
            self.body.requires_grad_(True)
        ends = whole.embeddings.word_embeddings.weight[list(special())]
        self.register_buffer("ends", ends.clone(), persistent=False)
        self.ends: Tensor
        _as_packaged(self)

    def reset_parameters(self) -> None:
        """As they are packaged: nothing of a task is left."""
        self.body.load_state_dict({k.removeprefix("body."): v for k, v in self.packaged().items()})

    def packaged(self) -> dict[str, Tensor]:
        left_out = "embeddings.word_embeddings."
        return {f"body.{k}": v for k, v in _packaged().state_dict().items() if not k.startswith(left_out)}

    def forward(self, vectors: Tensor, there: Tensor) -> Tensor:
        """`there` (n, words, sub-words) tells what there is of them."""
        n, words = there.shape[:2]
        states = vectors.new_zeros(n * words, self.width)
        if not bool(there.any()):
            return states.view(n, words, self.width)
        line = _lined_up(there)
        found = self._read(vectors[there], line)[line.window, line.place]
        number = torch.arange(n * words, device=there.device).view(n, words, 1).expand_as(there)[there]
        states = states.index_add(0, number, found).view(n, words, self.width)
        return states / there.sum(-1, keepdim=True).clamp(min=1)

    def _read(self, vectors: Tensor, line: _Line) -> Tensor:
        """(windows, longest, width) states of everything in the windows, both ends too."""
        m = torch.arange(len(line.length), device=vectors.device)
        at = torch.cat([line.window, m, m]), torch.cat([line.place, torch.zeros_like(m), line.length + 1])
        begin, end = (part.expand(len(m), -1) for part in self.ends)
        longest = int(line.length.max()) + 2
        packed = vectors.new_zeros(len(m), longest, vectors.shape[-1])
        packed = packed.index_put(at, torch.cat([vectors, begin, end]))
        order, found = line.length.argsort(stable=True), []
        for some in order.split(max(1, TOGETHER // longest)):
            wide = int(line.length[some].max()) + 2
            real = torch.arange(wide, device=vectors.device) < line.length[some, None] + 2
            states = self.body(inputs_embeds=packed[some, :wide], attention_mask=real.long()).last_hidden_state
            found.append(pad(states, (0, 0, 0, longest - wide)))
        return torch.cat(found)[order.argsort()]


class _Line(NamedTuple):
    """Where each sub-word stands, in the order of the rows, and how many each window holds, both ends not counted."""

    window: Tensor  # (sub-words,)
    place: Tensor  # (sub-words,) 0 is where the window begins
    length: Tensor  # (windows,)


def _lined_up(there: Tensor) -> _Line:
    """Rows cut into windows at words; a row has as many as it needs, whatever stands beside it."""
    counts = there.sum(-1)
    start = counts.cumsum(1) - counts  # sub-words of the row before each word
    exists, part = counts > 0, start // SIZE
    row = torch.arange(len(there), device=there.device)[:, None]
    _, window = (row * (int(part.max()) + 1) + part)[exists].unique(return_inverse=True)
    size = int(window.max()) + 1
    first = torch.full((size,), there.numel(), device=there.device).scatter_reduce(0, window, start[exists], "amin")
    length = torch.zeros(size, dtype=torch.long, device=there.device).scatter_add(0, window, counts[exists])
    place = (start[exists] - first[window] + 1)[:, None] + torch.arange(there.shape[2], device=there.device)
    shown = there[exists]
    return _Line(window[:, None].expand_as(shown)[shown], place[shown], length)


def _as_packaged(module: Any) -> None:
    """What is still as it is packaged is not part of a module's state, and is put there when a state is loaded."""
    module.register_buffer("package", torch.tensor(checksum()))
    module.register_state_dict_post_hook(_leave_out)
    module.register_load_state_dict_pre_hook(_fill_in)


def _leave_out(module: Any, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    for name, value in module.packaged().items():
        if torch.equal(state[prefix + name].detach().cpu(), value):
            del state[prefix + name]


def _fill_in(module: Any, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    known = state.get(f"{prefix}package")
    if known is not None and int(known) != checksum():
        raise InputError(f"this model was saved with another version of {PACKAGE}: install the one it was saved with")
    for name, value in module.packaged().items():
        state.setdefault(prefix + name, value)
