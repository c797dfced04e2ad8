"""Does the mask smuggle the answer?

An explanation encodes when the choice of its units tells something about the answer that the shown values do not.
Two judges measure it: J1 learns from rows with their own masks, J0 from the same rows with each other's masks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from sklearn.ensemble import RandomForestClassifier
from torch import Tensor, nn
from torch.nn.functional import pad

from unmask import seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.folds import Fold, by_lot, folds, masks, order
from unmask.audit.transplant import permuted, transplant
from unmask.judge import RECIPE, Draw, Judge, Rows, judge_net, mixed_sizes, of_texts, train_judge
from unmask.masking import subsets
from unmask.training import Recipe

__all__ = [
    "SEEDS",
    "encoding",
    "encoding_gain",
    "encoding_scores",
    "encoding_share",
    "entropy",
    "eval_x",
    "mask_only",
    "reading",
    "reading_nats",
    "told_by_values",
    "whole_rows",
]

SEEDS = 3  # judges of one kind, or pairs of judges
ASLEEP = 0.5  # of what the best of the panel reads in whole rows: who reads less learned next to nothing (on reviews 0
# beside .62 and .63, where others of a panel differ by a third at most)
ATTEMPTS = 3  # seeds for each judge of the panel
TELLS = 0.1  # an explanation tells something when it tells this share of the answer's entropy


def encoding_gain(case: Case, subject: Subject) -> Values:
    """log J1(target | x, own mask) - log J0(target | x, own mask), in nats; 0 for an honest selection."""
    gain = _encoding(case, subject)[0]
    spread = float(gain.std())
    return Values(gain, note=f"effect size {float(gain.mean()) / spread:.2f}, mean over spread" if spread else "")


def encoding_share(case: Case, subject: Subject) -> Values:
    """The gain over all that is told, log J1 - log p(target); not reported where the explanation tells nothing."""
    gain, total = _encoding(case, subject)
    if _tells(case, total):
        return Values(gain, over=total)
    return missing(case, "tells nothing about the answer, so there is nothing to share")


def encoding_scores(case: Case, subject: Subject) -> Values:
    """The gain in knowing, beside the kept units, the order of their scores: J0 sees the places in it drawn by lot."""
    return Values(_matched_judges(case, folds(case, subject, order), by_lot)[0])


def _tells(case: Case, total: Tensor) -> bool:
    """Whether the lower bound of what is told exceeds a tenth of the answer's entropy."""
    low = float(total.mean() - 1.96 * total.std() / len(total) ** 0.5)
    return low > TELLS * entropy(case)


def entropy(case: Case) -> float:
    """H(target) in nats: all that can be told about the answer."""
    prior = _prior(case)
    return float(-(prior * prior.log()).sum())


def reading(case: Case, subject: Subject) -> Values:
    """1 where the neutral judges, shared by all explanations, find the target in the values shown."""
    return _found(case, _neutral_judges(case), subject)


def reading_nats(case: Case, subject: Subject) -> Values:
    """log J(target | shown) - log p(target), mean over the same judges: what the values tell them; 0 for nothing."""
    return _nats(case, _neutral_judges(case), subject)


def told_by_values(case: Case, subject: Subject) -> Values:
    """The same for the judges of random masks only."""
    return _nats(case, _random_mask_judges(case), subject)


def whole_rows(case: Case, subject: Subject) -> Values:
    """(log J(target | whole row) - log p(target)) / H(target), J of random masks; the same for every explanation.

    Near 0 the judges do not know what values mean: what they miss in the kept units is their own ignorance.
    """
    told = case.once("whole rows", lambda: _told(case, _random_mask_judges(case), case.valid))
    return Values(told, over=torch.full_like(told, entropy(case)))


def eval_x(case: Case, subject: Subject) -> Values:
    """1 where judges trained on random masks only find the target in the values shown. Jethani et al. 2021."""
    return _found(case, _random_mask_judges(case), subject)


def mask_only(case: Case, subject: Subject) -> Values:
    """1 where a forest that sees nothing but the mask finds the target, on rows it was not grown on."""
    found = torch.zeros(len(case.target), dtype=torch.long)
    for fold in folds(case, subject):
        forest = RandomForestClassifier(100, random_state=case.seed, n_jobs=1)
        d = fold.test.valid.shape[1]
        forest.fit(_fit_width(masks(fold.train), d).numpy(), fold.train.target.numpy())
        found[fold.index] = torch.as_tensor(forest.predict(masks(fold.test).numpy()))
    return Values((found == case.target).float())


Exchange = Callable[[Rows, torch.Generator], Tensor]
"""`exchange(rows, rng) -> masks`: what J0 is shown instead of each row's own."""


def _encoding(case: Case, subject: Subject) -> tuple[Tensor, Tensor]:
    return case.once(("encoding", subject.key), lambda: encoding(case, subject))


def encoding(case: Case, subject: Subject, pairs: range = range(SEEDS)) -> tuple[Tensor, Tensor]:
    """(n,) gain and total in nats by these pairs of judges."""
    return _matched_judges(case, folds(case, subject), _lent, pairs)


def _matched_judges(
    case: Case, parts: list[Fold], exchange: Exchange, pairs: range = range(SEEDS)
) -> tuple[Tensor, Tensor]:
    """(n,) gain and total of each audited row, averaged over pairs of judges that differ in the pairing only."""
    gain, total = torch.zeros(len(case.target)), torch.zeros(len(case.target))
    for fold in parts:
        for pair in pairs:
            seed = seeds.derive(case.seed, "encoding", pair)
            own = _log_likelihood(case, fold, seed)
            other = own if _same_mask(fold) else _log_likelihood(case, fold, seed, exchange)
            gain[fold.index] += (own - other) / len(pairs)
            total[fold.index] += (own - _prior(case).log()[fold.test.target]) / len(pairs)
    return gain, total


def _log_likelihood(case: Case, fold: Fold, seed: int, exchange: Exchange | None = None) -> Tensor:
    """log J(target | x, own mask) on the fold's judged rows, J trained on own masks or on exchanged ones."""
    train, validation = fold.train, fold.validation
    if exchange is not None:
        rng = seeds.generator(seed)
        train, validation = (replace(r, kept=exchange(r, rng)) for r in (train, validation))
    net = _started(case, seed)
    judge = train_judge(net, train, validation, None, _recipe(case, seed, knows=True))
    said = judge.log_probabilities(fold.test.x, masks(fold.test))
    return said.gather(1, fold.test.target[:, None])[:, 0]


def _lent(rows: Rows, rng: torch.Generator) -> Tensor:
    """Masks of other rows."""
    return permuted(masks(rows), rows.valid, rng)


def _same_mask(fold: Fold) -> bool:
    """Whether all rows have one and the same mask: exchanging it changes nothing, so the two judges are one."""
    kept = masks(fold.train)
    return bool((kept == kept[0]).all())


def _lent_masks(case: Case) -> Draw:
    """The law of the neutral judges: half uniform k-subsets, half the masks of all explanations put on other rows."""
    bank = [s.train or s.explanation for s in case.subjects]
    size = torch.tensor([len(e) for e in bank])
    width = max(e.kept.shape[1] for e in bank)
    kept, valid = (
        torch.cat([pad(getattr(e, n), (0, width - e.kept.shape[1])) for e in bank]) for n in ("kept", "valid")
    )

    def draw(valid_here: Tensor, rng: torch.Generator) -> Tensor:
        u = torch.rand(2, len(valid_here), generator=rng, device=rng.device).cpu()
        of = (u[0] * len(bank)).long()  # each explanation lends as often as any other
        donor = size.cumsum(0)[of] - size[of] + (u[1] * size[of]).long()
        where = valid_here.device
        lent = transplant(kept[donor].to(where), valid[donor].to(where), valid_here, rng)
        half = torch.rand(len(valid_here), 1, generator=rng, device=rng.device).to(where) < 0.5
        return torch.where(half, subsets.uniform(valid_here, case.k, rng), lent)

    return draw


def _random_mask_judges(case: Case) -> list[Judge]:
    def judge(*which: int) -> Judge:
        seed = seeds.derive(case.seed, "eval-x", *which)
        net, recipe = judge_net(case.reader, len(case.data.classes), seed), _recipe(case, seed, knows=False)
        return train_judge(net, case.train, case.validation, mixed_sizes(case.k), recipe)

    return case.once("eval-x", lambda: _all_awake(case, [judge(place) for place in range(SEEDS)], judge))


def _all_awake(case: Case, judges: list[Judge], again: Callable[[int, int], Judge]) -> list[Judge]:
    """The panel, those that learned next to nothing replaced by `again(place, attempt)` where that has learned more.

    J0 would start from such a judge and could not read honest units, which J1 learns: the choice would be blamed.
    """
    known = [_known(case, judge) for judge in judges]
    for attempt in range(1, ATTEMPTS):
        for place in range(len(judges)):
            if max(known) < TELLS or known[place] >= ASLEEP * max(known):
                continue
            judge = again(place, attempt)
            if (knows := _known(case, judge)) > known[place]:
                judges[place], known[place] = judge, knows
    return judges


def _known(case: Case, judge: Judge) -> float:
    """What the judge reads from whole validation rows, as a share of the answer's entropy."""
    rows = case.validation
    said = judge.log_probabilities(rows.x, rows.valid) - _prior(case).log()
    return float(said.gather(1, rows.target[:, None]).mean()) / entropy(case)


def _started(case: Case, seed: int) -> nn.Module:
    """A judge to be trained, which already knows what values mean, from random parts of the training rows.

    Otherwise only the judge that sees an honest choice of telling units would learn what they mean, and the choice
    would be blamed for it.
    """
    net = judge_net(case.reader, len(case.data.classes), seed)
    net.load_state_dict(_random_mask_judges(case)[seed % SEEDS].net.state_dict())
    return net


def _neutral_judges(case: Case) -> list[Judge]:
    """Judges that differ in their seed only: where nothing can be read, the side one of them falls on is luck."""

    def panel() -> list[Judge]:
        draw, drawn = _lent_masks(case), [seeds.derive(case.seed, "neutral", repeat) for repeat in range(SEEDS)]
        return [
            train_judge(_started(case, s), case.train, case.validation, draw, _recipe(case, s, knows=True))
            for s in drawn
        ]

    return case.once("neutral", panel)


def _recipe(case: Case, seed: int, *, knows: bool) -> Recipe:
    return replace(of_texts(RECIPE, knows=knows) if case.data.layout.is_text else RECIPE, seed=seed)


def _found(case: Case, panel: list[Judge], subject: Subject) -> Values:
    """(n,) the share of the panel that finds the target."""
    right = [judge.log_probabilities(case.prepared, subject.kept).argmax(1) == case.target for judge in panel]
    return Values(torch.stack(right).float().mean(0))


def _nats(case: Case, panel: list[Judge], subject: Subject) -> Values:
    """(n,) log J(target | shown) - log p(target), mean over the panel.

    Where there is nothing to read a judge falls on some side, another one for each mask, and may find the answer of a
    code by luck; it does so without being sure, and that is what this measures.
    """
    return Values(_told(case, panel, subject.kept))


def _told(case: Case, panel: list[Judge], kept: Tensor) -> Tensor:
    said = torch.stack([judge.log_probabilities(case.prepared, kept) for judge in panel]).mean(0)
    return (said - _prior(case).log()).gather(1, case.target[:, None])[:, 0]


def _prior(case: Case) -> Tensor:
    counted = torch.bincount(case.train.target, minlength=len(case.data.classes)).float()
    return (counted + 1) / (counted + 1).sum()


def _fit_width(kept: Tensor, d: int) -> Tensor:
    return pad(kept[:, :d].float(), (0, max(0, d - kept.shape[1])))
