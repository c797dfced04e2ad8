"""The public calls, each a few lines over the rooms below."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file, save
from torch import nn

from unmask import given, nets, progress, seeds
from unmask.audit import chosen, lighter
from unmask.audit.case import digest
from unmask.audit.memo import Memo, code
from unmask.audit.price import cost
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.auto import SET_AUTO, choose
from unmask.data.vectors import glove
from unmask.errors import InputError, unknown
from unmask.foreign import taken
from unmask.loading import load as load_explainer
from unmask.masking import check_removal
from unmask.methods import MODELS, make
from unmask.models import Wrapped, bind, wrap
from unmask.nets import Vocabulary
from unmask.nets.attention import Score, attention_net
from unmask.nets.pretrained import tuned_layers
from unmask.report import Report
from unmask.task import hiding, seeded
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset, Explainer, Explanation
from unmask.writing import write_bytes

__all__ = ["audit", "explainer", "fit", "load_explainer", "rationalize", "take", "train_attention", "train_model"]

QUICK = Recipe(epochs=12, batch=32, rate=1e-3, patience=4)  # of attention classifiers
SLOW = Recipe(epochs=4, batch=32, rate=1e-4, patience=2)  # of those whose transformer is trained on


def train_model(
    data: Dataset,
    *,
    recipe: Recipe | None = None,
    seed: int = 0,
    removal: str | None = None,
    weights: str | Path | None = None,
) -> Wrapped:
    """A small reference model for `data`, its epoch chosen on the validation split; `describe()` has its accuracy.

    With `weights`, a file, what is learned is kept there; where it is there already, nothing is trained.
    """
    recipe = recipe or Recipe(epochs=40, batch=128, rate=1e-3, patience=5, seed=seed)
    reader = nets.read(data, removal)
    net = nets.default(reader, len(data.classes), seed=seeds.derive(recipe.seed, "model"))
    if weights is not None and Path(weights).exists():
        net.load_state_dict(load_file(weights))
        net.eval()
    else:
        train, held_out = ((reader.prepare(split.x), split.y) for split in (data.train, data.validation))
        fit_classifier(net, train, held_out, recipe)
    if weights is not None and not Path(weights).exists():
        write_bytes(Path(weights), save({name: value.contiguous() for name, value in net.state_dict().items()}))
    return _described(net, data, f"reference {type(net).__name__}", removal)


def train_attention(
    data: Dataset,
    encoder: str = "bilstm",
    *,
    score: Score = "additive",
    vectors: Literal["glove"] | None = None,
    frozen: bool = False,
    recipe: Recipe | None = None,
    seed: int = 0,
) -> Wrapped:
    """An attention classifier of words, its epoch chosen on the validation split; `describe()` has its accuracy.

    Encoders: pooling, rnn, gru, bilstm, rcnn, cnn, self-attention; scores: additive, scaled-dot, uniform. With
    `vectors` "glove" it starts from the vectors of GloVe, which stay as they are where `frozen`. The encoder
    "transformer" is the packaged MiniLM (extra hf), whose two upper layers learn; "transformer:tuned=0" to 6 says how
    many do, "transformer:tuned=all" that its vectors do as well.
    """
    if data.kind != "words":
        raise InputError(f"attention classifiers read words, {data.name} holds rows of kind {data.kind}")
    recipe = recipe or replace(SLOW if tuned_layers(encoder) else QUICK, seed=seed)
    reader, drawn = nets.read(data), seeds.derive(recipe.seed, "model")
    known = reader.vocabulary if vectors == "glove" else None
    table = glove(known, drawn) if isinstance(known, Vocabulary) else None
    net = attention_net(reader, len(data.classes), encoder, score=score, vectors=table, seed=drawn)
    if frozen:
        net.embedding.table.requires_grad_(False)
    train, held_out = ((net.reader.prepare(split.x), split.y) for split in (data.train, data.validation))
    fit_classifier(net, train, held_out, recipe)
    return _described(net, data, f"{encoder} with {score} attention", None)


def _described(net: nn.Module, data: Dataset, name: str, removal: str | None) -> Wrapped:
    model = bind(wrap(net, removal=removal), data)
    right = float((model(data.test.x).argmax(1) == data.test.y).float().mean())
    return replace(model, name=name, details={**model.details, "test accuracy": round(right, 4)})


def explainer(name: str, k: int, *, removal: str | None = None, settings: Mapping[str, Any] | None = None) -> Any:
    """An unfitted explainer by name; see `unmask methods`."""
    return make(name, k, removal, settings)


def fit(
    model: Any,
    data: Dataset,
    k: int,
    *,
    method: str = "auto",
    removal: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Any:
    """The explainer `method`, fitted to `model` on `data`; "auto": the best of several that does not smuggle.

    `settings` are other fields of the method's class, such as {"cure": "pretraining", "recipe": {"epochs": 5}}.
    """
    if method == "auto" and settings:
        raise InputError(SET_AUTO)
    k = given.whole(k) or k  # numpy's whole numbers, too
    if method == "auto":
        return choose(model, data, k, removal=removal, seed=seed)
    if method in MODELS:
        raise InputError(
            f"{method} is a model that explains itself, not this one: rationalize(data, k, method={method!r})"
        )
    begun = time.perf_counter()
    fitted = seeded(make(method, k, removal, settings), seed).fit(model, data)
    fitted.seconds_ = time.perf_counter() - begun  # what fitting it again will take
    return fitted


def rationalize(
    data: Dataset, k: int | float = 1, *, method: str = "a2r", seed: int = 0, settings: Mapping[str, Any] | None = None
) -> Any:
    """A model that explains itself, trained on `data`: it chooses k units of a row (or a share), and tells from them.

    It has `predict`, `explain`, and `model()` to audit: `audit(r.model(), data, {"a2r": r})`. See `unmask methods`.
    """
    if method not in MODELS:
        raise unknown("rationale model", method, MODELS)
    return seeded(make(method, k, None, settings), seed).fit(data)


def take(thing: Any, model: Any, data: Dataset, k: int, split: str = "test") -> Explanation:
    """What Captum, SHAP or LIME returned for `data[split]`, an array or a data frame of scores, as an Explanation.

    Brought to units, toward the class the model predicts; what does not fit rows or model is refused. It can be drawn,
    audited and written: `numpy.save("lime.npy", e.scores)` is a file for `unmask audit --scores`.
    """
    size = given.common_k({}, k, data, split)
    found = taken("given", thing, bind(model, data), data, size, split)
    return replace(found, x=data[split].x, layout=data.layout, classes=data.classes)


def audit(
    model: Any,
    data: Dataset,
    explanations: Mapping[str, Any],
    k: int | None = None,
    split: str = "test",
    n: int = 500,
    removal: str | None = None,
    seed: int = 0,
    *,
    checks: str | Iterable[str] = "default",
    pool: int = 2000,
    resume: str | Path | Memo | None = None,
    keep: bool = False,
    budget: float | str | None = None,
    say: Callable[[str], None] = progress.say,
) -> Report:
    """Audit explanations of `model`: fitted explainers, names of methods, Explanations, or what was made elsewhere.

    That is arrays and data frames of scores, what Captum returns, `shap.Explanation`, lists of LIME's explanations.
    All are aligned to `data[split]`; arrays hold scores toward the predicted class, and what is not ours needs `k`.
    `n` rows are drawn; `say` hears the cost first (by default it is shown where progress is). `checks` are "default",
    "all" or names (see `unmask checks`); those a verdict needs are always run. Judges and fresh networks learn from
    `pool` training rows at most. With `resume`, finished checks and trained methods stay there and beside it until
    the audit is complete, or for good where you say `keep`. With a `budget`, seconds or "5m", checks that would not
    fit are left out, and `say` hears which.
    """
    begun = time.perf_counter()
    asked = [checks] if isinstance(checks, str) else list(checks)
    names = chosen(asked)
    if removal is not None:
        check_removal(removal, data.kind)
    wrapped = bind(model, data, removal)
    given.check(explanations, wrapped)
    size, rows, most = given.common_k(explanations, k, data, split), given.rows(n), given.seconds(budget)
    settings = Settings(size, split, rows, removal, seed, names, pool, most, begun, lighter(asked))
    say(cost(data, explanations, settings))
    memo = resume if isinstance(resume, Memo) else Memo(None if resume is None else Path(resume))
    ready = {name: _ready(name, thing, (wrapped, data), settings) for name, thing in explanations.items()}
    memo.begin(wrapped, data, ready, settings)
    subjects = {n: _fitted(t, wrapped, data, settings, memo) if isinstance(t, str) else t for n, t in ready.items()}
    report = Report(run(wrapped, data, subjects, settings, memo=memo, say=say))
    if not keep:
        memo.clear()
    return report


def _ready(name: str, thing: Any, task: tuple[Wrapped, Dataset], settings: Settings) -> str | Explainer | Explanation:
    """What was given as an explainer or an Explanation; names of methods stay names."""
    model, data = task
    asked = hasattr(thing, "explain") and hasattr(thing, "fit") and not isinstance(thing, type)
    if isinstance(thing, str | Explanation) or asked:
        return thing  # type: ignore[no-any-return]
    return taken(name, thing, model, data, settings.k, settings.split)


def _fitted(method: str, model: Wrapped, data: Dataset, settings: Settings, memo: Memo) -> Explainer:
    """The method fitted for this audit, or as the memo has it; what is not trained is as soon made again."""

    def anew() -> Any:
        return fit(model, data, settings.k, method=method, removal=settings.removal, seed=settings.seed)

    if memo.trained is None or not hasattr(make(method, settings.k), "recipe"):
        return anew()  # type: ignore[no-any-return]
    places = memo.places(f"{method}-{_fingerprint(method, model, data, settings, memo.grounds)}")
    fitted = next((e for place in places if (e := _loaded(place, model, data)) is not None), None) or anew()
    if not places[0].exists():
        fitted.save(places[0])
    return fitted  # type: ignore[no-any-return]


def _loaded(place: Path, model: Wrapped, data: Dataset) -> Any:
    try:
        return load_explainer(place, model, data)
    except InputError:  # it is not there, or cannot be read
        shutil.rmtree(place, ignore_errors=True)
    return None


def _fingerprint(method: str, model: Wrapped, data: Dataset, settings: Settings, grounds: str) -> str:
    """Of all that a trained method hangs on: `grounds`, that is data and model, and settings."""
    removal = hiding(model, data, settings.removal)
    how = (
        method,
        settings.k,
        removal.name,
        model.token(removal.name),
        settings.seed,
        data.layout,
        data.classes,
        version("unmask"),
        code(),
    )
    return digest(grounds, how)
