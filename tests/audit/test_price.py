"""The cost of an audit in a sentence."""

from __future__ import annotations

import torch

from audit.cases import planted, table
from unmask.audit import chosen, curves, dependence, fragility, halves, infidelity, roar, stability
from unmask.audit.baseline import ways
from unmask.audit.light import ROWS
from unmask.audit.price import cost
from unmask.audit.subjects import Settings

DATA = table(600)


def test_the_cost_counts_what_will_be_run():
    def said(checks, given=None, data=DATA):
        return cost(data, given or {"o": "occlusion", "mine": torch.zeros(3)}, Settings(k=2, checks=chosen(checks)))

    assert "fresh" not in said("default")
    again = stability.REFITS + dependence.REFITS + len(ways("table"))
    judges = 36 + 5 * 2 * 2 * halves.pairs(120)  # a pair of judges and more for both halves of all five
    assert said("default").endswith(
        f"{judges} judges trained, {(stability.DRAWS + again) * ROWS:,} rows explained again, "
        f"{fragility.TRIES * ROWS:,} rows led astray"
    )  # on some of the 120 rows, and nothing is fitted again
    assert said([]).endswith("36 judges trained")  # all judges start as those of eval-x
    assert said("half-share").endswith(f"{judges} judges trained")
    assert said(["fs-a"]).endswith("at least 5 fresh networks trained")
    assert "at least 10 fresh networks trained" in said(["fs-a", "fu-a"])
    assert said("sen").endswith(f"{stability.DRAWS * 120:,} rows explained again")  # scores alone cannot be moved
    assert said("all", data=planted("words")).count("explained again") == 0
    assert said("randomized-model").endswith(f"{dependence.REFITS} explainers fitted again")
    assert "a copy of the model trained on shuffled labels" in said("permuted-labels")
    assert said("topk-overlap") == said("sen")  # the same draws
    refits = stability.REFITS + 2 * dependence.GROUPS
    names = ["seed-stability", "seed-correlation", "cascading-randomization", "independent-randomization"]
    assert said(names).endswith(f"{refits} explainers fitted again")
    assert said("removal-sensitivity").endswith("3 explainers fitted again")
    assert said("roar").endswith(f"{5 * len(roar.SHARES)} networks retrained without units")
    assert "rows led astray" in said("fragility")


def test_curves_and_infidelity_are_counted_among_the_answers():
    def answers(checks):
        text = cost(DATA, {"o": "occlusion"}, Settings(k=2, checks=chosen(checks)))
        return int(text.split("about ")[1].split(" model answers")[0].replace(",", ""))

    assert answers("insertion") - answers([]) == curves.ANSWERS * 4 * curves.ROWS
    assert answers(["insertion", "deletion"]) == answers("insertion")
    assert answers(["infidelity", "infidelity-raw"]) - answers([]) == infidelity.SAMPLES * infidelity.ROWS
