"""Explainers fitted again: what never looks at the model stays, what does falls to chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from torch import nn
from torch.testing import assert_close

from audit.cases import linear, small_case, subject, table
from unmask import api, seeds
from unmask.audit import dependence
from unmask.audit.case import Subject
from unmask.audit.subjects import control
from unmask.data import dataset
from unmask.errors import TrainingError
from unmask.masking import subsets
from unmask.models import bind, wrap
from unmask.types import Explanation

pytestmark = pytest.mark.slow  # many small fits

D, K = 24, 4


class Fixed:
    """Keeps the columns with the largest values, whatever the model."""

    def fit(self, model, data):
        return self

    def clone(self):
        return self

    def explain(self, x, target=None):
        kept = subsets.topk(x, K, torch.ones_like(x, dtype=torch.bool))
        return Explanation(x, kept, torch.ones_like(kept), target)


def network(seed=0, d=D):
    with seeds.seeded(seed):
        net = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.normal_(net[0].weight)
        nn.init.normal_(net[2].weight)
    return wrap(net, outputs="logits")


def wide():
    return table(400, d=D)


def asked(case, explainer, name="it"):
    fitted = explainer.fit(case.model, case.data)
    return Subject(name, fitted.explain(case.x, case.target), explainer=fitted)


def mean(values):
    return float(values.values.mean())


def test_the_cosine_of_masks_is_their_overlap():
    a = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()
    b = torch.tensor([[0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1], [1, 0, 0, 0]]).bool()
    assert_close(dependence.cosine(a, b)[:3], torch.tensor([0.5, 0.0, 0.5]))
    assert bool(dependence.cosine(a, b)[3].isnan())
    assert_close(dependence.cosine(a[:3], a[:3]), torch.ones(3))


def test_a_random_choice_has_the_cosine_of_chance():
    valid = torch.arange(30) < torch.randint(10, 30, (4000, 1), generator=seeds.generator(0))
    one, other = (subsets.uniform(valid, K, seeds.generator(seed)) for seed in (1, 2))
    assert float(dependence.cosine(one, other).mean()) == pytest.approx(float((K / valid.sum(1)).mean()), abs=0.01)


def test_gradients_fall_to_chance_and_a_fixed_mask_stays(monkeypatch):
    monkeypatch.setattr(dependence, "REFITS", 30)
    case = small_case(wide(), model=network(), k=K)
    gradient = asked(case, api.explainer("gradient", K, removal="zero"))
    networks = 30**-0.5 * (K / D * (1 - K / D) / K) ** 0.5  # one network shows all rows much the same units
    assert mean(dependence.randomized_model(case, gradient)) == pytest.approx(K / D, abs=4 * networks)
    assert bool((dependence.randomized_model(case, asked(case, Fixed())).values == 1.0).all())


def test_controls_random_is_at_chance_and_the_first_stay():
    case = small_case(wide(), model=network(), k=K)
    chance = mean(dependence.randomized_model(case, control(case, "random", K)))
    rows = len(case.target) * dependence.REFITS
    assert chance == pytest.approx(K / D, abs=4 * (K / D * (1 - K / D) / K / rows) ** 0.5)
    again = control(case, "random", K)
    assert mean(dependence.randomized_model(case, again)) == chance
    assert mean(dependence.randomized_model(case, control(case, "first-k", K))) == 1.0
    counts = torch.arange(len(case.target)) % 3 + 1
    varied = dependence.randomized_model(case, control(case, "random", counts)).values
    assert float(varied.mean()) == pytest.approx(float((counts / D).mean()), abs=0.06)


def test_the_model_and_the_explainer_stay_as_they_are():
    case = small_case(wide(), model=network(), k=K)
    it = asked(case, api.explainer("gradient", K, removal="zero"))
    before = [p.clone() for p in case.model.module.parameters()]
    dependence.randomized_model(case, it)
    dependence.permuted_labels(case, it)
    assert all(torch.equal(p, old) for p, old in zip(case.model.module.parameters(), before, strict=True))
    assert torch.equal(it.explainer.explain(case.x, case.target).kept, it.kept)


def test_the_copy_learns_the_shuffled_labels_by_heart():
    case = small_case(wide(), model=network(), k=K)
    model, note = dependence._permuted(case)
    rows = case.pools["train"].split
    order = torch.randperm(len(rows.y), generator=seeds.generator(seeds.derive(case.seed, "permuted")))
    right = (model(rows.x).argmax(1) == rows.y[order]).float().mean()
    assert float(right) >= dependence.FITTED
    assert note == f"the copy of the model knows {float(right):.0%} of the shuffled labels"
    true = (model(case.x).argmax(1) == case.data.test.y).float().mean()
    assert abs(float(true) - 0.5) < 0.2  # it knows nothing of the task
    it = asked(case, api.explainer("gradient-x-input", K, removal="zero"))
    assert mean(dependence.permuted_labels(case, it)) < 0.5
    assert mean(dependence.permuted_labels(case, asked(case, Fixed()))) == 1.0


def test_a_model_too_small_for_its_labels_is_said(monkeypatch):
    monkeypatch.setattr(dependence, "ROUNDS", 2)
    case = small_case(table(400), model=wrap(nn.Linear(6, 2), outputs="logits"))
    model, note = dependence._permuted(case)
    assert model is not None
    assert int(note.split("knows ")[1].split("%")[0]) < 80


def named_labels():
    x = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    return dataset(x, np.where(x[:, 0] > 0, "alpha", "beta"))


def test_scikit_learn_is_fitted_again_in_the_order_of_the_classes():
    data = named_labels()
    labels = np.asarray(data.classes)[data.train.y.numpy()]
    tree = DecisionTreeClassifier(random_state=0, class_weight={"alpha": 1, "beta": 2}).fit(
        data.train.x.numpy(), labels
    )
    case = small_case(data, model=tree)
    model, note = dependence._permuted(case)
    assert note == "the copy of the model knows 100% of the shuffled labels"
    assert tree is not model.estimator
    it = asked(case, api.explainer("occlusion", 2, removal="zero"))
    assert mean(dependence.permuted_labels(case, it)) < 0.9
    missing = dependence.randomized_model(case, it)
    assert bool(missing.values.isnan().all())
    assert missing.note == "the weights of this model cannot be drawn anew"


def test_a_class_that_is_not_among_the_rows_keeps_its_column():
    data = table(300)
    model = bind(LogisticRegression().fit(data.train.x.numpy(), data.train.y.numpy()), data)
    again = dependence._fitted(
        replace(model, estimator=DecisionTreeClassifier().fit(data.train.x.numpy(), data.train.y.numpy())),
        ("0", "1"),
        data.train.x[data.train.y == 1][:30].repeat(2, 1),
        torch.ones(60, dtype=torch.long),
    )
    assert_close(again(data.test.x), torch.tensor([[0.0, 1.0]]).expand(len(data.test), 2))


def test_what_cannot_be_done_is_said():
    case = small_case(wide(), model=network(), k=K)
    ready = dependence.randomized_model(case, subject(case, case.valid))
    assert ready.note == "came ready-made: it cannot be fitted again"
    plain = small_case(table(300))
    it = Subject("it", subject(plain, plain.valid).explanation, explainer=Fixed())
    assert plain.model.call is linear
    assert dependence.permuted_labels(plain, it).note == "this model cannot be trained anew"

    class Stubborn(Fixed):
        def fit(self, model, data):
            raise TrainingError("no luck")

    failed = dependence.randomized_model(case, replace(asked(case, Fixed()), explainer=Stubborn()))
    assert bool(failed.values.isnan().all())
    assert failed.note == "could not be fitted again: no luck"


def test_layers_come_from_the_output_to_the_input_in_a_few_groups(monkeypatch):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)), nn.Linear(8, 2))
    assert dependence.layers(net) == [["3"], ["2.1"], ["2.0"], ["0"]]
    assert dependence.layers(net, ("3", "0", "2.0", "2.1")) == [["2.1"], ["2.0"], ["0"], ["3"]]
    monkeypatch.setattr(dependence, "GROUPS", 2)
    assert dependence.layers(net) == [["3", "2.1"], ["2.0", "0"]]


def test_a_cascade_draws_more_and_more_anew_and_alone_only_one():
    case = small_case(wide(), model=network(), k=K)
    own = case.model.module.state_dict()
    cascade, alone = (dict(dependence._by_layers(case, cumulative=c)) for c in (True, False))
    assert list(cascade) == list(alone) == [0.5, 1.0]

    def changed(model):
        return {key.partition(".")[0] for key, v in model.module.state_dict().items() if not torch.equal(v, own[key])}

    assert [changed(m) for m in cascade.values()] == [{"2"}, {"2", "0"}]
    assert [changed(m) for m in alone.values()] == [{"2"}, {"0"}]


class Backward(nn.Module):
    """Registers its last layer first."""

    def __init__(self):
        super().__init__()
        self.head, self.body = nn.Linear(8, 2), nn.Linear(D, 8)

    def forward(self, x):
        return self.head(self.body(x).relu())


def test_a_cascade_begins_with_the_layer_that_answers_whatever_the_order_of_registration():
    case = small_case(wide(), model=wrap(Backward(), outputs="logits"), k=K)
    own = case.model.module.state_dict()
    first = next(dependence._by_layers(case, cumulative=True))[1].module.state_dict()
    assert {key.partition(".")[0] for key, v in first.items() if not torch.equal(v, own[key])} == {"head"}


def test_curves_over_layers_what_looks_falls_what_does_not_stays():
    case = small_case(wide(), model=network(), k=K)
    gradient = asked(case, api.explainer("gradient", K, removal="zero"))
    found = dependence.cascading(case, gradient)
    assert torch.equal(found.values, found.curve[1.0])
    assert mean(found) < 0.5
    single = dependence.independent(case, gradient)
    assert_close(single.values, torch.stack(list(single.curve.values())).mean(0))
    fixed = asked(case, Fixed())
    assert bool((dependence.cascading(case, fixed).values == 1.0).all())
    chance = control(case, "random", K)
    assert mean(dependence.cascading(case, chance)) == pytest.approx(K / D, abs=0.08)
    # the last layer alone: two classes answer by the same units, whatever its weights are, more than by chance
    assert float(single.curve[0.5].mean()) > float(single.curve[1.0].mean())


def test_layers_of_what_is_no_network_cannot_be_drawn_anew():
    plain = small_case(table(300))
    it = Subject("it", subject(plain, plain.valid).explanation, explainer=Fixed())
    assert dependence.cascading(plain, it).note == "the weights of this model cannot be drawn anew"
    case = small_case(wide(), model=network(), k=K)
    ready = dependence.independent(case, subject(case, case.valid))
    assert ready.note == "came ready-made: it cannot be fitted again"
