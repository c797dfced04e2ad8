"""FS-H, its interval and the agreement of annotators, against values worked by hand; and files that are wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from unmask import score_study
from unmask.errors import InputError
from unmask.study.scoring import fleiss_kappa, raw_agreement

KEY = {
    "study": "abc",
    "classes": ["no", "yes"],
    "seed": 0,
    "items": {
        "item-0001": {"row": 3, "explanation": "ig", "answer": "yes"},
        "item-0002": {"row": 1, "explanation": "ig", "answer": "yes"},
        "item-0003": {"row": 2, "explanation": "ig", "answer": "no"},
        "item-0004": {"row": 1, "explanation": "random", "answer": "yes"},
    },
}


def write(place: Path, person: str, answers: list[str], study: str = "abc", name: str | None = None) -> Path:
    """The file that the page would give this annotator, one answer for each item ("" for none)."""
    path = place / f"answers-{name or person}.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["study", "annotator", "item", "answer"])
        writer.writerows([study, person, item, a] for item, a in zip(KEY["items"], answers, strict=False))
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "key.json").write_text(json.dumps(KEY))
    return tmp_path


def test_shares_chance_and_missing_answers(place: Path) -> None:
    write(place, "Ann", ["yes", "yes", "yes", "no"])
    write(place, "Bob", ["yes", "no", "", "yes"])
    write(place, "Cem", ["yes"])
    found = score_study(place)
    assert list(found) == ["ig", "random"]
    ig, random = found["ig"], found["random"]
    assert ig.fs_h == pytest.approx(4 / 6)  # right: yes yes -, yes -, yes; six answers
    assert ig.annotators == {"Ann": pytest.approx(2 / 3), "Bob": 0.5, "Cem": 1.0}
    assert (ig.items, ig.answers, ig.missing) == (3, 6, 3)
    assert ig.chance == pytest.approx(2 / 3)
    assert ig.low <= ig.fs_h <= ig.high
    assert (random.fs_h, random.answers, random.missing, random.chance) == (0.5, 2, 1, 1.0)
    assert random.annotators == {"Ann": 0.0, "Bob": 1.0, "Cem": None}
    assert str(ig).startswith("ig: FS-H 0.667 [")
    assert "6 answers to 3 items, 3 missing" in str(ig)


def test_agreement_of_the_study(place: Path) -> None:
    write(place, "Ann", ["yes", "yes", "no"])
    write(place, "Bob", ["yes", "no", "no"])
    ig = score_study(place)["ig"]
    assert ig.agreement == pytest.approx(2 / 3)
    assert ig.kappa == pytest.approx((2 / 3 - 0.5) / 0.5)  # three yes, three no: Pe = 1/2
    assert score_study(place / "answers-Ann.csv")["ig"].kappa is None
    assert score_study(place)["random"].fs_h != score_study(place)["random"].fs_h  # nobody answered it


def test_the_interval_resamples_items(place: Path) -> None:
    """Always right or always wrong: the interval is that of a share of independent items."""
    items = {f"i{i}": {"row": i, "explanation": "a", "answer": "yes" if i % 2 else "no"} for i in range(400)}
    (place / "key.json").write_text(json.dumps({**KEY, "items": items}))
    for person in ("Ann", "Bob"):  # both say yes: right in half of the items, together
        lines = "".join(f"abc,{person},i{i},yes\r\n" for i in range(400))
        (place / f"answers-{person}.csv").write_text(f"study,annotator,item,answer\r\n{lines}")
    score = score_study(place)["a"]
    assert score.fs_h == 0.5
    half = 1.96 * (0.25 / 400) ** 0.5  # of 400 items, not of 800 answers
    assert score.high - score.low == pytest.approx(2 * half, rel=0.1)
    assert score_study(place, seed=1)["a"].low == pytest.approx(score.low, abs=half)
    assert score.kappa is None  # one class only
    assert score.agreement == 1


# Fourteen people, ten subjects, five categories: the worked example of Fleiss' kappa in the encyclopedias.
WORKED = torch.tensor(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ],
    dtype=torch.float64,
)


def test_fleiss_kappa_of_the_worked_example() -> None:
    assert raw_agreement(WORKED) == pytest.approx(0.378, abs=5e-4)
    assert fleiss_kappa(WORKED) == pytest.approx(0.210, abs=5e-4)


def test_agreement_counted_pair_by_pair() -> None:
    """Items with different numbers of answers, against every pair of answers asked one by one."""
    said = [[0, 0, 1], [1, 1], [2], [], [0, 1, 2, 2]]
    counts = torch.stack([torch.bincount(torch.tensor(row, dtype=torch.long), minlength=3) for row in said]).double()
    pairs = [[a == b for i, a in enumerate(row) for b in row[i + 1 :]] for row in said if len(row) > 1]
    observed = sum(sum(row) / len(row) for row in pairs) / len(pairs)
    assert raw_agreement(counts) == pytest.approx(observed)
    rated = [answer for row in said if len(row) > 1 for answer in row]
    expected = sum((rated.count(c) / len(rated)) ** 2 for c in range(3))
    assert fleiss_kappa(counts) == pytest.approx((observed - expected) / (1 - expected))
    assert fleiss_kappa(counts[2:4]) is None
    assert raw_agreement(counts[2:4]) is None


def test_where_the_files_may_lie(place: Path, tmp_path: Path) -> None:
    ann = write(place, "Ann", ["yes"])
    away = tmp_path / "mail"
    away.mkdir()
    bob = write(away, "Bob", ["no"])
    assert score_study(str(ann))["ig"].answers == 1
    assert score_study([ann, bob])["ig"].answers == 2
    assert score_study(away, key=place / "key.json")["ig"].fs_h == 0
    with pytest.raises(InputError, match=r"there is no key.json beside .*answers-Bob.csv; say where it is"):
        score_study(bob)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"there are no files answers-\*.csv in .*empty"):
        score_study(tmp_path / "empty")
    with pytest.raises(InputError, match="an empty list"):
        score_study([])
    with pytest.raises(InputError, match=r"cannot read .*nobody.csv: No such file"):
        score_study(place / "nobody.csv")


def test_a_table_saved_by_a_spreadsheet_is_read(place: Path) -> None:
    file = write(place, "Ann", ["yes", "no"])
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert score_study(place)["ig"].answers == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must begin with study,annotator,item,answer, got 'nothing'"),
        ("item,answer\n", "must begin with study,annotator,item,answer, got 'item,answer'"),
        ("HEAD\nabc,Ann,item-0001\n", r"line 2 of .* has 3 columns, expected 4"),
        ("HEAD\nxyz,Ann,item-0001,yes\n", r"belongs to another study \('xyz', the key is of 'abc'\)"),
        ("HEAD\nabc,Ann,item-0009,yes\n", "answers 'item-0009', which the study does not have"),
        ("HEAD\nabc,Ann,item-0001,yess\n", r"unknown class 'yess'; did you mean 'yes'\?"),
        ("HEAD\nabc,,item-0001,yes\n", "does not say who answered"),
        ("HEAD\nabc,Ann,item-0001,yes\nabc,Ann,item-0001,no\n", "line 3 of .* answers item-0001 a second time"),
        ("HEAD\nabc,Ann,item-0001,\n", "there is no answer in"),
        ('HEAD\nabc,Ann,item-0001,"yes\n', "is not a table of answers"),
        ("\udcff", "is not a table of answers"),
    ],
)
def test_bad_files_are_one_sentence(place: Path, text: str, words: str) -> None:
    content = text.replace("HEAD", "study,annotator,item,answer")
    (place / "answers-ann.csv").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=words) as caught:
        score_study(place)
    assert "\n" not in str(caught.value)


def test_the_same_annotator_twice(place: Path) -> None:
    write(place, "Ann", ["yes"])
    write(place, "Ann", ["no"], name="Ann (1)")
    with pytest.raises(InputError, match=r"'Ann' answers item-0001 twice, the second time in"):
        score_study(place)


@pytest.mark.parametrize("text", ["[]", "{}", '{"items": {"a": 1}, "classes": [], "study": 1}', "not json"])
def test_bad_keys(place: Path, text: str) -> None:
    write(place, "Ann", ["yes"])
    (place / "key.json").write_text(text)
    with pytest.raises(InputError, match=r"key.json is not (the key of a study|valid JSON)"):
        score_study(place)
