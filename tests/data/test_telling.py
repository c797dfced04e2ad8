from __future__ import annotations

import torch
from sklearn.feature_selection import f_classif

from nets.samples import REVIEWS, TEXTS, dataset
from unmask.data.telling import of_units, telling, telling_units, telling_words
from unmask.nets import read
from unmask.seeds import generator
from unmask.types import Layout


def columns(d):
    return Layout("table", (d,), tuple(range(d)), tuple(f"x{i}" for i in range(d)))


def test_units_tell_as_much_as_their_f_statistic():
    x, y = torch.randn(80, 5, generator=generator(0)), torch.arange(80) % 3
    x[:, 2] += y
    found = telling_units(columns(5), x, y)
    torch.testing.assert_close(found, torch.as_tensor(f_classif(x.numpy(), y.numpy())[0]).float(), rtol=1e-5, atol=0)
    assert int(found.argmax()) == 2


def test_dead_units_and_missing_values_tell_nothing_by_themselves():
    x, y = torch.randn(80, 3, generator=generator(0)), torch.arange(80) % 2
    x[:, 0] = 7.0
    x[::5, 1] = torch.nan
    found = telling_units(columns(3), x, y)
    assert float(found[0]) == 0.0
    assert bool(found.isfinite().all())


def test_one_class_alone_has_nothing_to_tell():
    x = torch.randn(20, 3, generator=generator(0))
    assert telling_units(columns(3), x, torch.zeros(20, dtype=torch.long)).tolist() == [0.0, 0.0, 0.0]


def test_words_of_one_class_tell_more_than_words_of_all():
    ids = torch.tensor([[2, 4], [3, 4]] * 20)  # 2 and 3 each belong to one class, 4 to both
    found = telling_words(ids, torch.arange(40) % 2, classes=2, vocabulary=6)
    assert found.shape == (6,)
    assert float(found[2]) > float(found[4])
    assert float(found[3]) > float(found[4])
    assert float(found[5]) > float(found[4])  # never seen: as if telling, so that no liar relies on it


def test_units_of_texts_tell_what_their_words_tell():
    for kind, rows in (("words", TEXTS), ("sentences", REVIEWS)):
        data = dataset(Layout(kind), rows)
        reader = read(data)
        x = reader.prepare(rows)
        tells = telling(reader, x, data.train.y, 2)
        assert torch.equal(tells, telling_words(x, data.train.y, 2, len(reader.vocabulary)))
        want = tells[x[0, 0]] if kind == "words" else tells[x[0, 1, :2]].mean()
        got = of_units(reader, tells, x)
        assert got.shape == data.train.valid.shape
        torch.testing.assert_close(got[0, 0 if kind == "words" else 1], want)
