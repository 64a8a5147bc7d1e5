"""The machine: the environment is set before torch loads, and threads give way to other work."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from spec_core import runtime
from spec_core.runtime import ThreadGovernor, threads_beside


@pytest.mark.parametrize("busy, processors, most, threads", [
    (0.0, 2, 2, 2), (0.3, 2, 2, 2), (0.7, 2, 2, 1), (1.0, 2, 2, 1), (5.0, 2, 2, 1), (-0.1, 2, 2, 2),
    (30.0, 64, 16, 16), (60.2, 64, 16, 4), (0.0, 1, 1, 1), (0.0, 64, 2, 2),
])
def test_threads_give_way_to_other_work(busy, processors, most, threads):
    assert threads_beside(busy, processors, most) == threads


def test_the_governor_follows_the_counters(monkeypatch):
    used: list[int] = []
    readings = iter([(0.0, 0.0, 0.0), (1.0, 2.0, 2.0), (2.0, 4.0, 3.0), (3.0, 5.0, 4.0)])
    monkeypatch.setattr(ThreadGovernor, "_counters", staticmethod(lambda: next(readings)))
    monkeypatch.setattr(ThreadGovernor, "_use", staticmethod(used.append))
    monkeypatch.setattr(runtime, "cpus", lambda: 2)
    monkeypatch.setattr(runtime.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(runtime.time, "monotonic", lambda: 1e9)
    governor = ThreadGovernor()
    for _ in range(3):
        governor.adjust()
    assert used == [2, 1, 2]  # alone; another keeps one busy; alone again


def test_without_counters_nothing_changes(monkeypatch):
    monkeypatch.setattr(ThreadGovernor, "_counters", staticmethod(lambda: None))
    before = torch.get_num_threads()
    ThreadGovernor().adjust()
    assert torch.get_num_threads() == before


def test_the_environment_is_set_before_torch_loads():
    code = ("import spec_core.runtime, os, sys; assert 'torch' not in sys.modules; "
            "assert os.environ['OMP_WAIT_POLICY'] == 'passive' and int(os.environ['GOMP_SPINCOUNT']) < 10**6")
    environment = {key: value for key, value in runtime.os.environ.items() if not key.startswith(("OMP", "GOMP"))}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_what_the_user_set_stays():
    subprocess.run([sys.executable, "-c", "import spec_core.runtime, os; assert os.environ['OMP_WAIT_POLICY'] == 'active'"],
                   check=True, env=runtime.os.environ | {"OMP_WAIT_POLICY": "active"})


@pytest.mark.parametrize("name, dtype", [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_a_named_dtype_is_used(name, dtype):
    assert runtime.choose_dtype(name, torch.device("cpu")) == dtype


def test_auto_is_float32_where_bfloat16_is_slow(monkeypatch):
    monkeypatch.setattr(runtime, "_cpu_has_bfloat16", lambda: False)
    assert runtime.choose_dtype("auto", torch.device("cpu")) == torch.float32
    monkeypatch.setattr(runtime, "_cpu_has_bfloat16", lambda: True)
    assert runtime.choose_dtype("auto", torch.device("cpu")) == torch.bfloat16
    assert runtime.choose_dtype("auto", torch.device("mps")) == torch.float32
