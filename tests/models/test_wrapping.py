"""`wrap` and `bind` for every sort of model, and the sentence for everything that is none."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from torch import Tensor, nn

from nets.samples import PLAIN, REVIEWS, SETS, TEXTS, dataset, values
from unmask.data import dataset as own_data
from unmask.errors import InputError
from unmask.masking.removals import PAD
from unmask.models import Wrapped, bind, wrap
from unmask.nets import default, read
from unmask.seeds import generator

DATA = dataset(PLAIN, values(PLAIN, 40), (values(PLAIN, 40)[:, 0] > 3).long())
X, Y = DATA.train.x, DATA.train.y


def fitted(x: Any = None, y: Any = None) -> LogisticRegression:
    return LogisticRegression().fit(X.numpy() if x is None else x, Y.numpy() if y is None else y)


def said(model: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        wrap(model, **options)
    return str(caught.value)


# --- torch ------------------------------------------------------------------------------------------------------------


def test_a_torch_module_must_say_what_it_returns() -> None:
    want = "say what the torch module returns: wrap(model, outputs='logits') or outputs='probabilities'"
    assert said(nn.Linear(4, 2)) == want
    assert said(nn.Linear(4, 2), outputs="scores") == want


def test_logits_and_probabilities_of_a_module() -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    want = net(X).softmax(1).detach()
    torch.testing.assert_close(wrap(net, outputs="logits", device="cpu")(X), want)
    torch.testing.assert_close(wrap(nn.Sequential(net, nn.Softmax(1)), outputs="probabilities", device="cpu")(X), want)


def test_a_module_is_read_in_evaluation_mode_and_left_as_it_was() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 2)).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    model = wrap(net, outputs="logits", device="cpu")
    first = model(X)
    assert torch.equal(first, model(X))
    assert not any(module.training for module in net.modules())
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())
    assert model.module is net


@pytest.mark.parametrize("name", ["table", "patches", "words", "sentences"])
def test_our_own_networks_say_everything_themselves(name: str) -> None:
    data = SETS[name]()
    reader = read(data)
    net = default(reader, 2, "small").eval()
    model = wrap(net, device="cpu")
    assert model.outputs == "logits"
    assert model.takes == ("ids" if data.layout.is_text else "array")
    torch.testing.assert_close(model(data.train.x), net(reader.prepare(data.train.x)).softmax(1).detach())


class Lengths(nn.Module):
    """Logits from the number of ids that are not 0."""

    def forward(self, ids: Tensor) -> Tensor:
        count = (ids > 0).sum(1).float()
        return torch.stack([torch.zeros_like(count), count], 1)


def tokenizer(rows: list[list[str]]) -> list[list[int]]:
    longest = max(map(len, rows))
    return [[1 if word != PAD else 0 for word in row] + [0] * (longest - len(row)) for row in rows]


def test_ids_come_from_the_tokenizer() -> None:
    want = Lengths()(torch.tensor(tokenizer(TEXTS))).softmax(1)
    torch.testing.assert_close(
        wrap(Lengths(), takes="ids", tokenizer=tokenizer, outputs="logits", device="cpu")(TEXTS), want
    )
    function = wrap(lambda ids: Lengths()(torch.tensor(ids)), takes="ids", tokenizer=tokenizer, outputs="logits")
    torch.testing.assert_close(function(TEXTS), want)


def test_the_mask_token_of_a_tokenizer_is_known() -> None:
    assert wrap(Lengths(), takes="ids", tokenizer=Masking(), outputs="logits", device="cpu").mask_token == "[MASK]"


def test_what_a_module_cannot_take_is_said() -> None:
    assert said(Lengths(), takes="ids", outputs="logits") == (
        "takes='ids' needs tokenizer=, a callable that turns rows of words into a tensor of ids"
    )
    assert said(nn.Linear(4, 2), takes="text", outputs="logits") == (
        "a torch module takes 'array' or 'ids', not 'text'; wrap a callable that does the rest"
    )
    with pytest.raises(InputError, match=r"this torch module gets words: say wrap\(model, takes='ids', tokenizer="):
        wrap(Lengths(), outputs="logits", device="cpu")(TEXTS)


def test_the_named_attention_is_kept() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model = wrap(net, outputs="logits", device="cpu", attention="0")
    assert model.attention == "0"
    assert (wrap(model).attention, bind(model, DATA).attention) == ("0", "0")
    assert wrap(model, removal="zero").attention == "0"
    again = wrap(model, attention="1")
    assert (again.attention, model.attention) == ("1", "0")
    assert wrap(net, outputs="logits", device="cpu").attention is None
    assert torch.equal(model(X), wrap(net, outputs="logits", device="cpu")(X))  # naming it changes no answer


@pytest.mark.parametrize(("model", "kind"), [(lambda rows: rows, "function"), (LogisticRegression(), "LogisticReg")])
def test_only_a_torch_module_has_attention_to_name(model: Any, kind: str) -> None:
    assert said(model, attention="look").startswith(f"attention names a part of a torch module, got a {kind}")


# --- scikit-learn -----------------------------------------------------------------------------------------------------


def test_an_array_estimator() -> None:
    estimator = fitted()
    model = wrap(estimator)
    assert model.estimator is estimator
    assert (model.name, model.takes, model.classes) == ("LogisticRegression", "array", 2)
    torch.testing.assert_close(model(X), torch.tensor(estimator.predict_proba(X.numpy())).float())


def test_an_estimator_gets_images_as_rows() -> None:
    data = SETS["patches"]()
    flat = data.train.x.flatten(1).numpy()
    estimator = fitted(flat, data.train.y.numpy())
    torch.testing.assert_close(wrap(estimator)(data.train.x), torch.tensor(estimator.predict_proba(flat)).float())


def test_a_frame_estimator_gets_its_columns() -> None:
    frame = pd.DataFrame(X.numpy(), columns=list(PLAIN.units))
    estimator = fitted(frame)
    model = bind(estimator, DATA)
    assert model.takes == "frame"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # feature names must match
        got = model(X)
    torch.testing.assert_close(got, torch.tensor(estimator.predict_proba(frame)).float())


def test_a_frame_with_categories_comes_back_as_it_was() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60), "town": rng.choice(["Bonn", "Ulm", "Jena"], 60)})
    y = np.where((frame["size"] > 0) ^ (frame["town"] == "Ulm"), "yes", "no")
    seen: list[pd.DataFrame] = []

    class Keeping(LogisticRegression):
        def predict_proba(self, rows: pd.DataFrame) -> Any:
            seen.append(rows)
            return super().predict_proba(rows[["size"]])

    estimator = Keeping().fit(frame[["size"]], y)
    estimator.feature_names_in_ = np.array(["size"], dtype=object)
    data = own_data(frame, y, split={"train": range(40), "validation": range(40, 50), "test": range(50, 60)})
    model = bind(estimator, data)
    got = model(data.test.x)
    pd.testing.assert_frame_equal(
        seen[-1].reset_index(drop=True), frame[50:].reset_index(drop=True), check_dtype=False, atol=1e-6
    )
    torch.testing.assert_close(
        got, torch.tensor(LogisticRegression.predict_proba(estimator, frame[["size"]][50:])).float()
    )


def test_a_text_pipeline_gets_joined_words() -> None:
    texts = [" ".join(row) for row in TEXTS]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [0, 1, 0, 1, 1])
    model = wrap(pipeline)
    assert model.takes == "text"
    torch.testing.assert_close(model(TEXTS), torch.tensor(pipeline.predict_proba(texts)).float())


@pytest.mark.parametrize(
    ("model", "want"),
    [
        (
            LinearSVC().fit(X.numpy(), Y.numpy()),
            "LinearSVC has predict but no predict_proba: put it into CalibratedClassifierCV and fit that",
        ),
        (
            SVC().fit(X.numpy(), Y.numpy()),
            "SVC has predict but no predict_proba: put it into CalibratedClassifierCV and fit that",
        ),
        (LinearRegression(), "LinearRegression predicts numbers: regression is not supported, wrap a classifier"),
        (
            LogisticRegression(),
            "LogisticRegression is not fitted (it has no classes_): call its fit before wrap, or wrap a function",
        ),
        (
            make_pipeline(CountVectorizer(), LogisticRegression()),
            "Pipeline is not fitted (it has no classes_): call its fit before wrap, or wrap a function",
        ),
        (
            LogisticRegression,
            "wrap takes a fitted model, got the class LogisticRegression; make one of it and fit it first",
        ),
        (nn.Linear, "wrap takes a fitted model, got the class Linear; make one of it and fit it first"),
        (
            "model.pt",
            "there is no file or folder model.pt; expected an ONNX file or a Hugging Face folder there",
        ),
        (
            None,
            "wrap takes a torch module, a fitted scikit-learn classifier, a callable, an ONNX file or a Hugging Face "
            "folder or pipeline, got a NoneType",
        ),
    ],
)
def test_what_is_no_model_is_refused_in_one_sentence(model: Any, want: str) -> None:
    assert said(model) == want


def test_an_unknown_way_of_taking_rows_is_refused() -> None:
    assert said(fitted(), takes="pixels") == "takes must be 'text', 'ids', 'array' or 'frame', got 'pixels'"


class Masking:
    """A tokenizer with a mask token."""

    mask_token = "[MASK]"

    def __call__(self, rows: list[list[str]]) -> list[list[int]]:
        return tokenizer(rows)


def guessing(rows: Any) -> np.ndarray:
    return np.full((len(rows), 2), 0.5)


OURS = default(read(SETS["words"]()), 2, "small")


@pytest.mark.parametrize(
    ("model", "options", "want"),
    [
        (fitted(), {"outputs": "logits"}, "LogisticRegression returns 'probabilities', got outputs='logits'; leave"),
        (wrap(fitted()), {"outputs": "logits"}, "LogisticRegression returns 'probabilities', got outputs='logits'"),
        (wrap(fitted()), {"takes": "frame"}, "LogisticRegression takes 'array', got takes='frame'; leave takes out"),
        (
            wrap(guessing, outputs="logits"),
            {"outputs": "probabilities"},
            "guessing returns 'logits', got outputs='prob",
        ),
        (wrap(guessing), {"tokenizer": tokenizer}, "guessing is wrapped already, got a tokenizer; give it when"),
        (wrap(guessing), {"takes": "pixels"}, "takes must be 'text', 'ids', 'array' or 'frame', got 'pixels'"),
        (wrap(guessing), {"attention": "0"}, "attention names a part of a torch module, got a guessing"),
        (guessing, {"outputs": "scores"}, "outputs must be 'probabilities' or 'logits', got 'scores'"),
        (guessing, {"tokenizer": tokenizer}, "a tokenizer is for takes='ids', got it with takes=None; say takes='ids'"),
        (OURS, {"takes": "array"}, "WordNet takes 'ids', got takes='array'; leave takes out"),
        (OURS, {"takes": "ids", "tokenizer": tokenizer}, "WordNet reads rows by itself, got a tokenizer; leave it out"),
    ],
)
def test_what_contradicts_the_model_is_refused(model: Any, options: dict[str, Any], want: str) -> None:
    assert said(model, **options).startswith(want)


def test_saying_again_what_is_so_is_harmless() -> None:
    model = wrap(fitted(), outputs="probabilities", takes="array")
    assert wrap(model, outputs="probabilities", takes="array").outputs == "probabilities"
    assert wrap(OURS, takes="ids", outputs="logits").takes == "ids"
    assert wrap(wrap(nn.Linear(4, 2), outputs="logits", device="cpu"), outputs="logits").outputs == "logits"


def test_whoever_reads_text_knows_the_mask_token_of_a_tokenizer() -> None:
    texts = [" ".join(row) for row in TEXTS]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [0, 1, 0, 1, 1])
    for model in (wrap(pipeline, tokenizer=Masking()), wrap(guessing, takes="text", tokenizer=Masking())):
        assert (model.takes, model.token("mask-token")) == ("text", "[MASK]")


def test_texts_for_a_model_of_arrays_are_refused() -> None:
    with pytest.raises(InputError, match=r"takes arrays but the data are texts: say wrap\(model, takes='text'\)"):
        wrap(fitted())(TEXTS)


# --- callables --------------------------------------------------------------------------------------------------------


def test_a_callable_gets_an_array_or_a_text() -> None:
    seen: list[Any] = []

    def half(rows: Any) -> np.ndarray:
        seen.append(rows)
        return np.full((len(rows), 2), 0.5)

    model = wrap(half)
    assert model.name == "half"
    assert model(X).tolist() == [[0.5, 0.5]] * 40
    assert isinstance(seen[-1], np.ndarray)
    model(TEXTS)
    assert seen[-1] == [" ".join(row) for row in TEXTS]
    model(REVIEWS)
    assert seen[-1][0] == "the soup was warm cold tea fine"
    assert wrap(lambda rows: rows).name == "callable"


def test_joined_text_drops_padding_but_not_mask_tokens() -> None:
    seen: list[list[str]] = []

    def half(rows: list[str]) -> Tensor:
        seen.append(rows)
        return torch.full((len(rows), 2), 0.5)

    wrap(half, takes="text")([["a", PAD, "<mask>", "b"], [PAD, PAD], []])
    wrap(half, takes="text")([[["a", "b"], [PAD, PAD], ["c"]], [[PAD]]])
    assert seen == [["a <mask> b", "", ""], ["a b c", ""]]


def test_a_callable_may_return_logits() -> None:
    logits = torch.randn(40, 3, generator=generator(0))
    torch.testing.assert_close(wrap(lambda rows: logits.numpy(), outputs="logits")(X), logits.softmax(1))


# --- wrapping again and binding ---------------------------------------------------------------------------------------


def test_wrapping_again_changes_the_removal_only() -> None:
    model = wrap(fitted(), removal="zero")
    assert wrap(model).removal == "zero"
    again = wrap(model, removal="mean")
    assert (again.removal, model.removal) == ("mean", "zero")
    assert torch.equal(again(X), model(X))


def test_binding_checks_the_classes() -> None:
    with pytest.raises(InputError) as caught:
        bind(fitted(), dataset(PLAIN, X, classes=3))
    assert str(caught.value) == (
        "LogisticRegression knows 2 classes but the data have 3 (class 0, class 1, class 2); "
        "give the data the model was trained on"
    )
    assert bind(wrap(lambda rows: rows), DATA).classes == 2
    with pytest.raises(InputError, match=r"with shape \(40, 2\), got \(40, 4\)"):
        bind(lambda rows: rows, DATA)(X)


def test_binding_checks_the_removal() -> None:
    with pytest.raises(InputError, match="removal 'blur' cannot hide units of kind 'table'"):
        bind(fitted(), DATA, "blur")
    assert bind(wrap(fitted(), removal="zero"), DATA).removal == "zero"
    assert bind(wrap(fitted(), removal="zero"), DATA, "mean").removal == "mean"


def test_columns_follow_the_order_of_the_data() -> None:
    names = np.array(["bad", "good"])
    estimator = fitted(y=names[Y.numpy()])
    straight, turned = replace(DATA, classes=("bad", "good")), replace(DATA, classes=("good", "bad"))
    plain = torch.tensor(estimator.predict_proba(X.numpy())).float()
    torch.testing.assert_close(bind(estimator, straight)(X), plain)
    once = bind(estimator, turned)
    torch.testing.assert_close(once(X), plain[:, [1, 0]])
    torch.testing.assert_close(bind(once, turned)(X), plain[:, [1, 0]])
    torch.testing.assert_close(bind(estimator, DATA)(X), plain)  # other names: positions count


def test_binding_leaves_the_model_itself_alone() -> None:
    model = wrap(lambda rows: rows)
    bound = bind(model, DATA)
    assert isinstance(bound, Wrapped)
    assert model.classes is None


def test_slopes_follow_the_order_of_the_data() -> None:
    torch.manual_seed(0)
    named = replace(wrap(nn.Linear(X.shape[1], 3), outputs="logits", device="cpu"), labels=("b", "c", "a"))
    data = replace(DATA, classes=("a", "b", "c"))
    model = bind(named, data)
    torch.testing.assert_close(model(X), replace(named, labels=())(X)[:, [2, 0, 1]])
    torch.testing.assert_close(model.log_probabilities(X).exp().detach(), model(X))
    again = bind(model, replace(data, classes=("c", "b", "a")))  # bound twice: the order is that of the model's columns
    torch.testing.assert_close(again(X), model(X)[:, [2, 1, 0]])
    assert again.column(torch.tensor([0, 1, 2])).tolist() == [1, 0, 2]
    turned = replace(model, module=model.module, call=model.module)  # as copies with other weights are made
    torch.testing.assert_close(turned(X), model(X))


@pytest.mark.parametrize(
    ("labels", "order"), [(("GOOD", "bad"), (1, 0)), (("LABEL_0", "LABEL_1"), ()), (("Bad", "Good"), ())]
)
def test_names_of_classes_are_compared_whatever_their_case(labels: tuple[str, ...], order: tuple[int, ...]) -> None:
    named = replace(wrap(lambda rows: rows), labels=labels)
    assert bind(named, replace(DATA, classes=("bad", "good"))).order == order


def test_names_that_are_the_same_only_in_part_are_refused() -> None:
    named = replace(wrap(lambda rows: rows), labels=("a", "b"))
    with pytest.raises(InputError, match="knows the classes a, b, the data have b, c; give both the same names"):
        bind(named, replace(DATA, classes=("b", "c")))
    numbers = replace(named, labels=("0", "1"))
    assert bind(numbers, replace(DATA, classes=("1", "2"))).order == ()  # counted from 0, and from 1


def test_an_answer_that_is_a_view_turned_round() -> None:
    plain = torch.tensor([[0.2, 0.8]]).repeat(len(X), 1)
    torch.testing.assert_close(wrap(lambda rows: plain.numpy()[:, ::-1])(X), plain[:, [1, 0]])


def test_one_column_for_two_classes_is_told_what_to_do() -> None:
    single = replace(wrap(lambda rows: rows), classes=1)
    with pytest.raises(InputError, match="answers with one column, expected one for each class; wrap a function"):
        bind(single, replace(DATA, classes=("no", "yes")))


@pytest.mark.parametrize("found", [{"input_ids": [[1, 2]]}, [[1, 2], [1]]])
def test_a_tokenizer_that_gives_no_tensor_is_told(found: Any) -> None:
    model = wrap(nn.Sequential(nn.Embedding(9, 2)), takes="ids", tokenizer=lambda rows: found, outputs="logits")
    with pytest.raises(InputError, match="the tokenizer must give a tensor of ids, all rows of one length, got a "):
        model([["good", "soup"], ["tea"]])
