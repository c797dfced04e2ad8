"""Each removal on rows small enough to check by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nets.samples import GROUPED, PLAIN, SETS, TEXTS, dataset, grid, values
from unmask.errors import InputError
from unmask.masking import REMOVALS
from unmask.masking.removals import MASK, PAD, BlurFill, make_removal
from unmask.seeds import generator
from unmask.types import Dataset, Inputs, Layout, Removal

NAN = torch.nan
CASES = [
    (name, removal) for name, make in SETS.items() for removal, way in REMOVALS.items() if make().kind in way.kinds
]
each = pytest.mark.parametrize(("name", "removal"), CASES, ids=["-".join(case) for case in CASES])


def hidden(removal: Removal, x: Inputs, kept: Tensor) -> list[Inputs]:
    return list(removal.versions(x, kept))


def half(data: Dataset, seed: int = 0) -> Tensor:
    valid = data.train.valid
    return (torch.rand(valid.shape, generator=generator(seed)) < 0.5) & valid


def test_zero_writes_zeros() -> None:
    x = torch.tensor([[1e-3, -2.0, 1e5, 4.0], [5.0, NAN, 7.0, 8.0]])
    kept = torch.tensor([[True, False, True, False], [False, False, True, True]])
    (got,) = hidden(make_removal("zero", dataset(PLAIN, values(PLAIN))), x, kept)
    assert got.tolist() == [[x[0, 0].item(), 0.0, 1e5, 0.0], [0.0, 0.0, 7.0, 8.0]]


def test_mean_is_that_of_the_values_that_are_there() -> None:
    train = torch.tensor([[1.0, 10.0, NAN, 0.0], [3.0, NAN, NAN, 0.0], [5.0, 20.0, 6.0, 3.0]])
    x = torch.tensor([[NAN, NAN, -1.0, NAN]])
    (got,) = hidden(make_removal("mean", dataset(PLAIN, train)), x, torch.tensor([[False, False, True, False]]))
    assert got.tolist() == [[3.0, 15.0, -1.0, 1.0]]


def test_mean_of_an_empty_column_is_refused() -> None:
    train = torch.tensor([[1.0, NAN, 1.0, 1.0], [2.0, NAN, 1.0, 1.0]])
    with pytest.raises(InputError, match="removal 'mean' needs a finite training mean for each column"):
        make_removal("mean", dataset(PLAIN, train))


def test_a_missing_value_that_is_kept_stays_missing() -> None:
    (got,) = hidden(make_removal("zero", SETS["table"]()), torch.full((1, 4), NAN), torch.tensor([[True, False] * 2]))
    assert got.isnan().tolist() == [[True, False, True, False]]


def test_marginal_shows_whole_training_rows() -> None:
    data = dataset(PLAIN, torch.arange(40.0).view(10, 4))
    x, kept = torch.full((3, 4), -1.0), torch.tensor([[False, True, False, False]]).expand(3, -1)
    rows = {tuple(row) for row in data.train.x[:, [0, 2, 3]].tolist()}
    drawn = hidden(make_removal("marginal", data, draws=5), x, kept)
    assert len(drawn) == 5
    for version in drawn:
        assert set(version[:, 1].tolist()) == {-1.0}
        assert {tuple(row) for row in version[:, [0, 2, 3]].tolist()} <= rows
    assert len({version[0, 0].item() for version in drawn}) > 1


def test_noise_has_the_training_mean_and_spread_of_each_pixel() -> None:
    layout = grid(1, 4)
    train = values(layout, 50) * torch.arange(16.0).view(1, 1, 4, 4)  # the first pixel never moves
    removal = make_removal("noise", dataset(layout, train), draws=4000)
    drawn = torch.cat(hidden(removal, torch.zeros(1, 1, 4, 4), torch.zeros(1, 16, dtype=torch.bool)))
    assert torch.equal(drawn[:, 0, 0, 0], train[0, 0, 0, 0].expand(4000))
    error = train.std(0) / 4000**0.5
    assert bool(((drawn.mean(0) - train.mean(0)).abs() <= 4.5 * error).all())
    torch.testing.assert_close(drawn.std(0), train.std(0), rtol=0.06, atol=1e-6)


def test_noise_is_the_same_for_every_row_and_call() -> None:
    data = SETS["colour"]()
    x, nothing = data.train.x, torch.zeros(6, 25, dtype=torch.bool)
    removal = make_removal("noise", data)
    first, second = hidden(removal, x, nothing), hidden(removal, x, nothing)
    again, other = (
        hidden(make_removal("noise", data), x, nothing),
        hidden(make_removal("noise", data, seed=1), x, nothing),
    )
    for a, b, c, d in zip(first, second, again, other, strict=True):
        assert torch.equal(a, a[:1].expand_as(a))
        assert torch.equal(a, b)
        assert torch.equal(a, c)
        assert not torch.equal(a, d)


def test_blur_leaves_a_constant_image_alone() -> None:
    layout = grid(3, 9)
    x = torch.tensor([1.0, -2.0, 5.0]).view(1, 3, 1, 1).expand(2, 3, 9, 9).clone()
    (got,) = hidden(make_removal("blur", dataset(layout, x)), x, torch.zeros(2, 81, dtype=torch.bool))
    torch.testing.assert_close(got, x)


def test_blur_spreads_a_point_as_a_gaussian() -> None:
    layout = grid(1, 33)
    x = torch.zeros(1, 1, 33, 33)
    x[0, 0, 16, 16] = 1.0
    got = BlurFill("blur", layout, sigma=2.0).blurred(x)[0, 0]
    at = torch.arange(33.0) - 16
    side = torch.exp(-(at**2) / 8) * (at.abs() <= 4)
    torch.testing.assert_close(got, torch.outer(side, side) / side.sum() ** 2)
    assert abs(float(got.sum()) - 1) < 1e-5


def test_blur_keeps_the_mean_and_lowers_the_spread() -> None:
    layout = grid(1, 16)
    x = values(layout)
    (got,) = hidden(make_removal("blur", dataset(layout, x)), x, torch.zeros(6, 256, dtype=torch.bool))
    torch.testing.assert_close(got.mean((1, 2, 3)), x.mean((1, 2, 3)), atol=0.2, rtol=0)
    assert bool((got.std((1, 2, 3)) < 0.5 * x.std((1, 2, 3))).all())


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 6), (2, 3, 2)])
def test_blur_takes_tiny_images(shape: tuple[int, int, int]) -> None:
    pixels = shape[1] * shape[2]
    layout = Layout("image", shape, tuple(range(pixels)), tuple(map(str, range(pixels))))
    x = torch.ones(2, *shape)
    (got,) = hidden(make_removal("blur", dataset(layout, x)), x, torch.zeros(2, pixels, dtype=torch.bool))
    torch.testing.assert_close(got, x)


def test_words_are_padded_masked_or_cut() -> None:
    data = SETS["words"]()
    x = [["a", "b", "c"], ["d"]]
    kept = torch.tensor([[True, False, True], [False, False, False]])
    assert hidden(make_removal("pad", data), x, kept) == [[["a", PAD, "c"], [PAD]]]
    assert hidden(make_removal("mask-token", data), x, kept) == [[["a", MASK, "c"], [MASK]]]
    assert hidden(make_removal("mask-token", data, mask_token="[M]"), x, kept) == [[["a", "[M]", "c"], ["[M]"]]]
    assert hidden(make_removal("delete", data), x, kept) == [[["a", "c"], []]]
    assert x == [["a", "b", "c"], ["d"]]


def test_sentences_are_padded_masked_or_cut() -> None:
    data = SETS["sentences"]()
    x = [[["a", "b"], ["c"]], [["d", "e", "f"]]]
    kept = torch.tensor([[False, True], [False, False]])
    assert hidden(make_removal("pad", data), x, kept) == [[[[PAD, PAD], ["c"]], [[PAD] * 3]]]
    assert hidden(make_removal("mask-token", data), x, kept) == [[[[MASK, MASK], ["c"]], [[MASK] * 3]]]
    assert hidden(make_removal("delete", data), x, kept) == [[[["c"]], []]]
    assert x == [[["a", "b"], ["c"]], [["d", "e", "f"]]]


def test_columns_of_one_unit_go_together() -> None:
    data = dataset(GROUPED, values(GROUPED))
    x = torch.arange(1.0, 6.0).expand(3, -1)
    (got,) = hidden(make_removal("zero", data), x, torch.eye(3, dtype=torch.bool))
    assert got.tolist() == [[1.0, 0, 3.0, 0, 0], [0, 2.0, 0, 0, 5.0], [0, 0, 0, 4.0, 0]]


def test_pixels_of_one_patch_go_together_in_all_channels() -> None:
    layout = grid(2, 4, 2)
    (got,) = hidden(make_removal("zero", dataset(layout, values(layout))), torch.ones(4, 2, 4, 4), torch.eye(4) > 0)
    for unit in range(4):
        want = torch.zeros(2, 4, 4)
        row, column = divmod(unit, 2)
        want[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = 1.0
        assert torch.equal(got[unit], want)


@each
def test_kept_units_come_back_as_they_were(name: str, removal: str) -> None:
    data = SETS[name]()
    way, x, kept = make_removal(removal, data), data.train.x, half(data)
    everything = data.train.valid
    for version in hidden(way, x, everything):
        assert torch.equal(version, x) if isinstance(x, Tensor) else version == x
    for version in hidden(way, x, kept):
        if isinstance(x, Tensor):
            shown = data.layout.spread(kept).expand_as(x)
            assert torch.equal(version[shown], x[shown])
            assert not torch.equal(version, x)
        else:
            for row, new, keep in zip(x, version, kept.tolist(), strict=True):
                left = [unit for unit, shown in zip(row, keep, strict=False) if shown]
                found = new if removal == "delete" else [u for u, shown in zip(new, keep, strict=False) if shown]
                assert found == left


@each
def test_a_row_does_not_depend_on_the_others(name: str, removal: str) -> None:
    data = SETS[name]()
    way, x, kept = make_removal(removal, data), data.train.x, half(data)
    together = hidden(way, x, kept)
    for i in range(len(x)):
        alone = hidden(way, x[i : i + 1], kept[i : i + 1])
        for a, b in zip(alone, together, strict=True):
            same = torch.allclose(a[0], b[i], atol=1e-6) if isinstance(a, Tensor) else a[0] == b[i]
            assert same


@pytest.mark.parametrize("removal", ["zero", "mean", "marginal"])
def test_a_missing_value_that_is_hidden_is_gone(removal: str) -> None:
    data = SETS["groups"]()
    x = torch.full((2, 5), NAN)
    kept = torch.zeros(2, 3, dtype=torch.bool)
    assert all(bool(version.isfinite().all()) for version in hidden(make_removal(removal, data), x, kept))


def test_wrong_and_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="removal 'pad' cannot hide units of kind 'table'"):
        make_removal("pad", SETS["table"]())
    with pytest.raises(InputError, match="removal 'zero' cannot hide units of kind 'words'"):
        make_removal("zero", SETS["words"]())
    with pytest.raises(InputError, match=r"unknown removal 'means'; did you mean 'mean'\?"):
        make_removal("means", SETS["table"]())


def test_a_mask_wider_than_a_row_is_its_padding() -> None:
    way = make_removal("pad", SETS["words"]())
    (got,) = hidden(way, TEXTS[:2], torch.ones(2, 9, dtype=torch.bool))
    assert got == TEXTS[:2]
