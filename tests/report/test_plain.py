from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch

from report import invented
from unmask.report.plain import agreement, as_json, plain


def test_points_of_a_curve_and_remarks_stand_only_where_there_are_any():
    base = invented.findings()
    rows = (invented.result("a", "insertion", 0.5, at=0.0), invented.result("a", "fs-m", 0.5, note="the default net"))
    curve, remark = as_json(replace(base, rows=rows), "0")["rows"]
    assert list(curve) == [*invented.KEYS, "at"]
    assert curve["at"] == 0.0
    assert list(remark) == [*invented.KEYS, "note"]


def test_places_and_training_stand_only_where_there_are_any():
    assert not {"places", "learning"} & set(as_json(invented.findings(), "0"))
    told = as_json(invented.rationales(), "0")
    assert told["places"] == invented.PLACES
    assert told["learning"] == invented.LEARNING


def test_values_become_plain():
    assert plain({1: (np.float32(0.5), np.arange(2)), "set": {"b", "a"}}) == {"1": [0.5, [0, 1]], "set": ["a", "b"]}
    assert plain(torch.tensor([1.0, math.nan])) == [1.0, None]
    assert plain([math.inf, -math.inf, math.nan, True, None, 3]) == [None, None, None, True, None, 3]
    assert plain(complex(1, 2)) == "(1+2j)"


def test_maps_of_attention_travel_where_there_are_any():
    base = invented.findings()
    first = as_json(base, "0")["heats"][0]
    assert list(first) == ["explanation", "label", "words", "lines", "note"]
    assert first["lines"][0] == {"line": "as it is", "weights": list(base.heats[0].lines[0][1])}
    assert "heats" not in as_json(replace(base, heats=()), "0")


def test_the_agreement_of_explanations_is_a_matrix():
    found = agreement(invented.findings())
    assert list(found) == ["agreement"]
    assert list(found["agreement"]) == list(invented.NAMES[:5])
    assert list(found["agreement"]["l2x"]) == list(invented.NAMES[1:5])
    assert as_json(invented.findings(), "0")["agreement"] == found


def test_values_of_rows_are_one_short_text():
    row = replace(invented.result("a", "fs-m", 0.5), values=(1.0, 0.0, 0.123456, math.nan, 1e-30))
    assert as_json(replace(invented.findings(), rows=(row,)), "0")["rows"][0]["values"] == "1 0 0.1235 nan 1e-30"
