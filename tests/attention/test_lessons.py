"""A lesson: the model as given, a copy that may learn, what the first said and where it looked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention.samples import K, batch, lessons, model, net, task
from models.theirs import Theirs
from unmask.attention.lessons import copied, lesson, protocol
from unmask.errors import InputError
from unmask.models import bind, wrap
from unmask.nets import default, read

EITHER = pytest.mark.parametrize("hooked", [False, True])


def tokenizer(rows: list[list[str]]) -> Tensor:
    """Ids 1..11 by the letters of a word, 0 beyond the end."""
    longest = max(map(len, rows))
    return torch.tensor([[1 + sum(map(ord, word)) % 11 for word in row] + [0] * (longest - len(row)) for row in rows])


def theirs(module: nn.Module | None = None, outputs: Any = "logits") -> Any:
    torch.manual_seed(0)
    kind = {"takes": "ids", "tokenizer": tokenizer, "outputs": outputs, "device": "cpu"}
    return wrap(module or Theirs(), attention="words.look", **kind)  # type: ignore[arg-type]


def refused(of: Any, data: Any = None) -> str:
    with pytest.raises(InputError) as caught:
        lesson(of, data or task(), K, None)
    return str(caught.value)


def test_the_small_task_has_what_the_tests_need() -> None:
    made = lessons()
    lengths = batch(made).valid.sum(1)
    assert (int(lengths.min()), int(lengths.max())) == (1, 9)
    assert len(set(made.train.p.argmax(1).tolist())) == 3
    assert float(made.train.p.max()) < 0.999


@EITHER
def test_parts_hold_what_the_model_said_and_where_it_looked(hooked: bool) -> None:
    made, data = lessons(hooked), task()
    given = net()
    for part, split in ((made.train, data.train), (made.held, data.validation)):
        x = given.reader.prepare(split.x)
        assert torch.equal(part.x, x)
        assert torch.equal(part.y, split.y)
        assert torch.equal(part.valid, x != 0)
        torch.testing.assert_close(part.p, given(x).softmax(1).detach())
        torch.testing.assert_close(part.w, given.attend(x)[0].detach())
        assert float(part.w[~part.valid].abs().sum()) == 0
        assert part.rows[:5] == (part.x, part.y, part.valid, part.p, part.w)


@EITHER
def test_the_student_is_a_module_of_its_own(hooked: bool) -> None:
    wrapped = model(hooked)
    made = lesson(wrapped, task(), K, None)
    assert made.given.module is wrapped.module
    mine, copy = (dict(part.module.state_dict()) for part in (made.given, made.student))
    assert all(torch.equal(mine[name], copy[name]) for name in mine)
    assert {id(p) for p in made.given.module.parameters()}.isdisjoint(map(id, made.student.module.parameters()))
    assert {id(p) for p in made.student.attention.parameters()} <= set(map(id, made.student.module.parameters()))
    assert made.embedding is made.student.module.embedding.table  # type: ignore[union-attr]
    with torch.no_grad():
        for p in made.student.module.parameters():
            p.zero_()
    assert all(torch.equal(mine[name], value) for name, value in net().state_dict().items())


def test_a_copy_keeps_what_is_frozen_and_answers_the_same() -> None:
    wrapped = bind(model(), task())
    assert wrapped.module is not None
    wrapped.module.embedding.table.requires_grad_(False)  # type: ignore[union-attr, operator]
    copy = copied(wrapped)
    assert copy.module is copy.call
    assert copy.module is not wrapped.module
    assert [n for n, p in copy.module.named_parameters() if not p.requires_grad] == ["embedding.table.weight"]
    assert torch.equal(copy(task().test.x), wrapped(task().test.x))


def test_the_protocol_is_tried_out_on_a_few_rows() -> None:
    seen: list[int] = []
    wrapped = model(hooked=True)
    assert wrapped.module is not None
    wrapped.module.register_forward_hook(lambda _module, inputs, _out: seen.append(len(inputs[0])))
    protocol(wrapped, task().train.x)
    assert set(seen) == {4}


def test_anybodys_module_can_be_had() -> None:
    made = lesson(theirs(), task(), K, None)
    assert made.given.hooked
    assert made.train.w.shape == made.train.valid.shape
    torch.testing.assert_close(made.train.w.sum(1), torch.ones(len(made.train.y)))
    assert made.embedding is made.student.module.vectors  # type: ignore[comparison-overlap]


class Opened(Theirs):
    """Reads a token of its own before the text, and pays attention to it too."""

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(nn.functional.pad(ids, (1, 0), value=11))


def test_there_must_be_one_weight_for_each_word() -> None:
    d = task().train.valid.shape[1]
    n = len(task().train)
    assert refused(theirs(Opened())) == (
        f"attention must have one weight for each word, ({n}, {d}), got ({n}, {d + 1}); special tokens must not be "
        "among them"
    )


def test_only_torch_modules_have_attention() -> None:
    def half(rows: Any) -> Tensor:
        return torch.full((len(rows), 3), 1 / 3)

    assert refused(half) == "half is no torch module: only of one can attention be had"
    assert refused(wrap(half)) == "half is no torch module: only of one can attention be had"


def test_a_network_without_attention_is_told_what_is_missing() -> None:
    plain = default(read(task()), 3, "small")
    assert f"{type(plain).__name__} has no methods attend and answer; name the submodule" in refused(plain)
    assert "has no submodule 'look'" in refused(replace(model(), attention="look"))


def test_the_words_that_are_named_are_marked() -> None:
    wanted = ("good", "soup")
    made = lesson(model(), task(), K, None, wanted)
    for part, split in ((made.train, task().train), (made.held, task().validation)):
        assert part.marked is not None
        want = [[word in wanted for word in row] + [False] * (9 - len(row)) for row in split.x]
        assert part.marked.tolist() == [row[: part.valid.shape[1]] for row in want]
        assert part.rows[5] is part.marked
    assert lessons().train.marked is None
    with pytest.raises(InputError, match="none of the words spoon, fork stands in these rows; name words of the data"):
        lesson(model(), task(), K, None, ("spoon", "fork"))


def test_probabilities_are_refused_where_logits_are_needed() -> None:
    class Sure(Theirs):
        def forward(self, ids: Tensor) -> Tensor:
            return super().forward(ids).softmax(1)

    assert refused(theirs(Sure(), "probabilities")) == (
        "Sure answers with probabilities, and training needs logits: wrap the module without its softmax, with "
        "outputs='logits'"
    )
