"""What checks take: one table for the sentence and for the seconds."""

from __future__ import annotations

import pytest
import torch

from audit.cases import small_case, subject, table
from unmask.audit import CHECKS, chosen, dependence, smuggling
from unmask.audit.budget import Rates, costs
from unmask.audit.price import cost
from unmask.audit.subjects import Settings
from unmask.audit.work import JOBS, Size, Work, job_of, works


def test_jobs_are_of_checks_that_exist_and_are_counted() -> None:
    assert set(JOBS) <= set(CHECKS)
    known = works(Size(100, 4, "table"))
    assert set(JOBS.values()) <= set(known)
    assert set(known) <= {job_of(check) for check in CHECKS} | set(CHECKS)


def test_what_is_counted() -> None:
    known = works(Size(100, 4, "table"))
    assert known["kept alone"] == Work(answers=400)
    assert known["matched judges"] == Work(pairs=8 * smuggling.SEEDS)
    assert known["cascading-randomization"] == Work(refits=dependence.GROUPS)
    assert works(Size(100, 4, "words"))["moved rows"] == Work()


@pytest.mark.parametrize("check", [name for name in CHECKS if job_of(name) in works(Size(9, 4, "table"))])
def test_what_costs_more_in_words_costs_more_seconds(check: str) -> None:
    """A job that the sentence names is one that a budget counts."""
    case = small_case(table(60))
    kept = torch.zeros_like(case.valid)
    kept[:, 0] = True
    one = case.__class__(**{**vars(case), "subjects": (subject(case, kept),)})
    rates = Rates(answer=0.01, lesson=0.001, fitting=2.0)
    seconds = costs(one, Settings(k=2, checks=chosen(check)), rates)[job_of(check)]
    said = cost(case.data, {"o": "occlusion"}, Settings(k=2, checks=chosen(check)))
    if said != cost(case.data, {"o": "occlusion"}, Settings(k=2, checks=chosen([]))):
        assert seconds > 0 or job_of(check) in ("moved rows", "fragility")  # nobody here can be asked
