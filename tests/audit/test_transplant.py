from __future__ import annotations

import torch

from unmask import seeds
from unmask.audit.transplant import permuted, transplant
from unmask.masking import subsets


def lengths(*sizes: int, width: int | None = None):
    return torch.arange(width or max(sizes)) < torch.tensor(sizes)[:, None]


def test_equal_lengths_exchange_masks_as_they_are_and_no_row_keeps_its_own():
    valid = lengths(*[8] * 50)
    kept = subsets.uniform(valid, 3, seeds.generator(0))
    mixed = permuted(kept, valid, seeds.generator(1))
    as_sets = [sorted(map(tuple, m.tolist())) for m in (kept, mixed)]
    assert as_sets[0] == as_sets[1]
    marked = torch.eye(50, dtype=torch.bool)
    everywhere = torch.ones(50, 50, dtype=torch.bool)
    assert not bool((permuted(marked, everywhere, seeds.generator(2)) & marked).any())


def test_masks_of_texts_keep_their_number_and_their_relative_place():
    valid = lengths(*range(10, 74))
    early = torch.zeros_like(valid)
    early[:, :3] = True
    mixed = permuted(early, valid, seeds.generator(0))
    assert bool((mixed.sum(1) == 3).all())
    assert not bool((mixed & ~valid).any())
    place = (mixed * torch.arange(valid.shape[1])).sum(1) / 3 / valid.sum(1)
    assert float(place.max()) < 0.5


def test_onto_longer_and_shorter_rows():
    kept = torch.tensor([[True, False, False, True]])
    valid = lengths(4)
    longer = transplant(kept, valid, lengths(8), seeds.generator(0))
    assert int(longer.sum()) == 2
    assert not bool(longer[0, 2:6].any())  # the ends map to the ends
    shorter = transplant(kept, valid, lengths(2, width=8), seeds.generator(0))
    assert shorter[0].tolist() == [True, True] + [False] * 6
    assert transplant(kept, valid, lengths(1, width=3), seeds.generator(0)).sum() == 1


def test_the_same_seed_gives_the_same_exchange():
    valid = lengths(*range(4, 40))
    kept = subsets.uniform(valid, 2, seeds.generator(0))
    assert torch.equal(permuted(kept, valid, seeds.generator(3)), permuted(kept, valid, seeds.generator(3)))


def test_a_row_left_over_after_the_blocks_is_exchanged_too():
    """Blocks of texts of like length; 1057 rows leave a block of one, whose row would keep its own mask."""
    n = 1057
    valid = torch.ones(n, n + 1, dtype=torch.bool)
    valid[0, -1] = False
    marked = torch.eye(n, n + 1, dtype=torch.bool)
    assert not bool((permuted(marked, valid, seeds.generator(0)) & marked).any())
