from __future__ import annotations

from dataclasses import replace

import torch
from torch.testing import assert_close

from audit.cases import linear, table
from unmask import api
from unmask.audit.case import Values
from unmask.audit.memo import Memo
from unmask.audit.subjects import Settings
from unmask.explainers.l2x import L2X
from unmask.models import bind, wrap
from unmask.training import Recipe


def test_what_was_put_is_found_again_bit_for_bit(tmp_path):
    path = tmp_path / "folder" / "memo"
    values, over = torch.rand(5), torch.tensor([1.0, torch.nan, 3.0, 0.1, 1e-30])
    Memo(path).put("key", Values(values, over, "note"), 1.5)
    found, seconds = Memo(path).get("key")
    assert torch.equal(found.values, values)
    assert_close(found.over, over, rtol=0, atol=0, equal_nan=True)
    assert (found.note, seconds) == ("note", 1.5)
    assert Memo(path).get("other") is None


def test_a_line_cut_short_is_passed_over(tmp_path):
    path = tmp_path / "memo"
    Memo(path).put("whole", Values(torch.ones(2)), 0.0)
    with path.open("a") as file:
        file.write('["half", [1.0,')
    assert set(Memo(path).known) == {"whole"}


def test_known_keys_are_not_written_twice_and_the_end_clears_the_file(tmp_path):
    path = tmp_path / "memo"
    Memo(path).put("key", Values(torch.ones(2)), 0.0)
    again = Memo(path)
    again.put("key", Values(torch.ones(2)), 0.0)
    assert len(path.read_text().splitlines()) == 1
    again.places("l2x")[0].mkdir(parents=True)
    (tmp_path / "memo-data").mkdir()  # not ours
    assert again.holds()
    path.unlink()
    assert Memo(path).holds()  # what was trained
    again.clear()
    assert not Memo(path).holds()
    assert [place.name for place in tmp_path.iterdir()] == ["memo-data"]


def memo_of(path, audit):
    memo = Memo(path)
    memo.audit = audit
    return memo


def test_what_one_audit_clears_another_still_has(tmp_path):
    path = tmp_path / "memo"
    large, small = memo_of(path, "large"), memo_of(path, "small")
    for key in ("shared", "dear"):
        large.put(key, Values(torch.ones(2)), 1.0)
    large.places("l2x")[0].mkdir(parents=True)
    assert not small.holds()  # what another keeps is no promise
    small = memo_of(path, "small")
    assert small.get("shared") is not None
    small.put("shared", *small.get("shared"))
    small.put("own", Values(torch.zeros(2)), 0.0)
    assert [place.parent.name for place in small.places("l2x")] == ["small", "large"]
    small.places("l2x")[0].mkdir(parents=True)
    with path.open("a") as file:
        file.write('["half", [1.0,')
    large.clear()
    assert {key for _, key in memo_of(path, "small").written} == {"shared", "own"}
    assert not memo_of(path, "large").holds()
    assert memo_of(path, "small").holds()
    small.clear()
    assert list(tmp_path.iterdir()) == []


def test_an_audit_is_known_by_all_that_it_was_asked_for(tmp_path):
    data = table(120)
    model, e = bind(wrap(linear), data), api.fit(linear, data, 2, method="occlusion")
    changed = data.test.x.clone()
    changed[:, 5] += 1  # which the model does not read
    others = [
        (data, {"it": "l2x"}, Settings(k=2)),
        (data, {"it": "occlusion"}, Settings(k=3)),
        (data, {"it": "occlusion"}, Settings(k=2, checks=("fs-m",))),
        (data, {"it": "occlusion"}, Settings(k=2, budget=60.0)),
        (data, {"other": "occlusion"}, Settings(k=2)),
        (data, {"it": e}, Settings(k=2)),
        (data, {"it": replace(e, removal="zero")}, Settings(k=2)),
        (data, {"it": e.explain(data.test.x)}, Settings(k=2)),
        (data, {"it": L2X(k=2, recipe=Recipe(epochs=1)).fit(model, data)}, Settings(k=2)),
        (data, {"it": L2X(k=2, recipe=Recipe(epochs=1, rate=0.1)).fit(model, data)}, Settings(k=2)),
        (replace(data, test=replace(data.test, x=changed)), {"it": "occlusion"}, Settings(k=2)),
    ]

    def audit(data, given, settings):
        memo = Memo(tmp_path / "memo")
        memo.begin(model, data, given, settings)
        return memo.audit

    found = {audit(*each) for each in others}
    assert len(found) == len(others)
    assert audit(*others[1]) in found
    assert audit(data, {"it": "occlusion"}, Settings(k=2, begun=5.0)) == audit(data, {"it": "occlusion"}, Settings(k=2))


def test_without_a_path_nothing_is_written(tmp_path):
    memo = Memo(None)
    memo.put("key", Values(torch.ones(2)), 0.0)
    assert memo.trained is None
    assert not memo.holds()
    memo.clear()
    assert list(tmp_path.iterdir()) == []


def test_parts_and_curves_are_found_again(tmp_path):
    parts, curve = {"explanation=it": torch.rand(3)}, {0.1: torch.rand(3), 1.0: torch.rand(3)}
    Memo(tmp_path / "memo").put("key", Values(torch.ones(3), parts=parts, curve=curve), 0.0)
    found, _ = Memo(tmp_path / "memo").get("key")
    assert {name: v.tolist() for name, v in found.parts.items()} == {name: v.tolist() for name, v in parts.items()}
    assert {at: v.tolist() for at, v in found.curve.items()} == {at: v.tolist() for at, v in curve.items()}
