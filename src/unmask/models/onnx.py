"""ONNX files: classifiers from scikit-learn (a label and probabilities) or graphs with one answer, by onnxruntime."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.models.wrapped import Wrapped
from unmask.types import Inputs

__all__ = ["onnx_model"]

NUMBERS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
STRINGS = "tensor(string)"
MAPS = ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")
Takes = Literal["text", "ids", "array", "frame"]
Fed = dict[str, np.ndarray]


def onnx_model(
    source: Any, *, takes: Takes | None, tokenizer: Any, outputs: Any, removal: str | None, joined: Callable[..., Any]
) -> Wrapped:
    """A wrapped ONNX file, session or model; `joined` makes one text of each row of words.

    One input of numbers takes arrays, one of strings takes texts, several take the columns of a data frame. Where the
    only answer is a tensor that is not called logits or probabilities, `outputs` has to say which it is.
    """
    session, name = _session(source)
    inputs = session.get_inputs()
    answer = _answer(session, name, outputs)
    takes = takes or _takes(inputs, name)
    asked = _Session(session, inputs, answer.names, _fixed(inputs))
    return Wrapped(
        name=name,
        call=lambda fed: answer.numbers(asked(fed)),
        feed=_feed(inputs, takes, tokenizer, joined),
        outputs=answer.outputs,
        removal=removal,
        classes=answer.classes,
        labels=answer.labels(session, inputs, takes),
        mask_token=getattr(tokenizer, "mask_token", None),
        takes=takes,
        batch=asked.size or 1024,
        details={"framework": "onnx", "inputs": [i.name for i in inputs], "answer": list(answer.names)},
    )


def _session(source: Any) -> tuple[Any, str]:
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError('ONNX files need the package onnxruntime; run pip install "unmask[onnx]"') from error
    if isinstance(source, onnxruntime.InferenceSession):
        return source, "onnx model"
    if isinstance(source, (str, Path)) and not Path(source).is_file():
        raise InputError(f"there is no file or folder {source}; expected an ONNX file or a Hugging Face folder there")
    content = source.SerializeToString() if hasattr(source, "SerializeToString") else str(source)
    name = Path(source).stem if isinstance(source, (str, Path)) else "onnx model"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised as well, and said once
    options.intra_op_num_threads = torch.get_num_threads()  # the machine may be shared with other tasks
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]), name
    except Exception as error:  # onnxruntime has a dozen kinds of its own, none of them public
        raise InputError(f"{source if name != 'onnx model' else name} cannot be read as ONNX ({error})") from error


@dataclass(frozen=True)
class _Session:
    """Asks the session about one batch; a file with a fixed number of rows gets its last batch filled up."""

    session: Any
    inputs: list[Any]
    names: tuple[str, ...]
    size: int | None  # rows that the file wants in each batch, where it does not leave that open

    def __call__(self, fed: Any) -> list[Any]:
        if not isinstance(fed, dict):  # a data frame, see bind
            fed = _columns(fed, self.inputs)
        fed = {one.name: _shaped(fed[one.name], one) for one in self.inputs}
        n = len(next(iter(fed.values())))
        if self.size is not None and n < self.size:
            fed = {name: np.concatenate([v, np.repeat(v[-1:], self.size - n, 0)]) for name, v in fed.items()}
        return [found[:n] for found in self.session.run(list(self.names), fed)]


def _fixed(inputs: list[Any]) -> int | None:
    first = {one.shape[0] for one in inputs if one.shape and isinstance(one.shape[0], int)}
    return first.pop() if len(first) == 1 else None


def _takes(inputs: list[Any], name: str) -> Takes:
    known = ", ".join(f"{one.name} {one.type}{list(one.shape)}" for one in inputs)
    if any(one.type not in NUMBERS and one.type != STRINGS for one in inputs):
        raise InputError(f"{name} takes what no data have: {known}; wrap a callable that prepares it")
    if any(one.name == "input_ids" for one in inputs):
        raise InputError(
            f"{name} takes ids of words ({known}): say takes='ids' and tokenizer=, a callable from rows of words to "
            "ids, or to a mapping from the names of these inputs to arrays"
        )
    if len(inputs) > 1:
        return "frame"
    only = inputs[0]
    if only.type != STRINGS:
        return "array"
    return "frame" if len(only.shape) == 2 and isinstance(only.shape[1], int) and only.shape[1] > 1 else "text"


def _feed(inputs: list[Any], takes: Takes, tokenizer: Any, joined: Callable[..., Any]) -> Callable[[Inputs], Any]:
    if takes == "ids":
        return partial(_ids, inputs, tokenizer)
    if takes == "text":
        return lambda rows: {inputs[0].name: np.array(joined(rows), dtype=object)}
    if takes == "array" and len(inputs) == 1:
        return partial(_array, inputs[0])
    return _unbound


def _ids(inputs: list[Any], tokenizer: Any, rows: Inputs) -> Fed:
    made = tokenizer(rows)
    if isinstance(made, Mapping) or hasattr(made, "keys"):
        lacking = [one.name for one in inputs if one.name not in made]
        if lacking:
            raise InputError(f"the tokenizer gives {', '.join(made)}, but the ONNX file also wants {lacking[0]}")
        return {one.name: np.asarray(made[one.name]) for one in inputs}
    if len(inputs) > 1:
        wanted = ", ".join(one.name for one in inputs)
        raise InputError(f"the ONNX file has several inputs: the tokenizer must return a mapping with {wanted}")
    return {inputs[0].name: np.asarray(made)}


def _array(only: Any, rows: Inputs) -> Fed:
    if not isinstance(rows, Tensor):
        raise InputError("this ONNX file takes arrays but the data are texts: it needs one input of strings")
    values = rows.numpy()
    return {only.name: values if len(only.shape) == values.ndim else values.reshape(len(values), -1)}


def _unbound(rows: Inputs) -> Any:
    raise InputError("this ONNX file takes columns by name: give it with its data, as a data frame or a csv file")


def _columns(frame: Any, inputs: list[Any]) -> Fed:
    """The columns of a data frame by the names of the inputs; blanks and signs in a name may stand as underscores."""
    if len(inputs) == 1:
        return {inputs[0].name: frame.to_numpy()}
    by_name = {name: column for column in frame.columns for name in (re.sub(r"\W", "_", str(column)), str(column))}
    lacking = [one.name for one in inputs if one.name not in by_name]
    if lacking:
        have = ", ".join(map(str, frame.columns))
        raise InputError(f"the ONNX file takes a column {lacking[0]!r}, but the data have: {have}; rename the columns")
    return {one.name: frame[by_name[one.name]].to_numpy() for one in inputs}


def _shaped(values: np.ndarray, one: Any) -> np.ndarray:
    """The values as the input wants them: its type, and a column where it wants one."""
    if one.type == STRINGS:
        values = np.array([str(v) for v in values.flat], dtype=object).reshape(values.shape)
    else:
        values = values.astype(NUMBERS[one.type])
    values = values[:, None] if values.ndim == 1 and len(one.shape) == 2 else values
    if len(one.shape) not in (0, values.ndim) or not all(map(_fits, one.shape[1:], values.shape[1:])):
        raise InputError(
            f"the ONNX file wants rows of shape {tuple(one.shape[1:])} in {one.name!r}, the data have "
            f"{tuple(values.shape[1:])}; give the data it was trained on"
        )
    return values


def _fits(wanted: Any, got: int) -> bool:
    return not isinstance(wanted, int) or wanted == got


@dataclass(frozen=True)
class _Answer:
    """Which outputs hold the numbers, and what they are."""

    names: tuple[str, ...]
    outputs: Literal["probabilities", "logits"]
    classes: int | None
    maps: bool = False

    def numbers(self, found: list[Any]) -> Any:
        """(n, classes) from a tensor, from mappings class -> probability, or from one column for each class."""
        if self.maps:
            return np.array([list(row.values()) for row in found[0]], dtype=np.float32)
        return np.stack(found, 1) if len(found) > 1 else found[0]

    def labels(self, session: Any, inputs: list[Any], takes: str) -> tuple[str, ...]:
        """Names of the columns where the file tells them: it is asked about one row of nothing."""
        if not self.maps or takes == "ids":
            return ()
        nothing = {one.name: np.full([s if isinstance(s, int) else 1 for s in one.shape], 0) for one in inputs}
        blank = {one.name: _shaped(nothing[one.name], one) for one in inputs}
        try:
            return tuple(str(label) for label in session.run(list(self.names), blank)[0][0])
        except Exception:  # a row of nothing may be refused: then the names stay unknown
            return ()


def _answer(session: Any, name: str, outputs: Any) -> _Answer:
    found = session.get_outputs()
    maps = [out for out in found if out.type in MAPS]
    if maps:
        return _Answer((maps[0].name,), "probabilities", None, maps=True)
    floats = [out for out in found if out.type in ("tensor(float)", "tensor(double)", "tensor(float16)")]
    labelled = len(floats) < len(found)  # scikit-learn's files give the label too
    if len(floats) > 1 and labelled and all(len(out.shape) < 2 for out in floats):
        return _Answer(tuple(out.name for out in floats), "probabilities", len(floats))
    called = {out.name.lower(): out for out in floats}
    chosen = called.get("probabilities", called.get("logits", floats[0] if len(floats) == 1 else None))
    if chosen is None:
        held = ", ".join(f"{out.name} {out.type}" for out in found)
        raise InputError(
            f"{name} must answer with one table of numbers (rows, classes), it has: {held}; export it again with one"
        )
    said: Any = outputs or ("probabilities" if labelled or "prob" in chosen.name.lower() else None)
    said = said or ("logits" if "logit" in chosen.name.lower() else None)
    if said not in ("logits", "probabilities"):
        raise InputError(
            f"say what {name} returns in {chosen.name!r}: wrap(model, outputs='logits') or outputs='probabilities'"
        )
    wide = chosen.shape[1] if len(chosen.shape) == 2 and isinstance(chosen.shape[1], int) else None
    return _Answer((chosen.name,), said, wide)
