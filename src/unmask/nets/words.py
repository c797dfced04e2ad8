"""Networks for words; embeddings are multiplied by `kept`, so a hidden word is a zero vector.

Positions beyond the end of a text never count: a row's answer does not depend on the rows beside it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.nets.reader import Reader
from unmask.nets.vocabulary import END, HIDDEN

__all__ = [
    "SetHead",
    "WordBag",
    "WordEmbedding",
    "WordNet",
    "WordSelector",
    "WordSet",
    "answer_branch",
    "convolve",
    "place_features",
    "pool_max",
]

PLACES = 30  # waves that tell where a unit stands


class WordEmbedding(nn.Module):
    """Ids (n, words) -> vectors times `kept`; the end and hidden words are zero vectors.

    Where `sees_mask`, a hidden word is a learned vector of its own instead, so that it differs from no word at all.
    """

    def __init__(self, reader: Reader, width: int, sees_mask: bool = False) -> None:
        super().__init__()
        if reader.vocabulary is None:
            raise TypeError("a network for words needs a reader with a vocabulary")
        self.table = nn.Embedding(len(reader.vocabulary), width)
        self.hidden = nn.Parameter(torch.zeros(width)) if sees_mask else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Small vectors, as published; the end and a hidden word are zero, and stay so: they are never shown."""
        nn.init.uniform_(self.table.weight, -0.05, 0.05)
        with torch.no_grad():
            self.table.weight[: HIDDEN + 1] = 0.0
            if self.hidden is not None:
                self.hidden.zero_()

    def set_vectors(self, vectors: Tensor) -> None:
        """Take the rows of `vectors` (vocabulary, width) for the table; the end and a hidden word stay zero."""
        want, got = tuple(self.table.weight.shape), tuple(vectors.shape)
        if want != got:
            raise InputError(f"vectors must be {want}, one row for each word of the vocabulary, got {got}")
        with torch.no_grad():
            self.table.weight[HIDDEN + 1 :] = vectors[HIDDEN + 1 :].to(self.table.weight)

    def forward(self, ids: Tensor, kept: Tensor | None = None) -> Tensor:
        shown = (ids > HIDDEN).to(self.table.weight.dtype)
        if kept is not None:
            shown = shown * kept
        vectors: Tensor = self.table(ids) * shown[..., None]
        if self.hidden is None:
            return vectors
        absent: Tensor = (1 - shown) * (ids != END)
        return vectors + absent[..., None] * self.hidden


def pool_max(features: Tensor, valid: Tensor) -> Tensor:
    """Maximum over the valid positions, (n, words, f) -> (n, f); zero for an empty text. Features are not negative."""
    if features.shape[1] == 0:
        return features.new_zeros(len(features), features.shape[2])
    return (features * valid[..., None]).amax(1)


def crop(ids: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Without the positions that lie beyond the end of every text; `ids` say where that is, never what is kept."""
    used = (ids != END).any(0).nonzero()
    width = int(used[-1]) + 1 if len(used) else 0
    return ids[:, :width], None if kept is None else kept[:, :width]


def convolve(layer: nn.Conv1d, vectors: Tensor) -> Tensor:
    """ReLU of a convolution over positions, (n, words, e) -> (n, words, f).

    Seen as an image of one row whose channels lie side by side, as they do here, nothing has to be moved.
    """
    if vectors.shape[1] == 0:
        return vectors.new_zeros(len(vectors), 0, layer.out_channels)
    image = vectors.transpose(1, 2)[:, :, None].contiguous(memory_format=torch.channels_last)
    around = (0, int(layer.padding[0]))
    found = nn.functional.conv2d(image, layer.weight[:, :, None], layer.bias, padding=around)
    return found[:, :, 0].transpose(1, 2).relu()


class WordNet(nn.Module):
    """L2X's word CNN: embedding, dropout, convolution of three words, maximum over the text, dense, classes."""

    def __init__(
        self, reader: Reader, classes: int, width: int = 50, filters: int = 250, *, sees_mask: bool = False
    ) -> None:
        super().__init__()
        self.reader = reader
        self.embedding = WordEmbedding(reader, width, sees_mask)
        self.drop = nn.Dropout(0.2)
        self.conv = nn.Conv1d(width, filters, 3, padding=1)
        self.head = nn.Sequential(nn.Linear(filters, filters), nn.Dropout(0.2), nn.ReLU(), nn.Linear(filters, classes))

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        x, kept = crop(x, kept)
        valid = x != END
        features = convolve(self.conv, self.drop(self.embedding(x, kept)) * valid[..., None])
        return self.head(pool_max(features, valid))  # type: ignore[no-any-return]


class WordBag(nn.Module):
    """L2X's approximator for words: the mean vector of what is kept, dense, classes; blind to order."""

    def __init__(self, reader: Reader, classes: int, width: int = 50, hidden: int = 250) -> None:
        super().__init__()
        self.reader = reader
        self.embedding = WordEmbedding(reader, width)
        self.head = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        weight = (x > HIDDEN).float() if kept is None else (x > HIDDEN) * kept
        total = weight.sum(1, keepdim=True).clamp(min=1.0)
        return self.head(self.embedding(x, kept).sum(1) / total)  # type: ignore[no-any-return]


def place_features(at: Tensor, length: Tensor) -> Tensor:
    """Where units stand, (n, m) positions of rows with (n, 1) units -> (n, m, PLACES).

    Waves over the position (periods 2 to 1024, so that odd and even differ) and over the share of the row before it.
    """
    position = at[..., None] / 2.0 ** torch.arange(1, 11, device=at.device)
    share = (at / length.clamp(min=1))[..., None] * 2.0 ** torch.arange(-1, 4, device=at.device)
    angle = 2 * torch.pi * torch.cat([position, share], -1)
    return torch.cat([angle.sin(), angle.cos()], -1)


class WordSet(nn.Module):
    """The words shown as a set of (word, place) pairs; only what is kept is read, so a few words are cheap."""

    def __init__(self, reader: Reader, classes: int, width: int = 50, hidden: int = 100) -> None:
        super().__init__()
        self.reader = reader
        self.embedding = WordEmbedding(reader, width)
        self.head = SetHead(width, classes, hidden)

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        weight = (x > HIDDEN).float() if kept is None else (x > HIDDEN) * kept.float()
        most = int((weight > 0).sum(1).max()) if weight.numel() else 0
        shown, at = weight.topk(most, dim=1)  # (n, most); what is beyond a row's own number has weight 0
        place = place_features(at, (x != END).sum(1, keepdim=True))
        return self.head(self.embedding(x.gather(1, at)), place, shown)  # type: ignore[no-any-return]


class SetHead(nn.Module):
    """Classes from a weighted set of (vector, place) pairs: each pair on its own, then their mean and maximum."""

    def __init__(self, width: int, classes: int, hidden: int) -> None:
        super().__init__()
        self.token = nn.Sequential(nn.Linear(width + PLACES, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, classes))

    def forward(self, vectors: Tensor, place: Tensor, weight: Tensor) -> Tensor:
        shown = (weight > 0).nonzero(as_tuple=True)  # of rows that show little, most pairs are filling: never read
        read = self.token(torch.cat([vectors[shown], place[shown]], -1)) * weight[shown][:, None]
        tokens = read.new_zeros(*weight.shape, read.shape[1]).index_put(shown, read)
        mean = tokens.sum(1) / weight.sum(1, keepdim=True).clamp(min=1.0)
        return self.head(torch.cat([mean, pool_max(tokens, weight > 0)], 1))  # type: ignore[no-any-return]


class WordSelector(nn.Module):
    """L2X's explainer for words: a global branch over the whole text beside a local one, then one score a word.

    Where `feedback`, the model's answer joins the global branch through three dense layers (MEED). With `lively`
    weights scores differ from word to word from the start.
    """

    def __init__(
        self,
        reader: Reader,
        width: int = 50,
        filters: int = 100,
        feedback: int = 0,
        outputs: int = 1,
        *,
        lively: bool = False,
    ) -> None:
        super().__init__()
        self.reader, self.outputs = reader, outputs
        self.embedding = WordEmbedding(reader, width, sees_mask=True)
        self.blur = nn.Dropout(0.3 if lively else 0.0)  # large vectors know the training texts by heart
        self.first = nn.Conv1d(width, filters, 3, padding=1)
        self.overall = nn.Sequential(nn.Linear(filters, filters), nn.ReLU())
        self.local = nn.ModuleList(nn.Conv1d(filters, filters, 3, padding=1) for _ in range(2))
        self.drop = nn.Dropout(0.2)
        self.mix = nn.Linear((3 if feedback else 2) * filters, filters)
        self.score = nn.Linear(filters, outputs)
        self.answer = answer_branch(feedback, filters) if feedback else None
        if lively:
            self.enliven()

    def enliven(self) -> None:
        """Weights after He et al. and vectors ten times the usual.

        With torch's own weights scores differ by a hundredth of the draw's noise: in long texts hundreds of steps pass
        before a word is learned. Where a vocabulary is small and seen often, the usual ones generalise better.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Conv1d):
                nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]
        with torch.no_grad():
            self.embedding.table.weight.mul_(10.0)

    def forward(self, x: Tensor, kept: Tensor | None = None, answer: Tensor | None = None) -> Tensor:
        whole = x.shape[1]
        x, kept = crop(x, kept)
        valid = (x != END)[..., None]
        h = convolve(self.first, self.blur(self.embedding(x, kept))) * valid
        overall = self.overall(pool_max(h, x != END))
        if self.answer is not None:
            overall = torch.cat([overall, self.answer(answer)], -1)
        for layer in self.local:
            h = convolve(layer, h) * valid  # type: ignore[arg-type]
        found: Tensor = self.score(spread(self.mix, self.drop(overall), self.drop(h)).relu())
        found = nn.functional.pad(found * valid, (0, 0, 0, whole - found.shape[1]))
        return found[..., 0] if self.outputs == 1 else found


def spread(layer: nn.Linear, overall: Tensor, local: Tensor) -> Tensor:
    """The layer on (overall, local) at each position, (n, a) and (n, words, b) -> (n, words, f).

    What is the same at all positions is multiplied once a row.
    """
    wide = overall.shape[-1]
    once = nn.functional.linear(overall, layer.weight[:, :wide], layer.bias)
    return once[:, None] + nn.functional.linear(local, layer.weight[:, wide:])


def answer_branch(classes: int, width: int) -> nn.Sequential:
    """MEED's way for the model's answer into a selector of texts: dense, then two dense layers with ReLU."""
    return nn.Sequential(
        nn.Linear(classes, width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
    )
