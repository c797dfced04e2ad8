"""What was made elsewhere as an Explanation.

Nothing is imported from Captum, SHAP or LIME: their objects are known by what they hold.
"""

from __future__ import annotations

from typing import Any

from unmask.errors import InputError
from unmask.foreign.about import About
from unmask.foreign.arrays import plain
from unmask.foreign.lime_weights import is_lime, lime_weights
from unmask.foreign.shap_values import shap_values
from unmask.masking import subsets
from unmask.models import Wrapped
from unmask.types import Dataset, Explanation

__all__ = ["taken"]


def taken(name: str, thing: Any, model: Wrapped, data: Dataset, k: int, split: str) -> Explanation:
    """`thing` as an Explanation of `data[split]`, its k highest units kept; what does not fit is refused."""
    part = data[split]
    about = About(name, data, part, split, model, model(part.x))
    if is_lime(thing):
        values, method = lime_weights(about, thing), "lime"
    elif hasattr(thing, "base_values") and hasattr(thing, "values"):
        values, method = shap_values(about, thing), "shap"
    else:
        values, method = plain(about, thing), "given"
    if not bool(values[part.valid].isfinite().all()):
        raise InputError(f"the scores {name!r} hold values that are not finite; replace them before the audit")
    kept = subsets.topk(values, k, part.valid)
    return Explanation(values.nan_to_num(), kept, part.valid, about.target, {"method": method, "k": k})
