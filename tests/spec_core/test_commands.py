"""The command line: what it prints, what it writes, and one clear line on bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from spec_core.__main__ import main
from spec_core.trace import Trace

FAST = ["--dtype", "float32", "--max-new-tokens", "8"]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    try:
        status = main(list(arguments))
    except SystemExit as end:  # argparse
        status = end.code
    out, err = capsys.readouterr()
    return status, out, err


def test_generate_streams_sums_up_and_writes_the_trace(capsys, tmp_path, smollm2):
    status, out, err = run(capsys, "generate", "--prompt", "def add(a, b):\n", *FAST, "--set", "budget=7",
                           "--json", str(tmp_path / "t.json"))
    assert (status, err) == (0, "")
    trace = Trace.load(tmp_path / "t.json")
    assert out.startswith("def add(a, b):\n" + trace.output_text)
    assert "tokens per target call" in out and "acceptance rate by depth" in out
    assert trace.run["drafter"]["settings"]["budget"] == 7
    (tmp_path / "ordinary").touch()
    assert (tmp_path / "t.json").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_a_chats_answer_stands_below_its_prompt(capsys, smollm2):
    status, out, _ = run(capsys, "generate", "--chat", "--prompt", "Why is the sky blue?", "--drafter", "none", *FAST)
    assert status == 0 and out.startswith("Why is the sky blue?\n\n")


def test_plain_decoding_from_a_file_quietly(capsys, tmp_path, smollm2):
    (tmp_path / "prompt.txt").write_text("Once upon a time", encoding="utf-8-sig")  # its mark is no part of the prompt
    status, out, err = run(capsys, "generate", "--prompt-file", str(tmp_path / "prompt.txt"), "--drafter", "none",
                           "--quiet", "--json", str(tmp_path / "t.json"), *FAST)
    assert status == 0 and out.startswith("8 tokens in 8 target calls") and "Once" not in out
    assert Trace.load(tmp_path / "t.json").run["prompt"] == "Once upon a time"


def test_a_character_spread_over_tokens_is_printed_whole(capsys, smollm2):
    status, out, _ = run(capsys, "generate", "--prompt", "重复：茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶", *FAST)
    assert status == 0 and "⟨" not in out and "茶" in out.removeprefix("重复：茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶")


@pytest.mark.parametrize("arguments, words", [
    (["generate", "--prompt", ""], "prompt is empty"),
    (["generate", "--prompt", "x", "--max-new-tokens", "none"], "must be a number"),
    (["generate", "--prompt", "x", "--max-new-tokens", "0"], "between 1 and"),
    (["generate", "--prompt", "x", "--temperature", "-3"], "0, which is greedy, or between 0.01 and 10"),
    (["generate", "--prompt", "x", "--top-p", "7"], "between"),
    (["generate", "--prompt", "x", "--set", "budget"], "name=value"),
    (["generate", "--prompt", "x", "--set", "budget=lots"], "must be a whole number from 1 to 256, or auto"),
    (["generate", "--prompt", "x", "--set", "depth=3"], "no setting named depth"),
    (["generate", "--prompt", "x", "--target", "no-such"], "no model named no-such"),
    (["generate", "--prompt", "x", "--datastore", "no-such"], "no-such"),
    (["generate", "--prompt", "x", "--json", "/no/such/folder/t.json"], "no folder"),
    (["generate", "--prompt", "x", "--json", "/"], "is a folder"),
    (["generate", "--prompt", "x", "--json", "/proc/t.json"], "cannot be written"),
    (["generate", "--prompt-file", "/no/such/file"], "cannot be read"),
    *((["generate", "--prompt", "x", "--drafter", "draft-model", "--draft-model", name], "nano, nano-universal, smollm2-135m")
      for name in ("xyz", "docs")),
    (["generate", "--prompt", "x", "--drafter", "none", "--rule", "typical"], "The drafter none drafts nothing"),
    (["generate", "--prompt", "x", "--datastore", "no-such"], "in the tab Datastores, or with"),
    (["datastore", "build", "docs", "--from-stdlib", "--name", "x"], "not both"),
    (["datastore", "search", "no-such", "x"], "no-such"),
    (["datastore", "build", "/no/such/folder", "--name", "x"], "/no/such/folder"),
    (["models", "path", "no/such"], "not on this machine"),
    (["models", "path", "no-such"], "no model named no-such"),
    (["models", "fetch", "no-such"], "no model named"),
    *((["models", verb, "docs"], "docs holds no config.json") for verb in ("path", "fetch")),
    (["generate", "--prompt", "x", "--target", "docs"], "docs holds no config.json"),
    (["generate", "--prompt", "x", "--target", ""], "named (empty)"),
    (["generate", "--prompt", "x", "--seed", ""], "seed is (empty)"),
    (["generate", "--prompt", "x", "--temperature", "1e-300"], "0, which is greedy, or between 0.01 and 10"),
    (["datastore", "build", "README.md", "--name", ""], "error: (empty) cannot name a datastore"),
    *((["datastore", "export", "python-stdlib", path], words) for path, words in (
        ("/no/such/folder/a", "no folder"), ("/", "is a folder"), ("/proc/a", "cannot be written"))),
])
def test_bad_input_gives_one_line_and_status_2(capsys, smollm2, arguments, words):
    status, out, err = run(capsys, *arguments)
    assert status == 2 and words in err and err.startswith("error: ") and err.count("\n") == 1
    assert "Errno" not in err and "  " not in err


def test_what_the_system_refuses_is_told_without_numbers(capsys, tmp_path, monkeypatch):
    """Whichever command it ends."""
    def refuse(*_):
        raise failed

    monkeypatch.setattr("spec_core.commands._list_models", refuse)
    for failed, told in ((FileNotFoundError(2, "No such file or directory", "a/b"), "a/b cannot be read or written: No such file or directory."),
                         (OSError(28, "No space left on device"), "No space left on device"), (OSError("broken"), "broken")):
        assert run(capsys, "models", "list") == (2, "", f"error: {told}\n")


def test_a_fresh_clone_says_how_to_build_a_store(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECLAB_DATASTORES", str(tmp_path))
    status, out, _ = run(capsys, "datastore", "list")
    assert status == 0 and "no datastores yet" in out and "datastore build" in out
    _, _, err = run(capsys, "datastore", "export", "mine")
    assert "Known: none yet." in err


@pytest.mark.parametrize("arguments", [["generate"], ["generate", "--prompt", "x", "--drafter", "magic"], ["nonsense"], []])
def test_bad_usage_is_status_2(capsys, arguments):
    status, _, err = run(capsys, *arguments)
    assert status == 2 and "Traceback" not in err


@pytest.mark.parametrize("arguments", [[], ["generate"], ["datastore"], ["datastore", "build"], ["datastore", "search"],
                                       ["datastore", "list"], ["models"], ["models", "list"], ["models", "path"]])
def test_help_everywhere(capsys, arguments):
    status, out, _ = run(capsys, *arguments, "--help")
    assert status == 0 and "usage:" in out


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", "def f():".encode("utf-16"), "def f():".encode("utf-16-le"), "café".encode("latin-1"),
                                  "提示".encode("gb18030"), bytes(range(256))])
def test_a_prompt_file_that_is_no_text(capsys, tmp_path, data):
    (tmp_path / "p").write_bytes(data)
    status, _, err = run(capsys, "generate", "--prompt-file", str(tmp_path / "p"))
    assert status == 2 and "save it as UTF-8" in err


def test_models_list_and_path(capsys, smollm2):
    status, out, _ = run(capsys, "models", "list")
    assert status == 0 and "smollm2-135m" in out and "ready" in out
    status, out, _ = run(capsys, "models", "path", "smollm2-135m")
    assert status == 0 and os.path.isfile(os.path.join(out.strip(), "model.safetensors"))


def test_control_characters_do_not_steer_the_terminal(capsys, smollm2):
    _, out, _ = run(capsys, "generate", "--prompt", "\x1b[2J\x07 hello", *FAST)
    assert "\x1b" not in out and "\x07" not in out


@pytest.mark.parametrize("rest", ["--help", "--prompt x --max-new-tokens 30 --json {trace}"])
def test_a_reader_that_goes_away_loses_nothing(rest, tmp_path, smollm2):
    trace = tmp_path / "t.json"
    process = subprocess.run(f"{sys.executable} -m spec_core generate {rest.format(trace=trace)} | head -c 1", shell=True,
                             capture_output=True, text=True)
    assert process.stderr == "" and len(process.stdout) == 1
    if "{trace}" in rest:
        assert Trace.load(trace).steps


def test_the_trace_json_is_valid_for_any_reader(capsys, tmp_path, smollm2):
    run(capsys, "generate", "--prompt", "<script>", *FAST, "--json", str(tmp_path / "t.json"))
    data = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert data["format"] == "speculation-trace" and data["version"] == 1 and data["stop"] == "length"
    assert data["totals"]["tokens"] == 8 == len(data["output_ids"])
