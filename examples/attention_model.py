"""An attention classifier of your own. Audit its attention, make it steady, and see both in one report:

unmask steady --model examples.attention_model:model --data reviews --k 3
"""

import torch
from torch import nn

import unmask


class Net(nn.Module):
    def __init__(self, words, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=0)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.score = nn.Linear(width, 1)
        self.attention = nn.Softmax(dim=1)  # what it gives out are the weights
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        states, _ = self.encoder(self.embedding(ids))
        weights = self.attention(self.score(states.tanh())[..., 0].masked_fill(ids == 0, -torch.inf))
        return self.out((weights[..., None] * states).sum(1))


def model():
    torch.manual_seed(0)
    data = unmask.load("reviews")
    ids = {word: i for i, word in enumerate(sorted({word for row in data.train.x for word in row}), 2)}

    def encode(rows):
        rows = [torch.tensor([ids.get(word, 1) for word in row]) for row in rows]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)

    net, x = Net(len(ids) + 2), encode(data.train.x)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(6):
        for batch in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[batch]), data.train.y[batch]).backward()
            optimizer.step()
    return unmask.wrap(net, takes="ids", tokenizer=encode, outputs="logits", attention="attention")
