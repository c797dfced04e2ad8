from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from audit.cases import linear, table
from unmask import api
from unmask.audit.subjects import Settings, assemble, control
from unmask.errors import InputError
from unmask.masking import subsets
from unmask.models import bind, wrap
from unmask.types import Explanation

DATA = table(300)
MODEL = bind(wrap(linear), DATA)


def occlusion(k=2):
    return api.fit(MODEL, DATA, k, method="occlusion", removal="zero")


def test_rows_are_drawn_without_repetition_and_the_same_for_the_same_seed():
    a, b, other = (assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=20, seed=s)) for s in (0, 0, 1))
    assert torch.equal(a.x, b.x)
    assert not torch.equal(a.x, other.x)
    assert len({tuple(row) for row in a.x.tolist()}) == 20


def test_explanations_and_controls_stand_on_the_same_rows_and_on_the_judges_rows():
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=30))
    assert [s.name for s in case.subjects] == ["o", "random", "first-k", "last-k"]
    for subject in case.subjects:
        assert subject.kept.shape == (30, 6)
        assert bool((subject.kept.sum(1) == 2).all())
        assert len(subject.train) == len(case.train.x) == min(Settings(k=2).pool, len(DATA.train))
        assert torch.equal(subject.train.target, case.train.target)
        assert subject.seconds >= 0
    assert torch.equal(case.target, case.full.argmax(1))


def ready(**changes):
    split = DATA.test
    kept = torch.zeros_like(split.valid)
    kept[:, :2] = True
    return replace(Explanation(kept.float(), kept, split.valid, MODEL(split.x).argmax(1)), **changes)


def test_a_ready_made_explanation_follows_the_drawn_rows():
    numbered = torch.arange(len(DATA.test)).float()[:, None].expand(-1, 6)
    case = assemble(MODEL, DATA, {"mine": ready(scores=numbered)}, Settings(k=2, n=10, seed=3))
    mine = case.subjects[0]
    assert mine.train is None
    assert torch.equal(DATA.test.x[mine.explanation.scores[:, 0].long()], case.x)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ready().rows(torch.arange(5)), "explains 5 rows, but"),
        (ready(target=1 - ready().target), "explains another class than the model predicts"),
        (replace(ready(), kept=ready().kept[:, :3], scores=ready().scores[:, :3]), "has scores for 3 units"),
    ],
)
def test_explanations_that_do_not_fit_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        assemble(MODEL, DATA, {"mine": given}, Settings(k=2))


def test_a_model_with_one_answer_is_refused():
    stubborn = bind(wrap(lambda x: torch.tensor([[0.9, 0.1]]).expand(len(x), 2)), DATA)
    with pytest.raises(InputError, match="answers '0' to every audited row"):
        assemble(stubborn, DATA, {"mine": ready(target=torch.zeros(60, dtype=torch.long))}, Settings(k=2))


def test_a_control_matches_each_rows_number():
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=30))
    counts = torch.arange(30) % 6 + 1
    assert torch.equal(control(case, "random", counts).kept.sum(1), counts)
    assert torch.equal(control(case, "first-k", counts).kept, torch.arange(6) < counts[:, None])


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_judges_never_learn_from_an_audited_row(split):
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=30, split=split))
    audited = {tuple(row) for row in case.x.tolist()}
    for rows in (case.train, case.validation):
        assert not audited & {tuple(row) for row in rows.x.tolist()}


def test_an_audit_that_leaves_nothing_to_the_judges_is_refused():
    with pytest.raises(InputError, match="leaves 0 rows of validation for the judges"):
        assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=60, split="validation"))


def test_the_rest_of_a_ready_made_explanation_is_spared_for_the_judges():
    case = assemble(MODEL, DATA, {"mine": ready()}, Settings(k=2, n=20))
    spare = case.subjects[0].spare
    assert len(spare.x) == 40
    assert not {tuple(r) for r in case.x.tolist()} & {tuple(r) for r in spare.x.tolist()}
    alike = control(case, "random", case.subjects[0].kept.sum(1), like=case.subjects[0])
    assert alike.train is None
    assert torch.equal(alike.spare.x, spare.x)
    assert not torch.equal(alike.spare.kept, spare.kept)


def test_what_an_explainer_answers_is_checked():
    class Odd:
        def __init__(self, change):
            self.k, self.change = 2, change

        def fit(self, model, data):
            return self

        def clone(self):
            return self

        def explain(self, x, target=None):
            kept = torch.zeros(len(x), 6, dtype=torch.bool)
            kept[:, :2] = True
            return self.change(Explanation(kept.float(), kept, torch.ones_like(kept), target))

    short = Odd(lambda e: replace(e, kept=e.kept[:, :3], scores=e.scores[:, :3]))
    floats = Odd(lambda e: replace(e, kept=e.kept.float()))
    for odd, said in ((short, "has scores for 3 units"), (floats, "True and False")):
        with pytest.raises(InputError, match=said):
            assemble(MODEL, DATA, {"odd": odd}, Settings(k=2))


def test_a_subject_knows_its_explainer_and_how_often_it_asked_the_model():
    explainer = occlusion()
    case = assemble(MODEL, DATA, {"o": explainer, "mine": ready()}, Settings(k=2, n=20))
    asked, mine, *controls = case.subjects
    assert asked.explainer is explainer
    assert asked.calls == 7.0  # the whole row, and each of six columns removed
    assert mine.explainer is None
    assert mine.calls != mine.calls
    assert {s.calls for s in controls} == {0.0}


def test_calls_are_counted_though_the_explainer_wrapped_the_model_itself():
    own = api.explainer("occlusion", 2, removal="zero").fit(linear, DATA)
    assert assemble(MODEL, DATA, {"o": own}, Settings(k=2, n=20)).subjects[0].calls == 7.0


def test_what_an_explainer_leaves_out_for_drawing_is_added():
    class Bare:
        k = 2

        def fit(self, model, data):
            return self

        def clone(self):
            return self

        def explain(self, x, target=None):
            kept = torch.arange(6).expand(len(x), -1) < 2
            return Explanation(kept.float(), kept, torch.ones_like(kept), target)

    case = assemble(MODEL, DATA, {"bare": Bare()}, Settings(k=2, n=20))
    assert case.subjects[0].explanation.row(3).values == case.x[3].tolist()


def test_a_control_can_be_asked_again():
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=20))
    random, first, _ = (s.explainer for s in case.subjects[1:])
    again = random.explain(case.x, case.target)
    assert torch.equal(again.kept, random.explain(case.x, case.target).kept)
    assert bool((again.kept.sum(1) == 2).all())
    assert not torch.equal(again.scores, random.explain(case.x + 1, case.target).scores)
    other = random.clone().fit(replace(MODEL, name="another"), DATA).explain(case.x, case.target)
    assert not torch.equal(again.scores, other.scores)
    assert torch.equal(first.explain(case.x, case.target).kept, case.subjects[2].kept)


def test_the_pool_is_as_large_as_one_says():
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=20, pool=100))
    assert (len(case.train.x), len(case.validation.x)) == (100, 25)
    assert torch.equal(case.pools["train"].split.x, case.train.x)
    assert torch.equal(case.pools["validation"].full.argmax(1), case.validation.target)
    with pytest.raises(InputError, match="pool, the rows judges learn from, must be at least 40, got 39"):
        Settings(k=2, pool=39)


def test_random_units_in_other_numbers_come_in_these_numbers_on_the_judges_rows_too():
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=30))
    like = case.subjects[0]
    parts = {part: getattr(like, part) for part in ("train", "validation")}
    counts = {part: 1 + torch.arange(len(e)) % 2 for part, e in parts.items()}
    varied = replace(
        like, **{part: replace(e, kept=subsets.topk(e.scores, counts[part], e.valid)) for part, e in parts.items()}
    )
    own = 1 + torch.arange(len(case.target)) % 2
    null = control(case, "random", own, like=varied)
    assert torch.equal(null.kept.sum(1), own)
    for part, n in counts.items():
        assert torch.equal(getattr(null, part).kept.sum(1), n)


def test_a_control_of_varying_numbers_can_be_asked_about_other_rows() -> None:
    case = assemble(MODEL, DATA, {"o": occlusion()}, Settings(k=2, n=30))
    own = 1 + torch.arange(len(case.target)) % 2
    asked = control(case, "random", own).explainer
    assert torch.equal(asked.explain(case.x).kept.sum(1), own)
    assert asked.explain(case.x[:3]).kept.sum(1).tolist() == [int(own.double().mean().round())] * 3


def test_a_ready_made_explanation_needs_rows_to_be_judged_on():
    with pytest.raises(InputError, match="judged on the audited rows alone: 10 or more are needed, got 9"):
        assemble(MODEL, DATA, {"mine": ready()}, Settings(k=2, n=9))


def test_rows_for_the_judges_are_drawn_from_all_over_a_sorted_split():
    data = table(1200)
    data = replace(data, test=data.test.rows(data.test.y.argsort(stable=True)))
    kept = torch.zeros_like(data.test.valid)
    kept[:, :2] = True
    mine = Explanation(kept.float(), kept, data.test.valid, MODEL(data.test.x).argmax(1))
    spare = assemble(bind(wrap(linear), data), data, {"mine": mine}, Settings(k=2, n=20, pool=40)).subjects[0].spare
    assert len(spare.x) == 40
    assert float(spare.target.double().mean()) == pytest.approx(float(mine.target.double().mean()), abs=0.3)
