"""Networks for pixels: the convolutional nets of L2X and MEED."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unmask.nets.reader import Reader
from unmask.nets.tables import standard

__all__ = ["PixelNet", "PixelSelector"]


class PixelNet(nn.Module):
    """Conv 32 - Conv 64 - max-pool 2 - dropout - dense 128 - dropout - classes, kernels 3 x 3, stride 1."""

    centre: Tensor
    scale: Tensor

    def __init__(
        self, reader: Reader, classes: int, width: int = 32, hidden: int = 128, *, sees_mask: bool = False
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
        )
        with torch.no_grad():
            flat = self.features(torch.zeros(1, channels + sees_mask, height, side)).shape[1]
        self.head = nn.Sequential(nn.Linear(flat, hidden), nn.ReLU(), nn.Dropout(0.5), nn.Linear(hidden, classes))

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        z = standard(x, self.reader, self.centre, self.scale, kept)
        return self.head(self.features(_with_mask(z, self.reader, kept) if self.sees_mask else z))  # type: ignore[no-any-return]


class PixelSelector(nn.Module):
    """Scores for pixels or patches: Conv 32 - Conv 64 - Conv 1, 3 x 3, same size, averaged over each unit's pixels."""

    centre: Tensor
    scale: Tensor
    area: Tensor

    def __init__(self, reader: Reader, width: int = 32) -> None:
        super().__init__()
        self.reader = reader
        self.register_buffer("centre", reader.centre.clone())
        self.register_buffer("scale", reader.scale.clone())
        self.register_buffer("area", torch.bincount(torch.tensor(reader.layout.owner), minlength=reader.layout.d))
        self.net = nn.Sequential(
            nn.Conv2d(reader.layout.shape[0] + 1, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * width, 1, 3, padding=1),
        )

    def forward(self, x: Tensor, kept: Tensor | None = None) -> Tensor:
        z = standard(x, self.reader, self.centre, self.scale, kept)
        return self.reader.layout.gather(self.net(_with_mask(z, self.reader, kept))) / self.area


def _with_mask(z: Tensor, reader: Reader, kept: Tensor | None) -> Tensor:
    shape = (len(z), 1, *z.shape[2:])
    mask = z.new_ones(shape) if kept is None else reader.layout.spread(kept.to(z))
    return torch.cat([z, mask], 1)
