"""Data sets by name, your own data, and data with a known cheat planted in it."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unmask.data import folder
from unmask.errors import InputError, unknown

if TYPE_CHECKING:
    from unmask.data.files import read as read
    from unmask.data.hub import from_hub as from_hub
    from unmask.data.own import dataset as dataset
    from unmask.data.planting import plant as plant
    from unmask.data.planting import planted as planted
    from unmask.data.synthetic import probabilities as probabilities
    from unmask.data.tokens import tokenize as tokenize
    from unmask.types import Dataset, Kind

__all__ = [
    "DATASETS",
    "Source",
    "available",
    "dataset",
    "from_hub",
    "load",
    "named",
    "plant",
    "planted",
    "probabilities",
    "read",
    "tokenize",
]

_LAZY = {  # name -> its module, imported when first asked for
    "dataset": "own",
    "from_hub": "hub",
    "plant": "planting",
    "planted": "planting",
    "probabilities": "synthetic",
    "read": "files",
    "tokenize": "tokens",
}


@dataclass(frozen=True)
class Source:
    """Where a data set comes from; `path` is module:function of its loader."""

    path: str
    kind: Kind
    line: str
    where: str = "embedded"  # or "yours" (the option `path` names it), or the folder below UNMASK_DATA
    hub: str = ""  # public Hugging Face id, its configuration after a colon
    options: tuple[str, ...] = ()
    bare: str = ""  # the option set by a value without a name: emotion:anger-joy
    meaning: Mapping[str, str] = field(default_factory=dict, hash=False)  # of options that their names do not tell


_TEXT = ("length", "rows", "scale", "truncate")
_IMAGE = ("patch", "rows", "scale")
_REVIEWS = {
    "aspect": "whose sentiment is the label: appearance, aroma, palate or taste",
    "bias": "a word before the first sentence tells the label at this rate",
    "common": "share of the sentiment words that all aspects have in common",
    "correlation": "between the sentiments of any two aspects",
    "cue": "with bias: agreeing, a word of no meaning for each label; inverted, 'positive' or 'negative', whichever "
    "contradicts the label (the stricter form of Yu et al.'s code)",
    "n": "reviews to learn from; a quarter as many to validate, and to test",
    "noise": "share of sentiment words of the other polarity",
    "order": "of the sentences: usual (appearance opens), random or fixed",
    "preset": "easy or hard, which has more words and fewer in common",
    "skew": "the predictor of a rationale model first learns from the opening sentence alone, for so many epochs",
    "unit": "words or sentences",
    "words": "sentiment words of each aspect and polarity",
}

DATASETS: dict[str, Source] = {
    "additive": Source("synthetic:task", "table", "ten columns, four of them add up to the label", options=("n",)),
    "adult": Source("tables:load_table", "table", "census: income above 50K", "tabular", options=("rows", "scale")),
    "beer": Source(
        "rationales:beer",
        "words",
        "beer reviews, one aspect, human rationales",
        "beer",
        "",
        ("aspect", *_TEXT),
        "aspect",
    ),
    "beer-lei": Source(
        "lei:beer_lei",
        "words",
        "the beer reviews of Lei et al. 2016, for those who hold them",
        "yours",
        options=("aspect", "bias", "length", "path", "rows", "skew", "unit"),
        bare="path",
        meaning={option: _REVIEWS[option] for option in ("bias", "skew", "unit")},
    ),
    "compas": Source(
        "tables:load_table", "table", "defendants: arrested again in two years", "tabular", options=("rows", "scale")
    ),
    "digits": Source("embedded:digits", "image", "digits of 8 by 8 pixels, ten classes", options=("patch",)),
    "emotion": Source(
        "text:load_text",
        "words",
        "tweets: anger, joy, optimism, sadness (or two of them)",
        "tweeteval_emotion",
        "cardiffnlp/tweet_eval:emotion",
        ("only", *_TEXT),
        "only",
    ),
    "eraser-movies": Source(
        "rationales:eraser_movies",
        "words",
        "movie reviews with human rationales, exhaustive or original ones",
        "eraser_movies",
        options=("annotation", *_TEXT),
        meaning={"annotation": "of test: exhaustive (ERASER's, of every rationale) or original (the one it replaced)"},
    ),
    "fashion-mnist": Source(
        "images:load_images", "image", "clothes, ten classes", "fashion_mnist", "zalando-datasets/fashion_mnist", _IMAGE
    ),
    "fashion-pullover-shirt": Source(
        "images:load_images", "image", "pullover or shirt", "fashion_mnist", "zalando-datasets/fashion_mnist", _IMAGE
    ),
    "game": Source(
        "game:game", "table", "players over time, 41 groups of features, four of them decide", options=("n", "noise")
    ),
    "german": Source("tables:load_table", "table", "credit: good or bad", "tabular", options=("rows", "scale")),
    "hate": Source(
        "text:load_text", "words", "tweets: hate or not", "tweeteval_hate", "cardiffnlp/tweet_eval:hate", _TEXT
    ),
    "heloc": Source(
        "tables:load_table", "table", "home equity loans: bad or good", "tabular", options=("rows", "scale")
    ),
    "image-folder": Source(
        "image_folder:image_folder",
        "image",
        "your pictures, one folder for each class",
        "yours",
        options=("patch", "path", "rows", "size"),
        bare="path",
    ),
    "imdb": Source("text:load_text", "words", "movie reviews", "imdb", "stanfordnlp/imdb", _TEXT),
    "mnist": Source("images:load_images", "image", "digits of 28 by 28 pixels", "mnist", "ylecun/mnist", _IMAGE),
    "mnist-3-8": Source("images:load_images", "image", "the digits 3 and 8", "mnist", "ylecun/mnist", _IMAGE),
    "orange": Source("synthetic:task", "table", "ten columns, label by distance in four", options=("n",)),
    "reviews": Source(
        "reviews:reviews", "words", "generated reviews, known rationale", options=tuple(_REVIEWS), meaning=_REVIEWS
    ),
    "rotten-tomatoes": Source(
        "text:load_text",
        "words",
        "movie snippets",
        "rotten_tomatoes",
        "cornell-movie-review-data/rotten_tomatoes",
        _TEXT,
    ),
    "sst2": Source("text:load_text", "words", "treebank sentences, two classes", "sst2", "SetFit/sst2", _TEXT),
    "sst2-glue": Source("text:load_text", "words", "treebank phrases of GLUE", "sst2_glue", "nyu-mll/glue:sst2", _TEXT),
    "sst5": Source("text:load_text", "words", "treebank sentences, five classes", "sst5", "SetFit/sst5", _TEXT),
    "switch": Source("synthetic:task", "table", "ten columns, one says which four matter", options=("legacy", "n")),
    "tumours": Source("embedded:tumours", "table", "breast tumours: malignant or benign"),
    "xor": Source("synthetic:task", "table", "ten columns, label by the product of two", options=("n",)),
    "yelp-sentences": Source("text:load_text", "words", "short sentences of Yelp reviews", "yelp_sentences", "", _TEXT),
}

_SIZES = ("length", "n", "rows", "scale", "truncate")  # say how much of a set, so they stay out of its name


def load(name: str, seed: int = 0, **options: Any) -> Dataset:
    """A data set by name; options by keyword or after a colon (`reviews:bias=0.8,preset=hard`, `emotion:anger-joy`).

    The same name, options and seed give the same rows.
    """
    base, written = named(name)
    source = DATASETS[base]
    options = {**written, **options}
    _check(base, options)
    module, _, function = source.path.partition(":")
    made: Dataset = getattr(importlib.import_module(f"{__name__}.{module}"), function)(base, seed, **options)
    plain = {key: str(value) if isinstance(value, os.PathLike) else value for key, value in options.items()}
    notes = {**made.notes, "seed": seed, "options": plain}
    return replace(made, name=_label(base, options, source.bare), notes=notes)


def named(name: str) -> tuple[str, dict[str, Any]]:
    """`reviews:bias=0.8` -> the set and the options written after its colon; unknown ones are refused."""
    base, _, text = name.partition(":")
    if base not in DATASETS:
        raise unknown("data set", base, DATASETS)
    options = _parse(text, DATASETS[base].bare, name)
    _check(base, options)
    return base, options


def _check(base: str, options: Mapping[str, Any]) -> None:
    known = DATASETS[base].options
    for option in options:
        if option not in known:
            raise InputError(f"{base} has no option {option!r}; its options are: {', '.join(known) or 'none'}")


def available(name: str) -> str:
    """`embedded`, `yours`, `folder` or `hub`: where `load` takes the set from; else `missing`, and what to do."""
    base = name.partition(":")[0]
    if base not in DATASETS:
        raise unknown("data set", base, DATASETS)
    source = DATASETS[base]
    if source.where == "embedded":
        return "embedded"
    if source.where == "yours":
        return f'yours: say where it is, {base}:{source.bare.upper()} or load("{base}", {source.bare}="...")'
    if folder.find(source.where) is not None:
        return "folder"
    if source.hub and importlib.util.find_spec("datasets") is not None:
        return "hub"
    return f"missing: {folder.remedy(base, source.where, source.hub)}"


def _parse(text: str, bare: str, name: str) -> dict[str, Any]:
    """The options written after the colon of a name."""
    options: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        if not equals and not bare:
            raise InputError(f"options after a colon are written option=value, got {item!r} in {name!r}")
        options[key if equals else bare] = _value(value if equals else item)
    return options


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _label(base: str, options: dict[str, Any], bare: str) -> str:
    told = sorted((key, value) for key, value in options.items() if key not in _SIZES)
    plain = [(key, str(value).lower() if isinstance(value, bool) else str(value)) for key, value in told]
    written = [value if key == bare else f"{key}={value}" for key, value in plain]
    return f"{base}:{','.join(written)}" if written else base


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
