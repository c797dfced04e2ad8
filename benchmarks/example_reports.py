"""The same audit in one command on four sorts of models, with Captum, SHAP and LIME beside our own explainers.

Trains the models and makes the foreign explanations below build/examples (what is there is not made again), runs
`unmask audit` on each as a user would, and leaves the pages and an index in docs/examples. Names of examples, such as
`adult tumours`, run those only; `--index` writes the index alone.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import common  # noqa: F401  sets the number of threads
import peers
import unmask
from unmask.data import read

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "examples"
DOCS = ROOT / "docs" / "examples"
CHECKS = ("fs-m", "fu-m", "encoding-share", "reading")
HEAD = """# The same audit on several sorts of models

Each page was written by the one command above its table, on a model that was trained before and with explanations that
Captum, SHAP and LIME made (`--scores`) beside explainers of `unmask` (`--method`). Download a page and open it: it is
one file and loads nothing. All of it is made anew by `python benchmarks/example_reports.py`, which needs the data of
`UNMASK_DATA` and the extras `hf`, `onnx` and `peers`. Few rows were used, to keep the pages and the waiting small: the
numbers show how to read a page, they are no results. What was made elsewhere was made once: checks that ask a method
again (other seeds, other removals, a random model) cannot be run on a file of scores, and the page says so.

How a page looks on a [desk](desktop.png), and on a [phone](phone.png) in the dark."""


@dataclass(frozen=True)
class Example:
    """One audit: what is made before, the words of the command, what a reader should notice."""

    title: str
    prepare: Callable[[Path], None]
    words: str
    notice: str


def adult(folder: Path) -> None:
    import joblib
    import shap
    from sklearn.ensemble import RandomForestClassifier

    data = unmask.load("adult:rows=2000/500/500")
    path = folder / "forest.joblib"
    if not path.exists():
        forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
        joblib.dump(forest.fit(data.train.x.numpy(), data.train.y.numpy()), path)
    forest = joblib.load(path)
    print("accuracy", forest.score(data.test.x.numpy(), data.test.y.numpy()), flush=True)
    peers.shap_file(folder / "shap.npz", lambda: shap.TreeExplainer(forest)(data.test.x.numpy()))
    peers.tables(forest, data, 4, folder)


def tumours(folder: Path) -> None:
    import shap
    from skl2onnx import to_onnx
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier

    bunch = load_breast_cancer(as_frame=True)
    table = bunch.data.assign(diagnosis=np.where(bunch.target == 0, "malignant", "benign"))
    table.to_csv(folder / "tumours.csv", index=False)
    data = read(folder / "tumours.csv", label="diagnosis")
    path = folder / "tumours.onnx"
    if not path.exists():
        x, y = data.train.x.numpy(), np.array(data.classes)[data.train.y.numpy()]
        boosted = GradientBoostingClassifier(random_state=0).fit(x, y)
        path.write_bytes(to_onnx(boosted, x[:1], options={"zipmap": False}).SerializeToString())
    model = unmask.models.bind(unmask.wrap(path), data)

    def says(rows: Any) -> np.ndarray:
        return model(torch.as_tensor(rows, dtype=torch.float32)).numpy()

    print("accuracy", float((model(data.test.x).argmax(1) == data.test.y).float().mean()), flush=True)
    explainer = shap.Explainer(says, data.train.x.numpy()[:50], seed=0)
    peers.shap_file(folder / "shap.npz", lambda: explainer(data.test.x.numpy(), silent=True))
    peers.tables(path, data, 4, folder)


def fashion(folder: Path) -> None:
    from safetensors.torch import save_file

    sys.path.insert(0, str(ROOT))
    from examples.trained_models import cnn, network

    data = unmask.load("fashion-mnist:patch=4,rows=1500/300/150")
    path = folder / "cnn.safetensors"
    if not path.exists():
        torch.manual_seed(0)
        net = network()
        learn(net.parameters(), lambda at: loss(net(data.train.x[at]), data.train.y[at]), len(data.train), 8, 1e-3)
        save_file(net.state_dict(), path)
    net = cnn()
    with torch.no_grad():
        print("accuracy", float((net(data.test.x).argmax(1) == data.test.y).float().mean()), flush=True)
    peers.images(net, data, 10, folder)


def sst2(folder: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from unmask.nets.pieces import folder as packaged

    data = unmask.load("sst2:rows=1500/300/200")
    place = folder / "model"
    if not place.exists():
        torch.manual_seed(0)
        names = {"id2label": dict(enumerate(data.classes)), "label2id": {c: i for i, c in enumerate(data.classes)}}
        net = AutoModelForSequenceClassification.from_pretrained(packaged(), **names).train()
        tokenizer = AutoTokenizer.from_pretrained(packaged())
        lines = [" ".join(row) for row in data.train.x]

        def step(at: torch.Tensor) -> torch.Tensor:
            fed = tokenizer([lines[i] for i in at], padding=True, return_tensors="pt")
            return loss(net(**fed).logits, data.train.y[at])

        learn(net.parameters(), step, len(lines), 2, 5e-5)
        net.save_pretrained(place)
        tokenizer.save_pretrained(place)
    model = unmask.wrap(place)
    print("accuracy", float((model(data.test.x).argmax(1) == data.test.y).float().mean()), flush=True)
    peers.texts(folder, data, 5)


loss = nn.functional.cross_entropy


def learn(weights: Any, step: Callable[[torch.Tensor], torch.Tensor], n: int, epochs: int, rate: float) -> None:
    optimizer = torch.optim.AdamW(list(weights), lr=rate)
    for _ in range(epochs):
        for at in torch.randperm(n).split(32):
            optimizer.zero_grad()
            step(at).backward()
            optimizer.step()


ALL = "--scores build/examples/{0}/captum.npy --scores build/examples/{0}/shap.{1} --scores build/examples/{0}/lime.npy"
EXAMPLES = {
    "adult": Example(
        "A random forest of scikit-learn on census incomes",
        adult,
        "--model examples.trained_models:forest --data adult:rows=2000/500/500 --k 4 "
        f"{ALL.format('adult', 'npz')} --method mimic --method occlusion "
        "--checks default,seed-stability,counterfactual",
        "Four of fourteen columns are enough for this forest, and all five explanations find such columns. Read the "
        "sentences on the cards rather than the first number: most people earn up to 50K, so that four columns "
        "drawn at random keep 87% of the answers, but only 54% when both classes count alike. Captum, SHAP and LIME "
        "were made once, on 500 rows; had they been made on 200, the page would say that it cannot be told whether "
        "their choice smuggles the answer.",
    ),
    "tumours": Example(
        "An ONNX file and a csv file",
        tumours,
        "--model build/examples/tumours/tumours.onnx --data build/examples/tumours/tumours.csv --label diagnosis --k 4 "
        f"{ALL.format('tumours', 'npz')} --method l2x --method kernel-shap "
        "--checks default,seed-stability,removal-sensitivity",
        "The verdict `care` for L2X and KernelSHAP does not mean that they are worse than those above them: they "
        "could be asked more. Fitted with another seed L2X keeps other columns, and both keep others when hidden "
        "columns get another value than their mean; the files could not be asked. `last-k`, a control that always "
        "keeps the last four columns, does well by luck: those are among the worst values of each tumour, which "
        "tell nearly everything here.",
    ),
    "fashion": Example(
        "A convolutional network of torch on ten kinds of clothes",
        fashion,
        "--model examples.trained_models:cnn --outputs logits --data fashion-mnist:patch=4,rows=1500/300/150 --k 10 "
        f"{ALL.format('fashion', 'npy')} --method integrated-gradients --method occlusion "
        "--checks default,cascading-randomization,removal-sensitivity",
        "Captum's, SHAP's and LIME's files may be trusted as far as they could be asked, our two explainers are to be "
        "used with care, though integrated gradients keep the answer most often: they could be asked more. Which "
        "patches they choose hangs on what hidden patches are filled with. Shown LIME's ten patches alone, the network "
        "often says bag: it keeps the answer in all rows of bags and in one in eight of trousers.",
    ),
    "sst2": Example(
        "A Hugging Face classifier, MiniLM fine-tuned on sentences of films",
        sst2,
        "--model build/examples/sst2/model --data sst2:rows=1500/300/200 --k 5 "
        f"{ALL.format('sst2', 'npy')} --method gradient-x-input --method attention",
        "Judges that learn words from 1,500 sentences read a tenth of what MiniLM, which has read much more, makes of "
        "them: whether a choice smuggles cannot be told, and the page says so instead of trusting. Signed gradient x "
        "input is no better than words drawn at random.",
    ),
}


def run(name: str, example: Example) -> None:
    """Make what is needed, run the command, keep its page."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    example.prepare(folder)
    out = ["--out", str(folder.relative_to(ROOT))]
    subprocess.run(
        [sys.executable, "-m", "unmask.cli", "audit", *shlex.split(example.words), *out], cwd=ROOT, check=True
    )
    DOCS.mkdir(exist_ok=True)
    shutil.copy(folder / "report.html", DOCS / f"{name}.html")
    (DOCS / f"{name}.json").write_text(json.dumps(short(folder), indent=1, ensure_ascii=False) + "\n", "utf-8")


def short(folder: Path) -> dict[str, Any]:
    """Of the report for machines what the index shows: verdicts with their deciding numbers."""
    found: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    value = {(row["explanation"], row["check"]): row["value"] for row in found["rows"]}
    shown = [{**v, **{check: value.get((v["explanation"], check)) for check in CHECKS}} for v in found["verdicts"]]
    return {"unmask": found["unmask"], "task": found["task"], "model": found["model"], "verdicts": shown}


def index() -> str:
    """docs/examples/README.md, of all examples that have been run."""
    done = {name: example for name, example in EXAMPLES.items() if (DOCS / f"{name}.json").exists()}
    return "\n\n".join([HEAD, *(part(name, example) for name, example in done.items())]) + "\n"


def part(name: str, example: Example) -> str:
    words = re.sub(
        r" (?=--(?!outputs|label|k ))", " \\\n  ", f"unmask audit {example.words} --out build/examples/{name}"
    )
    found = json.loads((DOCS / f"{name}.json").read_text("utf-8"))
    rows = [[v["explanation"], v["verdict"], *(number(v[check]) for check in CHECKS)] for v in found["verdicts"]]
    table = [["explanation", "verdict", *CHECKS], ["---"] * (2 + len(CHECKS)), *rows]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
    head = f"## {example.title}\n\n[{name}.html]({name}.html)\n\n```\n{words}\n```"
    return f"{head}\n\n{lines}\n\n{textwrap.fill(example.notice, 118)}"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def main() -> None:
    wanted = [word for word in sys.argv[1:] if word in EXAMPLES]
    for name in wanted or ([] if "--index" in sys.argv else EXAMPLES):
        run(name, EXAMPLES[name])
    (DOCS / "README.md").write_text(index(), "utf-8")


if __name__ == "__main__":
    main()
