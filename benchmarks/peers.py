"""Explanations made by Captum, SHAP and LIME themselves, as a user makes them, written to files for `--scores`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import unmask
from unmask.models import bind
from unmask.types import Dataset

Rows = Callable[[Any], np.ndarray]  # rows as numpy has them -> probabilities


def tables(model: Any, data: Dataset, k: int, folder: Path) -> None:
    """Captum's sampled Shapley values and LIME's weights of columns; one-hot columns of a variable move together."""
    train, test = data.train.x.numpy(), data.test.x.numpy()
    bound = bind(unmask.wrap(model), data)

    def says(rows: Any) -> np.ndarray:
        return bound(torch.as_tensor(np.asarray(rows, dtype=np.float32))).numpy()

    once(folder / "captum.npy", lambda: unmask.take(_captum_table(says, data), model, data, k).scores.numpy())
    once(folder / "lime.npy", lambda: unmask.take(_lime_table(says, train, test, data), model, data, k).scores.numpy())


def _captum_table(says: Rows, data: Dataset) -> Tensor:
    from captum.attr import ShapleyValueSampling

    torch.manual_seed(0)
    target = torch.as_tensor(says(data.test.x)).argmax(1)
    method = ShapleyValueSampling(lambda x: torch.as_tensor(says(x)))
    mean = data.train.x.mean(0, keepdim=True)
    groups = torch.tensor(data.layout.owner)[None]
    found: Tensor = method.attribute(data.test.x, mean, target=target, feature_mask=groups, n_samples=20)
    units = torch.zeros(len(target), data.layout.d)  # every column of a group has the value of the group: take one
    return units.scatter(1, groups.expand(len(target), -1), found.float())


def _lime_table(says: Rows, train: np.ndarray, test: np.ndarray, data: Dataset) -> list[Any]:
    from lime.lime_tabular import LimeTabularExplainer

    width = data.layout.shape[0]
    several = [c for c, unit in enumerate(data.layout.owner) if data.layout.owner.count(unit) > 1]
    names = data.frames.names() if data.frames is not None else list(data.units)
    lime = LimeTabularExplainer(train, feature_names=names, categorical_features=several, random_state=0)
    classes = range(len(data.classes))
    return [lime.explain_instance(row, says, labels=classes, num_features=width, num_samples=1000) for row in test]


def images(net: nn.Module, data: Dataset, k: int, folder: Path) -> None:
    """Captum's integrated gradients, SHAP's expected gradients, LIME over the cells of the picture."""
    model = unmask.wrap(net, outputs="logits")
    once(folder / "captum.npy", lambda: unmask.take(_captum_image(net, data), model, data, k).scores.numpy())
    once(folder / "shap.npy", lambda: unmask.take(_shap_image(net, data), model, data, k).scores.numpy())
    once(folder / "lime.npy", lambda: unmask.take(_lime_image(net, data), model, data, k).scores.numpy())


def _captum_image(net: nn.Module, data: Dataset) -> Tensor:
    from captum.attr import IntegratedGradients

    x = data.test.x
    with torch.no_grad():
        target = net(x).argmax(1)
    found: Tensor = IntegratedGradients(net).attribute(x, target=target, n_steps=32, internal_batch_size=512)
    return found.detach()


def _shap_image(net: nn.Module, data: Dataset) -> np.ndarray:
    """(n, 1, 28, 28, classes)"""
    import shap

    explainer = shap.GradientExplainer(net, data.train.x[:100])
    return np.asarray(explainer.shap_values(data.test.x, nsamples=64, rseed=0))


def _lime_image(net: nn.Module, data: Dataset) -> list[Any]:
    from lime.lime_image import LimeImageExplainer

    cells = np.array(data.layout.owner).reshape(data.layout.shape[1:])

    def says(pictures: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.as_tensor(pictures[..., 0], dtype=torch.float32)[:, None]).softmax(1).numpy()

    lime = LimeImageExplainer(random_state=0)
    settings = {"top_labels": None, "labels": range(len(data.classes)), "hide_color": 0, "num_samples": 200}
    settings |= {"segmentation_fn": lambda _: cells, "batch_size": 300, "num_features": data.layout.d}
    pictures = data.test.x[:, 0].double().numpy()
    return [quietly(lambda p=p: lime.explain_instance(p, says, **settings)) for p in pictures]


def texts(folder: Path, data: Dataset, k: int) -> None:
    """Captum's integrated gradients of word vectors, SHAP's and LIME's of words, of a Hugging Face folder."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    net = AutoModelForSequenceClassification.from_pretrained(folder / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")

    def says(rows: Any) -> np.ndarray:
        with torch.no_grad():
            parts = [list(map(str, rows[i : i + 64])) for i in range(0, len(rows), 64)]
            logits = [
                net(**tokenizer(part, padding=True, truncation=True, return_tensors="pt")).logits for part in parts
            ]
        return torch.cat(logits).softmax(1).numpy()

    lines = [" ".join(row) for row in data.test.x]
    model = unmask.wrap(folder / "model")
    made = {
        "captum": lambda: _captum_text(net, tokenizer, lines),
        "shap": lambda: _shap_text(says, tokenizer, lines, data.classes),
        "lime": lambda: _lime_text(says, lines),
    }
    for name, make in made.items():
        once(folder / f"{name}.npy", lambda make=make: unmask.take(make(), model, data, k).scores.numpy())


def _captum_text(net: Any, tokenizer: Any, lines: list[str]) -> Tensor:
    """(n, pieces, width): unmask gathers pieces of words to words."""
    from captum.attr import LayerIntegratedGradients

    fed = tokenizer(lines, padding=True, return_tensors="pt")
    ids, there = fed["input_ids"], fed["attention_mask"]
    blank = torch.where(torch.isin(ids, torch.tensor(tokenizer.all_special_ids)), ids, tokenizer.mask_token_id)
    method = LayerIntegratedGradients(lambda i, a: net(i, attention_mask=a).logits, net.get_input_embeddings())
    with torch.no_grad():
        target = net(**fed).logits.argmax(1)
    parts = []
    for at in torch.arange(len(ids)).split(16):
        given = {"target": target[at], "additional_forward_args": (there[at],), "n_steps": 20}
        parts.append(method.attribute(ids[at], blank[at], **given).detach())
    return torch.cat(parts)


def _shap_text(says: Rows, tokenizer: Any, lines: list[str], classes: tuple[str, ...]) -> Any:
    import shap

    explainer = shap.Explainer(says, shap.maskers.Text(tokenizer), output_names=list(classes), seed=0)
    return explainer(lines, max_evals=100, silent=True)


def _lime_text(says: Rows, lines: list[str]) -> list[Any]:
    from lime.lime_text import LimeTextExplainer

    lime = LimeTextExplainer(bow=False, mask_string="[MASK]", random_state=0)
    return [lime.explain_instance(line, says, num_features=100, num_samples=100) for line in lines]


def shap_file(path: Path, make: Callable[[], Any]) -> None:
    """A `shap.Explanation` of a table as `--scores` reads it."""
    if not path.exists():
        found = make()
        np.savez(path, values=found.values, base_values=found.base_values, data=found.data)


def once(path: Path, make: Callable[[], np.ndarray]) -> None:
    if not path.exists():
        np.save(path, make())
        print("made", path, flush=True)


def quietly(make: Callable[[], Any]) -> Any:
    """LIME draws a progress bar for every picture."""
    import contextlib
    import io

    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return make()
