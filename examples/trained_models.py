"""Models of one's own, trained long ago and loaded from files; `unmask audit --model` names the functions below.

The files are made by `python benchmarks/example_reports.py`.
"""

from pathlib import Path

import joblib
from safetensors.torch import load_file
from torch import nn

FILES = Path(__file__).parents[1] / "build" / "examples"


def forest():
    """A random forest of scikit-learn on `adult`."""
    return joblib.load(FILES / "adult" / "forest.joblib")


def network():
    """A convolutional network of torch for clothes of 28 by 28 pixels, ten classes."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def cnn():
    """The same network with its weights."""
    net = network()
    net.load_state_dict(load_file(FILES / "fashion" / "cnn.safetensors"))
    return net.eval()
