"""The door from Python: README's example runs, and what is wrong is said at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from spec_core import Trace, decode, load_target, make_drafter
from spec_core.lab import Request, prepare
from spec_core.messages import UserError
from spec_core.processors import Sampling

README = Path(__file__).resolve().parents[2] / "README.md"


def example() -> str:
    section = README.read_text(encoding="utf-8").partition("## From Python")[2]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def test_the_example_of_the_readme_runs(smollm2, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(example(), "README.md", "exec"), names)
    assert len([line for line in example().splitlines() if line.strip()]) <= 22
    assert "32 tokens in" in capsys.readouterr().out
    assert names["trace"] == names["generation"].trace and (tmp_path / "run.json").is_file()


def test_the_trace_is_that_of_the_page_and_the_command_line(smollm2):
    sampling = Sampling(temperature=0.8, seed=5)
    drafter = make_drafter("rest", smollm2, budget=12, sampling=sampling)
    ours = decode(smollm2, drafter, "import os\n", sampling=sampling, max_new_tokens=12).finish()
    generation = prepare(Request("import os\n", dtype="float32", temperature=0.8, seed=5, max_new_tokens=12,
                                 drafter_settings={"budget": 12}))
    list(generation.steps())
    theirs = generation.trace
    own = {"id", "created"}
    assert {k: v for k, v in ours.run.items() if k not in own} == {k: v for k, v in theirs.run.items() if k not in own}
    assert ours.output_ids == theirs.output_ids and [s.tree for s in ours.steps] == [s.tree for s in theirs.steps]


@pytest.mark.parametrize("wrong, key", [
    (lambda target: make_drafter("oracle", target), "request.unknown"),
    (lambda target: make_drafter("prompt-lookup", target, length=0), "request.range"),
    (lambda target: make_drafter("prompt-lookup", target, colour=1), "request.unknown_setting"),
    (lambda target: make_drafter("rest", target, datastore="none-such"), "datastore.unknown"),
    (lambda target: decode(target, make_drafter("none", target), ""), "request.prompt_empty"),
    (lambda target: decode(target, make_drafter("none", target), "x", max_new_tokens=0), "request.range"),
    (lambda target: decode(target, make_drafter("none", target), "x", sampling=Sampling(temperature=-1)), "request.temperature"),
    (lambda target: make_drafter("draft-model", target, sampling=Sampling(temperature=1e-300)), "request.temperature"),
    (lambda target: load_target("no-such-model"), "model.unknown"),
])
def test_what_is_wrong_is_said_before_anything_is_decoded(smollm2, wrong, key):
    with pytest.raises(UserError) as caught:
        wrong(smollm2)
    assert caught.value.key == key


def test_traces_need_no_torch():
    script = "import sys; from spec_core import Trace; assert 'torch' not in sys.modules; import spec_core; " \
             "assert set(spec_core.__all__) == {'Trace', 'decode', 'load_target', 'make_drafter'}"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError):
        import spec_core

        spec_core.nonsense
    assert Trace.__module__ == "spec_core.trace"
