from __future__ import annotations

import torch
from torch.testing import assert_close

from unmask.audit.case import Values
from unmask.audit.memo import Memo


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
    again.trained.mkdir()
    (tmp_path / "memo-data").mkdir()  # not ours
    assert again.holds()
    path.unlink()
    assert again.holds()  # what was trained
    again.clear()
    assert not again.holds()
    assert [place.name for place in tmp_path.iterdir()] == ["memo-data"]


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
