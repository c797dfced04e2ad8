"""`wrap`: find out what was given, ask for what cannot be inferred."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from unmask import batches, devices
from unmask.errors import InputError
from unmask.masking.removals import PAD
from unmask.models.hugging import hugging_model, is_hugging
from unmask.models.onnx import onnx_model
from unmask.models.wrapped import Wrapped
from unmask.nets.pieces import Pieces
from unmask.types import Inputs

__all__ = ["Takes", "wrap"]

Takes = Literal["text", "ids", "array", "frame"]


def wrap(
    model: Any,
    *,
    takes: Takes | None = None,
    tokenizer: Any = None,
    outputs: Literal["probabilities", "logits"] | None = None,
    device: str = "auto",
    removal: str | None = None,
    attention: str | None = None,
) -> Wrapped:
    """Anything that predicts classes as one callable `x -> (n, classes)` probabilities.

    Takes a torch module (say `outputs=`), a scikit-learn classifier, a callable that returns probabilities, an ONNX
    file, or a Hugging Face classifier of texts: its folder, a pipeline, or the model with `tokenizer`. `takes` says
    what it wants: "array", "frame" (a data frame), "text" (units joined by spaces) or "ids" (with a `tokenizer`: a
    callable from rows of words to a tensor of ids). `attention` names the submodule of a torch module whose output is
    its attention weights, one for each word. A torch module answers in evaluation mode, and stays in it. What a model
    knows of itself need not be said, and is refused if wrong.
    """
    if takes not in (None, "text", "ids", "array", "frame"):
        raise InputError(f"takes must be 'text', 'ids', 'array' or 'frame', got {takes!r}")
    ready = isinstance(model, Wrapped)
    if attention is not None and not isinstance(model.module if ready else model, nn.Module):
        kind = model.name if ready else type(model).__name__
        raise InputError(f"attention names a part of a torch module, got a {kind}")
    if ready:
        if tokenizer is not None:
            raise InputError(
                f"{model.name} is wrapped already, got a tokenizer; give it when the model itself is wrapped"
            )
        found = replace(model, removal=removal or model.removal, attention=attention or model.attention)
    elif isinstance(model, type):
        raise InputError(f"wrap takes a fitted model, got the class {model.__name__}; make one of it and fit it first")
    elif is_hugging(model):
        found = hugging_model(model, tokenizer, device, removal, attention)
    elif isinstance(model, nn.Module):
        found = replace(_torch(model, takes, tokenizer, outputs, device, removal), attention=attention)
    else:
        found = _other(model, takes, tokenizer, outputs, removal)
    return _agreed(found, takes, outputs)


def _other(model: Any, takes: Takes | None, tokenizer: Any, outputs: Any, removal: str | None) -> Wrapped:
    """What torch does not know: an ONNX file, a classifier of scikit-learn, a callable."""
    _check_tokenizer(takes, tokenizer)
    if _is_onnx(model):
        return onnx_model(model, takes=takes, tokenizer=tokenizer, outputs=outputs, removal=removal, joined=_joined)
    if callable(getattr(model, "predict_proba", None)):
        return _scikit(model, takes, tokenizer, removal)
    if callable(model):
        return _callable(model, takes, tokenizer, outputs, removal)
    raise InputError(_cannot(model))


def _check_tokenizer(takes: Takes | None, tokenizer: Any) -> None:
    """It makes ids, or it knows a mask token; else nobody would ask it."""
    if takes == "ids" and tokenizer is None:
        raise InputError("takes='ids' needs tokenizer=, a callable that turns rows of words into a tensor of ids")
    if tokenizer is not None and takes != "ids" and getattr(tokenizer, "mask_token", None) is None:
        raise InputError(
            f"a tokenizer is for takes='ids', got it with takes={takes!r}; say takes='ids' or leave it out"
        )


def _agreed(model: Wrapped, takes: Takes | None, outputs: str | None) -> Wrapped:
    """The model; what the caller says of it must be so, and saying it again is harmless."""
    known = {"takes": (takes, model.takes, "takes"), "outputs": (outputs, model.outputs, "returns")}
    for option, (given, so, does) in known.items():
        if given not in (None, so):
            raise InputError(
                f"{model.name} {does} {so!r}, got {option}={given!r}; leave {option} out, or wrap a function around it"
            )
    return model


def _is_onnx(model: Any) -> bool:
    """A path to a file, a session of onnxruntime, or a model of the package onnx."""
    if isinstance(model, (str, Path)):
        return not Path(model).is_dir()
    return type(model).__name__ in ("InferenceSession", "ModelProto")


def _cannot(model: Any) -> str:
    name = type(model).__name__
    if hasattr(model, "__sklearn_tags__") and model.__sklearn_tags__().estimator_type == "regressor":
        return f"{name} predicts numbers: regression is not supported, wrap a classifier"
    if hasattr(model, "predict"):
        return f"{name} has predict but no predict_proba: put it into CalibratedClassifierCV and fit that"
    return (
        "wrap takes a torch module, a fitted scikit-learn classifier, a callable, an ONNX file or a Hugging Face "
        f"folder or pipeline, got a {name}"
    )


def _torch(
    module: nn.Module, takes: Takes | None, tokenizer: Any, outputs: Any, device: str, removal: str | None
) -> Wrapped:
    reader = getattr(module, "reader", None)  # our own networks know how to read rows, and return logits
    if reader is not None and tokenizer is not None:
        raise InputError(f"{type(module).__name__} reads rows by itself, got a tokenizer; leave it out")
    if reader is None and takes == "ids":
        _check_tokenizer(takes, tokenizer)
    outputs = outputs or ("logits" if reader is not None else None)
    if outputs not in ("logits", "probabilities"):
        raise InputError("say what the torch module returns: wrap(model, outputs='logits') or outputs='probabilities'")
    place = devices.pick(device)
    module = module.to(place).eval()
    prepare = reader.prepare if reader is not None else _preparer(takes, tokenizer)
    return Wrapped(
        name=type(module).__name__,
        call=module,
        feed=lambda rows: prepare(rows).to(place),
        outputs=outputs,
        removal=removal,
        module=module,
        mask_token=getattr(tokenizer, "mask_token", None),
        takes=(takes or "array") if reader is None else "array" if reader.vocabulary is None else "ids",
        batch=64 if isinstance(getattr(reader, "vocabulary", None), Pieces) else 512,
        values=batches.AT_ONCE if place.type == "cpu" else None,
        details={"framework": "torch"},
    )


def _preparer(takes: Takes | None, tokenizer: Any) -> Callable[[Inputs], Tensor]:
    if takes in ("text", "frame"):
        raise InputError(f"a torch module takes 'array' or 'ids', not {takes!r}; wrap a callable that does the rest")

    def prepare(rows: Inputs) -> Tensor:
        if tokenizer is not None:
            return _ids(tokenizer(rows))
        if not isinstance(rows, Tensor):
            raise InputError("this torch module gets words: say wrap(model, takes='ids', tokenizer=...)")
        return rows

    return prepare


def _ids(found: Any) -> Tensor:
    try:
        return torch.as_tensor(found)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"the tokenizer must give a tensor of ids, all rows of one length, got a {type(found).__name__} ({error}); "
            "wrap a function that fills up short rows and takes the ids out"
        ) from error


def _scikit(model: Any, takes: Takes | None, tokenizer: Any, removal: str | None) -> Wrapped:
    if not hasattr(model, "classes_"):
        raise InputError(
            f"{type(model).__name__} is not fitted (it has no classes_): call its fit before wrap, or wrap a function"
        )
    takes = takes or _scikit_takes(model)
    return Wrapped(
        name=type(model).__name__,
        call=model.predict_proba,
        feed=tokenizer if takes == "ids" else _flat if takes == "array" else _FEEDS[takes],
        outputs="probabilities",
        removal=removal,
        classes=len(model.classes_),
        labels=tuple(map(str, model.classes_)),
        estimator=model,
        mask_token=getattr(tokenizer, "mask_token", None),
        takes=takes,
        batch=8192,
        details={"framework": "scikit-learn"},
    )


def _scikit_takes(model: Any) -> Takes:
    first = model.steps[0][1] if hasattr(model, "steps") else model
    if hasattr(first, "build_analyzer"):
        return "text"
    return "frame" if hasattr(model, "feature_names_in_") else "array"


def _callable(
    function: Callable[[Any], Any], takes: Takes | None, tokenizer: Any, outputs: Any, removal: str | None
) -> Wrapped:
    name = getattr(function, "__name__", type(function).__name__)
    if outputs not in (None, "logits", "probabilities"):
        raise InputError(f"outputs must be 'probabilities' or 'logits', got {outputs!r}")
    feed = tokenizer if takes == "ids" else _FEEDS[takes] if takes else _guessed
    return Wrapped(
        name="callable" if name == "<lambda>" else name,
        call=function,
        feed=feed,
        outputs=outputs or "probabilities",
        removal=removal,
        mask_token=getattr(tokenizer, "mask_token", None),
        takes=takes or "array",
        details={"framework": "callable"},
    )


def _guessed(rows: Inputs) -> Any:
    return _plain_array(rows) if isinstance(rows, Tensor) else _joined(rows)


def _plain_array(rows: Inputs) -> Any:
    if not isinstance(rows, Tensor):
        raise InputError("this model takes arrays but the data are texts: say wrap(model, takes='text')")
    return rows.numpy()


def _flat(rows: Inputs) -> Any:
    """scikit-learn takes one long row for each image."""
    return _plain_array(rows).reshape(len(rows), -1)


def _unbound(rows: Inputs) -> Any:
    raise InputError("this model takes data frames: give it with its data, load_explainer(path, model=..., data=...)")


def _joined(rows: Inputs) -> list[str]:
    """Each row as one text; words hidden by padding leave no trace."""
    flat = ([w for unit in row for w in (unit if isinstance(unit, list) else [unit])] for row in rows)
    return [" ".join(word for word in words if word != PAD) for words in flat]


_FEEDS: dict[str, Callable[[Inputs], Any]] = {"text": _joined, "array": _plain_array, "frame": _unbound}
"""What each `takes` is fed; frames need the data's column names and are set by `bind`."""
