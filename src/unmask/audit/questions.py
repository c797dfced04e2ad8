"""What an audit asks, and what the table of checks says of each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["QUESTIONS", "Check"]

QUESTIONS: dict[str, str] = {
    "enough": "Is it enough, is it needed?",
    "smuggling": "Does the mask smuggle the answer?",
    "locked": "Is it locked to a poor choice?",
    "stability": "Is it stable?",
    "dependence": "Does it depend on the model, on the data?",
    "baseline": "Does it depend on the baseline?",
    "agreement": "Do the methods agree?",
    "lying": "Can it be made to lie?",
    "change": "What would change the answer?",
    "attention": "Does attention tell what the model uses?",
    "people": "Do people agree?",
    "cost": "What does it cost?",
}


@dataclass(frozen=True)
class Check:
    """Where a check lives ("module:function" below this folder), which question it answers, and how to read it."""

    path: str
    question: str
    better: Literal["higher", "lower", "none"]
    line: str
    paper: str = ""
    by_class: bool = False  # one more row for each class
    costly: bool = False  # trains or explains much more than the rest: in full on demand only
    light: bool = False  # costly, but in a default audit too: on some rows, where nothing is trained again for it
    attention: bool = False  # about the model's attention: left out where it has none
    rationale: bool = False  # about models that explain themselves: left out where none is audited
    several: bool = False  # about pairs of explanations: left out where there is only one
    null: str = "what units drawn at random give"  # the level beside which a value is read
    truth: bool = False  # about units that people marked, or that are known to decide: left out where they are not
