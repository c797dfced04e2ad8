"""FS-H: how often people who see only what was kept say what the model said."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unmask.audit.statistics import Bootstrap
from unmask.errors import InputError, unknown
from unmask.study.exporting import KEY
from unmask.writing import read_json

__all__ = ["Score", "fleiss_kappa", "raw_agreement", "score_study"]

COLUMNS = ("study", "annotator", "item", "answer")
Answers = dict[str, dict[str, str]]  # annotator -> item -> class; an item without an answer is not there


@dataclass(frozen=True)
class Score:
    """FS-H of one explanation, higher is better, to be read beside `chance`; all are fractions.

    `chance` is what one gets by always saying the model's most common answer. `low` and `high` hold 95% of resamples
    of the items; the annotators are taken as they are. `agreement` is the share of pairs of annotators who said the
    same, `kappa` that share beyond what chance would give (Fleiss 1971); both are None where no item has two answers.
    """

    explanation: str
    fs_h: float
    low: float
    high: float
    chance: float
    items: int
    answers: int
    missing: int
    annotators: Mapping[str, float | None] = field(default_factory=dict)  # FS-H of each; None without an answer
    agreement: float | None = None
    kappa: float | None = None

    def __str__(self) -> str:
        level = f"{self.fs_h:.3f} [{self.low:.3f}, {self.high:.3f}], chance {self.chance:.3f}"
        count = f"{self.answers} answers to {self.items} items, {self.missing} missing"
        kappa = "" if self.kappa is None else f", kappa {self.kappa:.2f}"
        return f"{self.explanation}: FS-H {level}; {count}{kappa}"


def score_study(
    answers: str | Path | Sequence[str | Path], key: str | Path | None = None, *, seed: int = 0
) -> dict[str, Score]:
    """FS-H of each explanation in a study, from the files that annotators downloaded.

    `answers` is a file, several files, or a folder with files called answers-*.csv; `key` is the study's key.json,
    looked for beside the answers where it is not named.
    """
    files = _files(answers)
    where = Path(key) if key is not None else _beside(files)
    solution = _solution(where)
    given: Answers = {}
    for file in files:
        for annotator, said in _read(file, solution).items():
            twice = sorted(set(given.setdefault(annotator, {})) & set(said))
            if twice:
                raise InputError(f"{annotator!r} answers {twice[0]} twice, the second time in {file}; leave one out")
            given[annotator] |= said
    if not any(given.values()):
        raise InputError(
            f"there is no answer in {', '.join(map(str, files))}; ask the annotators for their files again"
        )
    names = list(dict.fromkeys(item["explanation"] for item in solution["items"].values()))
    return {name: _score(name, solution, given, seed) for name in sorted(names)}


def _files(answers: str | Path | Sequence[str | Path]) -> list[Path]:
    given = [Path(answers)] if isinstance(answers, str | Path) else [Path(file) for file in answers]
    files = [file for place in given for file in (sorted(place.glob("answers-*.csv")) if place.is_dir() else [place])]
    if not files:
        raise InputError(f"there are no files answers-*.csv in {', '.join(map(str, given)) or 'an empty list'}")
    return files


def _beside(files: Sequence[Path]) -> Path:
    found = next((file.parent / KEY for file in files if (file.parent / KEY).is_file()), None)
    if found is None:
        raise InputError(f"there is no {KEY} beside {files[0]}; say where it is: score_study(answers, key=...)")
    return found


def _solution(path: Path) -> dict[str, Any]:
    """The key: study, classes and, for each item, its explanation and the model's answer."""
    found = read_json(path, "the key of a study")
    items = found.get("items") if isinstance(found, dict) else None
    entries = list(items.values()) if isinstance(items, dict) else []
    complete = all(isinstance(entry, dict) and {"explanation", "answer"} <= set(entry) for entry in entries)
    if not entries or not complete or not isinstance(found.get("classes"), list) or "study" not in found:
        raise InputError(f"{path} is not the key of a study; it is the {KEY} that export_study writes")
    return dict(found)


def _read(file: Path, solution: Mapping[str, Any]) -> Answers:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            table = list(csv.reader(lines, strict=True))
    except OSError as fault:
        raise InputError(f"cannot read {file}: {fault.strerror or fault}; name a file that annotators sent") from fault
    except (csv.Error, UnicodeDecodeError) as fault:
        raise InputError(f"{file} is not a table of answers ({fault}); ask for it again") from fault
    if not table or tuple(table[0]) != COLUMNS:
        got = ",".join(table[0])[:60] if table else "nothing"
        raise InputError(f"{file} must begin with {','.join(COLUMNS)}, got {got!r}; it is not a file of answers")
    said: Answers = {}
    for line, cells in enumerate(table[1:], start=2):
        _check(cells, f"line {line} of {file}", solution)
        _, annotator, item, answer = cells
        mine = said.setdefault(annotator, {})
        if item in mine:
            raise InputError(f"line {line} of {file} answers {item} a second time; leave one out")
        if answer:
            mine[item] = answer
    return said


def _check(cells: Sequence[str], where: str, solution: Mapping[str, Any]) -> None:
    if len(cells) != len(COLUMNS):
        raise InputError(f"{where} has {len(cells)} columns, expected {len(COLUMNS)}: {', '.join(COLUMNS)}")
    study, annotator, item, answer = cells
    if study != solution["study"]:
        raise InputError(f"{where} belongs to another study ({study!r}, the key is of {solution['study']!r})")
    if not annotator:
        raise InputError(f"{where} does not say who answered; fill in annotator")
    if item not in solution["items"]:
        raise InputError(f"{where} answers {item!r}, which the study does not have")
    if answer and answer not in solution["classes"]:
        raise InputError(f"{where}: {unknown('class', answer, solution['classes'])}")


def _score(name: str, solution: Mapping[str, Any], given: Answers, seed: int) -> Score:
    truth = {item: entry["answer"] for item, entry in solution["items"].items() if entry["explanation"] == name}
    said = {person: {item: a for item, a in answers.items() if item in truth} for person, answers in given.items()}
    counts = _counts(list(truth), solution["classes"], said)  # (items, classes)
    model = torch.tensor([solution["classes"].index(answer) for answer in truth.values()])
    total = counts.sum(1)
    right = counts.gather(1, model[:, None])[:, 0]
    some = total > 0
    value, low, high = (float("nan"),) * 3
    if bool(some.any()):
        value, low, high = Bootstrap(int(some.sum()), seed).interval(right[some], total[some])
    return Score(
        explanation=name,
        fs_h=value,
        low=low,
        high=high,
        chance=max(Counter(truth.values()).values()) / len(truth),
        items=len(truth),
        answers=int(total.sum()),
        missing=len(truth) * len(said) - int(total.sum()),
        annotators={person: _share(answers, truth) for person, answers in sorted(said.items())},
        agreement=raw_agreement(counts),
        kappa=fleiss_kappa(counts),
    )


def _counts(items: Sequence[str], classes: Sequence[str], said: Answers) -> Tensor:
    """(items, classes): how many annotators gave each answer."""
    counts = torch.zeros(len(items), len(classes), dtype=torch.float64)
    place, code = {item: i for i, item in enumerate(items)}, {name: c for c, name in enumerate(classes)}
    for answers in said.values():
        for item, answer in answers.items():
            counts[place[item], code[answer]] += 1
    return counts


def _share(answers: Mapping[str, str], truth: Mapping[str, str]) -> float | None:
    return sum(truth[item] == answer for item, answer in answers.items()) / len(answers) if answers else None


def raw_agreement(counts: Tensor) -> float | None:
    """Mean over items of the share of pairs of answers that agree, sum_c n_c (n_c - 1) / (n (n - 1))."""
    rated = counts[counts.sum(1) >= 2]
    if not len(rated):
        return None
    n = rated.sum(1)
    return float(((rated * (rated - 1)).sum(1) / (n * (n - 1))).mean())


def fleiss_kappa(counts: Tensor) -> float | None:
    """(P - Pe) / (1 - Pe) of `counts` (items, classes), P being `raw_agreement` and Pe = sum of squared class shares.

    Items with fewer than two answers are left out. None where it is not defined: all answers are one class.
    """
    observed = raw_agreement(counts)
    rated = counts[counts.sum(1) >= 2]
    if observed is None:
        return None
    expected = float((rated.sum(0) / rated.sum()).square().sum())
    return (observed - expected) / (1 - expected) if expected < 1 else None
