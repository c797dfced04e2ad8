"""Networks for pixels: the convolutional nets of L2X and MEED.

The channels of a pixel lie side by side in memory (channels last), which processors convolve up to twice as fast.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import fold, linear

from unmask.nets.reader import Reader
from unmask.nets.tables import mlp, standard

__all__ = ["PixelNet", "PixelSelector"]


class PixelNet(nn.Module):
    """Conv 32 - Conv 64 - max-pool 2 - dropout - dense 128 - dropout - classes, kernels 3 x 3, stride 1.

    With `context`, a perceptron of so many hidden units reads the pixels too and the two add up: together they imitate
    convolutional and dense models alike.
    """

    centre: Tensor
    scale: Tensor

    def __init__(
        self,
        reader: Reader,
        classes: int,
        width: int = 32,
        hidden: int = 128,
        *,
        sees_mask: bool = False,
        context: int = 0,
    ) -> None:
        super().__init__()
        self.reader, self.sees_mask = reader, sees_mask
        self.register_buffer("centre", reader.centre.clone())
        self.register_buffer("scale", reader.scale.clone())
        channels, height, side = reader.layout.shape
        pad = 1 if min(height, side) < 6 else 0
        self.features = nn.Sequential(
            nn.Conv2d(channels + sees_mask, width, 3, padding=pad),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=pad),
            nn.ReLU(),
            nn.MaxPool2d(2, ceil_mode=True),
            nn.Dropout(0.25),
            nn.Flatten(),
        ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        with torch.no_grad():
            flat = self.features(torch.zeros(1, channels + sees_mask, height, side)).shape[1]
        self.head = nn.Sequential(nn.Linear(flat, hidden), nn.ReLU(), nn.Dropout(0.5), nn.Linear(hidden, classes))
        pixels = (channels + sees_mask) * height * side
        self.direct = mlp([pixels, context, context, classes], nn.ReLU) if context else None

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        z = standard(x, self.reader, self.centre, self.scale, kept)
        if self.sees_mask:
            z = _with_mask(z, self.reader, kept)
        logits: Tensor = self.head(self.features(_channels_last(z)))
        return logits if self.direct is None else logits + self.direct(z.flatten(1))


class PixelSelector(nn.Module):
    """Scores for pixels or patches: Conv 32 - Conv 64 - Conv 1, 3 x 3, same size, averaged over each unit's pixels.

    Where `feedback`, the model's answer is one more channel, a dense layer of it (MEED). With `context`, that channel
    also reads the whole image through so many dense features: convolutions alone see seven pixels far.
    """

    centre: Tensor
    scale: Tensor
    area: Tensor

    def __init__(self, reader: Reader, width: int = 32, feedback: int = 0, outputs: int = 1, context: int = 0) -> None:
        super().__init__()
        self.reader, self.outputs = reader, outputs
        self.register_buffer("centre", reader.centre.clone())
        self.register_buffer("scale", reader.scale.clone())
        self.register_buffer("area", torch.bincount(torch.tensor(reader.layout.owner), minlength=reader.layout.d))
        channels, height, side = reader.layout.shape
        self.net = nn.Sequential(
            nn.Conv2d(channels + 1 + bool(feedback + context), width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * width, outputs, 3, padding=1),
        ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.answer = nn.Linear(feedback + context, height * side) if feedback + context else None
        self.context = nn.Linear((channels + 1) * height * side, context) if context else None

    def forward(self, x: Tensor, kept: Tensor | None = None, answer: Tensor | None = None) -> Tensor:
        z = _with_mask(standard(x, self.reader, self.centre, self.scale, kept), self.reader, kept)
        if self.answer is not None:
            given = [] if answer is None else [answer]
            if self.context is not None:
                given.append(self.context(z.flatten(1)).relu())
            z = torch.cat([z, self.answer(torch.cat(given, 1)).view(len(z), 1, *z.shape[2:])], 1)
        maps = _narrow(cast("nn.Conv2d", self.net[-1]), self.net[:-1](_channels_last(z)))
        found = self.reader.layout.gather(maps.flatten(0, 1)[:, None]) / self.area  # (n * outputs, d)
        return found if self.outputs == 1 else found.view(len(x), self.outputs, -1).transpose(1, 2)


def _with_mask(z: Tensor, reader: Reader, kept: Tensor | None) -> Tensor:
    shape = (len(z), 1, *z.shape[2:])
    mask = z.new_ones(shape) if kept is None else reader.layout.spread(kept.to(z))
    return torch.cat([z, mask], 1)


def _channels_last(z: Tensor) -> Tensor:
    return z.contiguous(memory_format=torch.channels_last)


def _narrow(layer: nn.Conv2d, z: Tensor) -> Tensor:
    """What a layer of 3 x 3 weights to few maps gives: all nine products of each pixel, each added where it belongs.

    One product of matrices; as a convolution so few maps take as long as many.
    """
    weights = layer.weight.flip(2, 3).permute(0, 2, 3, 1).flatten(0, 2)  # (9 * maps, channels)
    products = linear(z.permute(0, 2, 3, 1).flatten(1, 2), weights).transpose(1, 2)  # (n, 9 * maps, pixels)
    maps = fold(products, z.shape[2:], 3, padding=1)
    return maps if layer.bias is None else maps + layer.bias[:, None, None]
