"""A sweep on a Ray cluster of two workers, one of which is killed: all results are there, once, as on one machine."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch

from unmask.errors import InputError
from unmask.sweep.cluster import _check_answers, _check_gpus, connected, on_cluster
from unmask.sweep.engine import Handed, Job, Workers, attempt
from unmask.sweep.plan import as_plan
from unmask.sweep.running import TABLE, sweep

TASKS = {
    "datasets": ["xor:n=200", "orange:n=200"],
    "methods": ["occlusion", "gradient", {"method": "l2x", "settings": {"recipe": {"epochs": 2}}}],
    "seeds": 2,
    "checks": ["fs-m,fu-m", "comprehensiveness"],
    "k": 3,
    "rows": 40,
    "verdicts": False,
}
NOTICED = {"health_check_period_ms": 300, "health_check_failure_threshold": 2, "health_check_initial_delay_ms": 0}
AT_ONCE = {"worker_niceness": 0}  # Ray's workers stand back otherwise: minutes where other tests run beside
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture
def cluster() -> Iterator[tuple[str, Any]]:
    """The address of a cluster of two workers, a core each, and the second of them."""
    pytest.importorskip("ray", reason="ray is not installed: pip install unmask[ray]")
    from ray.cluster_utils import Cluster

    head = {**NODE, "include_dashboard": False, "_system_config": {**NOTICED, **AT_ONCE}}
    started = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield started.address, started.add_node(**NODE)
    finally:
        started.shutdown()


def at_work(process: Any) -> bool:
    return bool(process.name().startswith("ray::attempt"))


def kill_at_work(node: Any, tasks: Path) -> None:
    """Once a quarter of the results is there, the machine goes in the middle of a task."""
    import psutil

    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        workers = [p for p in raylet.children() if at_work(p)]
        if workers and tasks.is_dir() and len(os.listdir(tasks)) >= 6:
            for process in workers:
                process.suspend()
            if any(at_work(process) for process in workers):  # still, so it is caught in the middle
                for process in (*workers, raylet):
                    process.kill()
                return
            for process in workers:
                process.resume()
        time.sleep(0.02)


def results(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / TABLE).drop(columns="seconds")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_24_tasks_survive_a_worker_and_equal_those_of_joblib(cluster: tuple[str, Any], tmp_path: Path) -> None:
    address, node = cluster
    plan = as_plan(TASKS)
    killer = Thread(target=kill_at_work, args=(node, tmp_path / "ray" / "tasks"))
    killer.start()
    there = sweep(plan, tmp_path / "ray", Workers("ray", address=address, threads=1))
    killer.join()
    here = sweep(plan, tmp_path / "joblib", Workers(jobs=2, threads=1))
    for done in (here, there):
        assert (done["tasks"], done["done"], done["measured"], done["failed"]) == (24, 24, 24, [])
    kept = [pd.read_json(path, typ="series") for path in (tmp_path / "ray" / "tasks").iterdir()]
    assert (len(kept), len({result["key"] for result in kept})) == (24, 24)
    assert max(result["tries"] for result in kept) == 2, "the worker was killed between two tasks"
    frame = results(tmp_path / "ray")
    assert frame["key"].nunique() == 24
    assert not frame.duplicated(["key", "check", "at"]).any()
    pd.testing.assert_frame_equal(frame, results(tmp_path / "joblib"))


@pytest.mark.slow
def test_a_cluster_of_ones_own_has_all_cores_and_leaves_sigterm_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that share a GPU take a core each, though only one of them runs at a time elsewhere."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install unmask[ray]")
    begun: list[dict[str, Any]] = []
    gpu = {"Alive": True, "Resources": {"GPU": 1.0}}
    taking = lambda **how: (begun.append(how), signal.signal(signal.SIGTERM, signal.SIG_IGN))  # noqa: E731
    for name, does in (("init", taking), ("nodes", lambda: [gpu]), ("shutdown", dict), ("is_initialized", bool)):
        monkeypatch.setattr(ray, name, does)
    monkeypatch.setattr("unmask.devices.pick", lambda: torch.device("cuda"))
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    before = signal.getsignal(signal.SIGTERM)
    try:
        for workers in (Workers("ray", gpus=0.25), Workers("ray", gpus=0.25, jobs=3)):
            with connected(workers):
                assert signal.getsignal(signal.SIGTERM) is before
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [how["num_cpus"] for how in begun] == [8, 3]


def test_an_address_where_nobody_answers_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"no Ray cluster answers at 127.0.0.1:1: .*refused; start one with ray start"):
        _check_answers("127.0.0.1:1")
    for known in (None, "auto"):
        _check_answers(known)


def test_more_of_a_gpu_than_any_machine_has_is_refused() -> None:
    nodes = [{"Alive": True, "Resources": {"GPU": 1.0}}, {"Alive": False, "Resources": {"GPU": 8.0}}]
    ray = SimpleNamespace(nodes=lambda: nodes)
    _check_gpus(ray, 0.25)
    with pytest.raises(InputError, match=r"no machine of the cluster has 2 GPUs for a task \(the most is 1\)"):
        _check_gpus(ray, 2)


class FakeRay:
    """Runs nothing: each job is a key, done in the order given; how many were under way at a time is remembered."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self) -> None:
        self.most, self.cancelled = 0, list[Any]()

    def remote(self, **_: Any) -> Any:
        return lambda work: SimpleNamespace(remote=lambda job, handed: (job, handed))

    def wait(self, running: list[Any]) -> tuple[list[Any], list[Any]]:
        self.most = max(self.most, len(running))
        return running[:1], running[1:]

    def get(self, done: tuple[Any, Any]) -> Any:
        return attempt(*done)

    def cancel(self, left: Any, force: bool) -> None:
        self.cancelled.append(left)


@pytest.mark.parametrize("again", [False, True])
def test_all_jobs_are_side_by_side_also_when_they_are_tried_again(again: bool) -> None:
    ray, jobs = FakeRay(), [Job(str(i), partial(pow, i, 2)) for i in range(8)]
    found = dict(on_cluster(ray, Workers("ray"), Handed(None, apart=False), jobs, again))
    assert found == {str(i): i * i for i in range(8)}
    assert ray.most == 8
    few = FakeRay()
    list(on_cluster(few, Workers("ray", jobs=3), Handed(None, apart=False), jobs, again))
    assert few.most == 3


def test_who_stops_early_cancels_what_is_under_way() -> None:
    ray, jobs = FakeRay(), [Job(str(i), partial(pow, i, 2)) for i in range(4)]
    going = on_cluster(ray, Workers("ray"), Handed(None, apart=False), jobs, False)
    next(going)
    going.close()
    assert len(ray.cancelled) == 3
