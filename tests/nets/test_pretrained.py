"""The pretrained transformer: words from sub-words, windows, rows that stand alone, small states on disk."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from nets.samples import SETS, TEXTS
from unmask.errors import InputError
from unmask.models.attending import Shift, attentive, embedding_of, shaken
from unmask.nets import pretrained, read
from unmask.nets.attention import AttentionNet, attention_net
from unmask.nets.pieces import PACKAGE, Pieces, folder, library
from unmask.nets.pretrained import LAYERS, LENGTH, SIZE, Contextual, PieceEmbedding, tuned_layers
from unmask.seeds import generator
from unmask.training import soft_cross_entropy

pytest.importorskip("transformers", reason="transformers, of the extra hf, is not installed")
pytest.importorskip(PACKAGE.replace("-", "_"), reason=f"{PACKAGE}, of the extra hf, is not installed")
pytestmark = pytest.mark.slow

ROWS = [*TEXTS, [], ["Unbelievably", "good!!", "soup"]]
IDS = Pieces().encode(ROWS)
VALID = (IDS != 0).any(-1)


@pytest.fixture(scope="module")
def net() -> AttentionNet:
    return attention_net(read(SETS["words"]()), 3, "transformer", seed=1).eval()


def close(got: Tensor, want: Tensor, by: float = 1e-5) -> None:
    torch.testing.assert_close(got, want, atol=by, rtol=0)


def test_states_are_means_over_the_sub_words_of_the_model_as_packaged(net: AttentionNet) -> None:
    tokenizer = library().AutoTokenizer.from_pretrained(str(folder()), local_files_only=True)
    whole, states = pretrained._packaged(), net.attend(IDS)[1].detach()
    for i in (2, 6):
        spelled = tokenizer([ROWS[i]], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            embedded = net.embedding.table(spelled["input_ids"])
            found = deepcopy(whole)(inputs_embeds=embedded).last_hidden_state[0]
        for place in range(len(ROWS[i])):
            own = [k for k, word in enumerate(spelled.word_ids(0)) if word == place]
            close(states[i, place], found[own].mean(0))


def test_no_weight_beyond_the_end_and_rows_stand_alone(net: AttentionNet) -> None:
    with torch.no_grad():
        weights, states = net.attend(IDS)
        logits = net(IDS)
        assert torch.equal(weights[~VALID], torch.zeros(int((~VALID).sum())))
        assert not states[~VALID].any()
        close(weights.sum(1), VALID.any(1).float())
        wider = torch.nn.functional.pad(IDS, (0, 2, 0, 3))
        close(net.attend(wider)[0][:, : IDS.shape[1]], weights)
        for i, row in enumerate(ROWS):
            alone = net.reader.prepare([row])
            close(net.attend(alone)[0][0], weights[i, : len(row)])
            close(net(alone)[0], logits[i])


def test_long_rows_are_read_in_windows(net: AttentionNet) -> None:
    words = ["unbelievably"] * 60 + ["good", "soup"] * 40
    ids, short = Pieces().encode([words, ["bad"]]), -(-SIZE // 5)
    line = pretrained._lined_up(ids != 0)
    assert line.length.tolist() == [short * 5, 5 * (60 - short) + 80, 1]
    assert int(line.place.max()) + 2 <= LENGTH
    with torch.no_grad():
        states = net.encoder(net.embedding(ids), ids != 0)
        for part in (slice(0, short), slice(short, None)):
            alone = ids[:1, part]
            close(states[0, part], net.encoder(net.embedding(alone), alone != 0)[0])


def test_hidden_words_are_zero_vectors_in_their_place(net: AttentionNet) -> None:
    kept = torch.ones(VALID.shape)
    kept[2, [1, 5]] = 0.0
    hidden = net.reader.prepare([["<pad>" if i in (1, 5) else word for i, word in enumerate(TEXTS[2])]])
    with torch.no_grad():
        close(net(hidden)[0], net(IDS, kept)[2])
        assert float((net(IDS, kept)[2] - net(IDS)[2]).abs().max()) > 1e-4


def test_upper_layers_learn_and_the_rest_stays(net: AttentionNet) -> None:
    assert [tuned_layers(name) for name in ("gru", "transformer", "transformer:tuned=0", "transformer:tuned=all")] == [
        None,
        2,
        0,
        LAYERS + 1,
    ]
    soft_cross_entropy(net(IDS[:3]), torch.tensor([0, 1, 2])).sum().backward()
    moved = {name for name, p in net.named_parameters() if p.grad is not None}
    net.zero_grad()
    assert {name.split(".")[4] for name in moved if name.startswith("encoder.")} == {"4", "5"}
    assert not any(name.startswith("embedding") for name in moved)
    assert sum(p.requires_grad for p in Contextual(0).parameters()) == 0
    with pytest.raises(InputError, match="tuned=0 to tuned=6"):
        tuned_layers("transformer:tuned=9")


def test_what_is_as_packaged_is_not_in_the_state(net: AttentionNet) -> None:
    other = deepcopy(net)
    with torch.no_grad():
        other.encoder.body.encoder.layer[5].output.dense.bias += 0.5
    state = other.state_dict()
    assert [name for name in state if name.startswith("encoder.body")] == [
        "encoder.body.encoder.layer.5.output.dense.bias"
    ]
    assert not any("table" in name for name in state)
    assert not torch.equal(net(IDS), other(IDS))
    again = attention_net(read(SETS["words"]()), 3, "transformer", seed=2).eval()
    again.load_state_dict(state)
    assert torch.equal(again(IDS), other(IDS))
    again.load_state_dict(net.state_dict())
    assert torch.equal(again(IDS), net(IDS))
    with pytest.raises(InputError, match="another version"):
        again.load_state_dict({**state, "encoder.package": torch.tensor(1)})
    for part in (other.encoder, other.embedding):
        part.reset_parameters()
    assert not any(name.startswith("encoder.body") for name in other.state_dict())


def test_vectors_of_sub_words_can_be_moved(net: AttentionNet) -> None:
    assert embedding_of(net) is net.embedding.table
    model = attentive(net, IDS[:4])
    still, moved = (shaken(model, IDS, seed=3, radius=radius) for radius in (0.0, 0.05))
    with torch.no_grad():
        close(still[1], net.attend(IDS)[0])
    assert float((moved[1] - still[1]).abs().max()) > 1e-4
    assert not moved[1][~VALID].any()
    with Shift(net.embedding.table) as shift:
        soft_cross_entropy(net(IDS), torch.zeros(len(IDS), dtype=torch.long)).sum().backward()
    assert shift.delta.shape == (*IDS.shape, 384)
    touched = shift.delta.grad.abs().sum(-1) > 0
    assert torch.equal(touched, IDS != 0)
    net.zero_grad()


def test_every_number_of_windows_gives_the_same_states() -> None:
    embedding, encoder = PieceEmbedding(), Contextual(0).eval()
    ids = Pieces().encode([ROWS[i % 5] for i in torch.randint(5, (40,), generator=generator(0)).tolist()])
    with torch.no_grad():
        together = encoder(embedding(ids), ids != 0)
        apart = torch.cat([encoder(embedding(part), part != 0) for part in ids.split(7)])
    close(together, apart)
    assert encoder(embedding(ids[:0]), ids[:0] != 0).shape == (0, ids.shape[1], 384)
