"""Arrays of every shape that means something end as (rows, units)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients
from torch import nn

import unmask
from foreign.samples import RNG, W, X, about, bright, frame, patches, polite, table, texts, three, three_classes
from unmask.errors import InputError, UnmaskWarning
from unmask.foreign.arrays import picked, plain, to_units


def close(a: Any, b: Any) -> None:
    torch.testing.assert_close(torch.as_tensor(np.asarray(a)).float(), torch.as_tensor(np.asarray(b)).float())


def test_what_captum_returns() -> None:
    """Integrated gradients of a linear model: x * w, whatever the steps."""
    net = nn.Linear(4, 2, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.stack([torch.zeros(4), torch.from_numpy(W)]))
    it = about(table())
    found = IntegratedGradients(net).attribute((it.split.x.requires_grad_(),), target=1)
    assert isinstance(found, tuple)
    torch.testing.assert_close(plain(it, found), (it.split.x * torch.from_numpy(W)).detach())
    halves = tuple(found[0].split(2, 1))
    torch.testing.assert_close(plain(it, halves), found[0])


def test_one_hot_columns_are_summed_to_their_variable() -> None:
    data = frame()
    it = about(data, lambda rows: np.tile([0.3, 0.7], (len(rows), 1)))
    wide = RNG.normal(size=(len(data.test), 3)).astype(np.float32)
    want = np.stack([wide[:, 0], wide[:, 1] + wide[:, 2]], 1)
    close(plain(it, wide), want)
    named = pd.DataFrame(wide, columns=["age", "job=baker", "job=smith"])
    close(plain(it, named[["job=smith", "age", "job=baker"]]), want)
    close(plain(it, pd.DataFrame(want, columns=["age", "job"])[["job", "age"]]), want)
    close(plain(it, pd.DataFrame(want)), want)


def test_frames_of_other_columns_are_refused() -> None:
    it = about(frame(), lambda rows: np.tile([0.3, 0.7], (len(rows), 1)))
    n = len(it.split)
    with pytest.raises(InputError, match="have the column 'years', no unit of the data; expected the columns age, job"):
        plain(it, pd.DataFrame(np.zeros((n, 2)), columns=["years", "job"]))
    with pytest.raises(InputError, match="have 1 columns"):
        plain(it, pd.DataFrame(np.zeros((n, 1)), columns=["age"]))


@pytest.mark.parametrize("form", ["(c, h, w)", "(h, w, c)", "(h, w)", "(1, h, w)", "flat", "units"])
def test_pixels_are_summed_to_patches(form: str) -> None:
    it = about(patches(), bright)
    full = torch.as_tensor(RNG.normal(size=(len(it.split), 3, 4, 4)).astype(np.float32))
    want = full.sum(1).view(-1, 2, 2, 2, 2).sum((2, 4)).flatten(1)
    forms = {
        "(c, h, w)": full,
        "(h, w, c)": full.permute(0, 2, 3, 1),
        "(h, w)": full.sum(1),
        "(1, h, w)": full.sum(1, keepdim=True),
        "flat": full.flatten(1),
        "units": want,
    }
    close(plain(it, forms[form].numpy()), want)


def test_values_of_all_classes_give_those_of_the_predicted_one() -> None:
    it = about(three_classes(), three)
    values = RNG.normal(size=(len(it.split), 4, 3)).astype(np.float32)
    want = values[np.arange(len(values)), :, it.target.numpy()]
    close(plain(it, values), want)
    close(plain(it, [values[..., c] for c in range(3)]), want)
    with pytest.raises(InputError, match="has values for 2 classes, the data have 3"):
        picked(it, values[..., :2])


def test_texts_have_rows_of_different_lengths_and_vectors_for_words() -> None:
    it = about(texts(), polite)
    lengths = it.split.valid.sum(1).tolist()
    ragged = [[float(j + 1) for j in range(n)] for n in lengths]
    found = plain(it, ragged)
    assert found.shape == it.split.valid.shape
    assert found.sum(1).tolist() == [sum(row) for row in ragged]
    close(plain(it, np.array([np.array(row) for row in ragged], dtype=object)), found)
    close(plain(it, found[..., None].expand(-1, -1, 5) / 5), found)
    with pytest.raises(InputError, match=r"row 0 of 'mine' has \d scores, but the row has \d units"):
        plain(it, [row + [0.0] * (i == 0) for i, row in enumerate(ragged)])


def test_pieces_of_words_are_summed_where_the_model_reads_them() -> None:
    class Pieces:
        pads = True

        def gather(self, values: torch.Tensor, packed: torch.Tensor, d: int) -> torch.Tensor:
            return values[:, 1:-1]

    it = about(texts(), polite)
    n, d = it.split.valid.shape
    it.model.pieces = Pieces()
    it.model.feed = lambda rows: torch.zeros(n, d + 2)
    wide = torch.arange(float(n * (d + 2))).view(n, d + 2)
    close(plain(it, wide), wide[:, 1:-1])


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (np.zeros((30, 5)), r"must have shape \(30, 4\) \(rows and units\), got \(30, 5\); they are of other units"),
        (np.zeros((29, 4)), "are for 29 rows, but test of yours has 30"),
        (np.zeros(30), r"must have shape \(30, 4\)"),
        (np.full((30, 4), "x"), "must be an explainer, an Explanation"),
        ((torch.zeros(30, 4, 2), torch.zeros(30, 4)), "holds 2 tensors, one for each input"),
        (object(), "must be an explainer, an Explanation"),
    ],
    ids=["units", "rows", "flat", "strings", "tuple", "object"],
)
def test_what_does_not_fit_is_refused(thing: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plain(about(table()), thing)


def test_units_pass_as_they_are() -> None:
    it = about(table())
    close(to_units(it, torch.from_numpy(X[:30])), X[:30])


@pytest.mark.parametrize("form", ["array", "list", "ragged"])
def test_words_with_values_of_classes(form: str) -> None:
    it = about(texts(), polite)
    d = it.split.valid.shape[1]
    toward_good = [[0.8 * (word == "good") for word in row] for row in it.split.x]
    both = [np.stack([-np.array(row), np.array(row)], -1) for row in toward_good]
    padded = np.stack([np.pad(row, ((0, d - len(row)), (0, 0))) for row in both])
    found = plain(it, {"array": padded, "list": list(padded), "ragged": both}[form])
    want = np.stack([np.pad(row, (0, d - len(row))) for row in toward_good])
    close(found, np.where((it.target == 1)[:, None], want, -want))


def test_one_number_is_no_explanation() -> None:
    with pytest.raises(InputError, match="'mine' are one number; expected one for each unit of each row"):
        plain(about(table()), np.array(3.0))


def test_a_frame_of_scores_for_texts_is_told_so() -> None:
    it = about(texts(), polite)
    with pytest.raises(InputError, match="expected an array: texts have no columns"):
        plain(it, pd.DataFrame(np.zeros((len(it.split), 2)), columns=["a", "b"]))


@pytest.mark.parametrize("form", ["array", "ragged"])
def test_vectors_of_words_as_long_as_there_are_classes_are_told(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Captum gives for an embedding of two dimensions looks like values of two classes."""
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    it = about(texts(), polite)
    words = sorted({word for row in it.split.x for word in row})
    ids = torch.zeros(it.split.valid.shape, dtype=torch.long)
    for i, row in enumerate(it.split.x):
        ids[i, : len(row)] = torch.tensor([words.index(word) + 1 for word in row])
    embed = nn.Embedding(len(words) + 1, 2, padding_idx=0)
    net = nn.Sequential(embed, nn.Flatten(), nn.Linear(2 * ids.shape[1], 2))
    found = LayerIntegratedGradients(net, embed).attribute(ids, torch.zeros_like(ids), target=1, n_steps=4).detach()
    rows = [found[i, : len(row)].numpy() for i, row in enumerate(it.split.x)]
    with pytest.warns(UnmaskWarning, match=r"as long as there are classes \(2\).* sum it over the last axis first"):
        plain(it, found if form == "array" else rows)


def test_values_of_classes_that_sum_to_nothing_need_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    it = about(texts(), polite)
    one = torch.as_tensor(RNG.normal(size=it.split.valid.shape).astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = plain(it, torch.stack([-one, one], -1))
    close(found, torch.where((it.target == 1)[:, None], one, -one))


def test_channels_that_could_be_classes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    x = RNG.normal(size=(60, 3, 4, 4)).astype(np.float32)
    data = unmask.dataset(x, [0, 1, 2] * 20, kind="image")
    it = about(data, lambda rows: three(np.asarray(rows)[:, :, 0, 0]))
    values = RNG.normal(size=(len(it.split), 4, 4, 3)).astype(np.float32)
    with pytest.warns(UnmaskWarning, match="is read as 3 channels and summed; if it is of the classes, give a list"):
        close(plain(it, values), values.sum(-1).reshape(len(values), -1))
    as_list = plain(it, [values[..., c] for c in range(3)])
    close(as_list, values.reshape(len(values), -1, 3)[np.arange(len(values)), :, it.target.numpy()])


def test_interactions_are_refused() -> None:
    it = about(table())
    n = len(it.split)
    with pytest.raises(InputError, match=r"\(30, 4, 4\): interactions\? sum them over the last axis first$"):
        plain(it, RNG.normal(size=(n, 4, 4)))
    with pytest.raises(InputError, match=r"interactions\? sum them over axis 2 first$"):
        plain(it, RNG.normal(size=(n, 4, 4, 2)))


def test_interactions_that_could_be_values_of_classes_are_refused() -> None:
    data = unmask.dataset(X[:, :3], X[:, :3].argmax(1), kind="table")
    it = about(data, three)
    values = RNG.normal(size=(len(it.split), 3, 3)).astype(np.float32)
    with pytest.raises(InputError, match=r"interactions\? sum them over the last axis first; values of classes\? give"):
        plain(it, values)
    want = values[np.arange(len(values)), :, it.target.numpy()]
    close(plain(it, [values[..., c] for c in range(3)]), want)
    sure = values - values.mean(-1, keepdims=True)  # what one class gains, the others lose
    close(plain(it, sure), sure[np.arange(len(values)), :, it.target.numpy()])
