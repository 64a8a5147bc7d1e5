"""What happened, step by step: the record that every picture and every figure is drawn from.

``Trace`` is also the file format "speculation-trace", version 1 (JSON). Unknown keys
are ignored on reading, a newer version is refused, and a broken or hostile file gives
a ``TraceError`` with one sentence. No torch.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from .trace_checks import TraceError, expect, integer, integers, number, numbers, refuse_constant, strings

FORMAT = "speculation-trace"
VERSION = 1
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_NODES_A_STEP = 4096

VERDICTS = ("accepted", "rejected", "unreached")
KINDS = ("accepted", "recovered", "bonus")
STOPS = ("eos", "length", "context", "stopped", "error")
PARTS = ("draft", "verify", "accept", "overhead")
PROMPT = "prompt"
"""Beside the parts, in the first step's times only: reading the prompt."""


@dataclass
class TreeRecord:
    """The verified tree of one step: ``n`` entries each, in pseudo-sequence order.

    ``target_probs[i]`` is p(node i | its path) after the logits processors, None where
    the walk did not reach the node's parent. ``verdicts[i]`` is one of ``VERDICTS``.
    """

    tokens: list[int] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    weights: list[float] | None = None
    draft_probs: list[float] | None = None
    target_probs: list[float | None] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)


@dataclass
class Committed:
    """The tokens that the step added to the output; ``kinds[i]`` is one of ``KINDS``."""

    ids: list[int] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)


@dataclass
class Step:
    """One round: draft, one target forward over root and tree, acceptance, commit.

    Args:
        index: 0, 1, 2, …
        context_length: committed tokens before this step, root included.
        tree: what was drafted and how it was judged.
        details: drafter specific (documented by each drafter).
        committed: what was added.
        arithmetic: one entry a decision, as shown to the user.
        mask_sha256: of the (n + 1) × (n + 1) boolean mask that the target really used.
        ms: milliseconds by part: draft, verify, accept, overhead; of the first step also ``PROMPT``.
    """

    index: int
    context_length: int
    tree: TreeRecord
    committed: Committed
    details: dict[str, Any] = field(default_factory=dict)
    arithmetic: list[dict[str, Any]] = field(default_factory=list)
    mask_sha256: str = ""
    ms: dict[str, float] = field(default_factory=dict)

    @property
    def total_ms(self) -> float:
        """Milliseconds of all parts, and of reading the prompt before the first step.

        Reading the prompt may answer a first step that drafts nothing, so without it a plain run would seem shorter
        than one that drafts by a forward that both took.
        """
        return self.ms.get(PROMPT, 0.0) + sum(self.ms.get(part, 0.0) for part in PARTS)

    def to_json(self) -> dict[str, Any]:
        """The step as plain lists and dicts."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any, index: int) -> Step:
        """Read and check one step.

        Raises:
            TraceError: a field is missing, of the wrong kind, or of the wrong length.
        """
        where = f"step {index + 1}"  # as the page counts
        expect(isinstance(data, Mapping), f"{where} is not an object")
        tree = _read_tree(data.get("tree"), where)
        committed = _read_committed(data.get("committed"), where)
        ms = data.get("ms", {})
        expect(isinstance(ms, Mapping), f"{where}: ms is not an object")
        details = data.get("details", {})
        arithmetic = data.get("arithmetic", [])
        expect(isinstance(details, Mapping), f"{where}: details is not an object")
        expect(isinstance(arithmetic, list), f"{where}: arithmetic is not a list")
        return cls(
            index=index,
            context_length=integer(data.get("context_length"), f"{where}: context_length"),
            tree=tree,
            committed=committed,
            details=dict(details),
            arithmetic=list(arithmetic),
            mask_sha256=str(data.get("mask_sha256", "")),
            ms={part: number(ms.get(part, 0.0), f"{where}: ms.{part}")
                for part in (*PARTS, *([PROMPT] if PROMPT in ms else []))},
        )


@dataclass
class Trace:
    """A whole run: how it was set up, every step, and what came out.

    ``run`` holds id, created, prompt, prompt_ids, prompt_pieces, target, drafter,
    datastore, acceptance and limits, as the file format lays them down.
    """

    run: dict[str, Any]
    steps: list[Step] = field(default_factory=list)
    output_ids: list[int] = field(default_factory=list)
    output_text: str = ""
    stop: str = "stopped"
    error: str | None = None

    @property
    def totals(self) -> dict[str, Any]:
        """Metrics of the run so far; see ``totals``."""
        return totals(self.steps)

    def to_json(self) -> dict[str, Any]:
        """The whole trace in the file format."""
        return {"format": FORMAT, "version": VERSION, "run": self.run,
                "steps": [step.to_json() for step in self.steps],
                "output_ids": self.output_ids, "output_text": self.output_text,
                "stop": self.stop, "error": self.error, "totals": self.totals}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as JSON: whole under its name, or not at all."""
        path = Path(path)
        text = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
        try:
            temporary.write_text(text, encoding="utf-8")
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return path

    def show(self, language: str = "en") -> None:
        """Show the run in the player: under the cell of a notebook, elsewhere in the browser."""
        _viewer("show")(self, language)

    def _repr_html_(self) -> str:
        """What a notebook shows of a trace at a cell's end."""
        return _viewer("frame")(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace file.

        Raises:
            TraceError: no such file, too large, not JSON, or not a valid trace.
        """
        path = Path(path)
        try:
            size = path.stat().st_size
            if size > MAX_FILE_BYTES:
                raise TraceError("trace.too_large", name=path.name, size=size // 2**20, most=MAX_FILE_BYTES // 2**20)
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise TraceError("trace.unreadable", name=path.name, reason=error.strerror or error) from error
        except UnicodeDecodeError as error:
            raise TraceError("trace.not_json") from error
        return cls.from_text(text)

    @classmethod
    def from_text(cls, text: str) -> Trace:
        """Read a trace from JSON text. Raises ``TraceError``."""
        if not text.strip():
            raise TraceError("trace.empty")
        try:
            data = json.loads(text, parse_constant=refuse_constant)
        except TraceError:
            raise
        except json.JSONDecodeError as error:
            begun = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
            raise TraceError("trace.cut_off" if begun else "trace.not_json") from error
        except (ValueError, RecursionError) as error:
            raise TraceError("trace.not_json") from error
        return cls.from_json(data)

    @classmethod
    def from_json(cls, data: Any) -> Trace:
        """Check and read the file format's top level. Raises ``TraceError``."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise TraceError("trace.other_format")
        version = integer(data.get("version"), "version")
        if version > VERSION:
            raise TraceError("trace.newer", version=version, known=VERSION)
        run = data.get("run")
        expect(isinstance(run, Mapping), "the trace has no run")
        expect(isinstance(data.get("steps"), list), "the trace has no list of steps")
        prompt_ids = integers(run.get("prompt_ids"), "run.prompt_ids")
        strings(run.get("prompt_pieces"), len(prompt_ids), "run.prompt_pieces")
        for key in ("target", "drafter", "acceptance", "limits"):
            expect(isinstance(run.get(key), Mapping), f"run.{key} is not an object")
        expect(run.get("datastore") is None or isinstance(run["datastore"], Mapping),
                "run.datastore is not an object")
        stop = data.get("stop", "stopped")
        expect(stop in STOPS, f"stop is {stop!r}; it is one of {', '.join(STOPS)}")
        error = data.get("error")
        steps = [Step.from_json(step, i) for i, step in enumerate(data["steps"])]
        output_ids = integers(data.get("output_ids", []), "output_ids")
        _check_lengths(steps, len(prompt_ids), output_ids)
        return cls(
            run=dict(run),
            steps=steps,
            output_ids=output_ids,
            output_text=str(data.get("output_text", "")),
            stop=stop,
            error=None if error is None else str(error),
        )


def _viewer(name: str) -> Any:
    """A function of the house's notebook view, looked up by name when it is wanted.

    The core must not import what lies above it, and works without; so it names the view as a plug-in.
    """
    return resolve_name(f"visualizers.notebook:{name}")


def totals(steps: Sequence[Step]) -> dict[str, Any]:
    """The metrics of a run.

    Returns:
        steps: target forwards, one a step.
        tokens: committed tokens.
        tokens_per_call: tokens ÷ target forwards (the paper's M).
        drafted: drafted nodes; accepted: those that were accepted.
        acceptance_by_depth: for each depth d, accepted nodes at d ÷ steps whose walk
            reached depth d with at least one drafted node there.
        tokens_per_second: tokens ÷ the time of all parts and of reading the prompt.
        ms: total milliseconds by part.
    """
    tokens = sum(len(step.committed.ids) for step in steps)
    ms = {part: sum(step.ms.get(part, 0.0) for step in steps) for part in PARTS}
    seconds = sum(step.total_ms for step in steps) / 1000
    reached: dict[int, int] = {}
    accepted: dict[int, int] = {}
    for step in steps:
        depths: list[int] = []
        seen: set[int] = set()
        for parent, verdict in zip(step.tree.parents, step.tree.verdicts, strict=True):
            depth = 1 if parent < 0 else depths[parent] + 1
            depths.append(depth)
            if verdict != "unreached":
                seen.add(depth)
            if verdict == "accepted":
                accepted[depth] = accepted.get(depth, 0) + 1
        for depth in seen:
            reached[depth] = reached.get(depth, 0) + 1
    return {
        "steps": len(steps),
        "tokens": tokens,
        "tokens_per_call": tokens / len(steps) if steps else 0.0,
        "drafted": sum(len(step.tree.tokens) for step in steps),
        "accepted": sum(accepted.values()),
        "acceptance_by_depth": [accepted.get(d, 0) / reached[d] for d in sorted(reached)],
        "tokens_per_second": tokens / seconds if seconds else 0.0,
        "ms": ms,
    }


def _check_lengths(steps: Sequence[Step], prompt: int, output_ids: Sequence[int]) -> None:
    """Each step begins where the one before ended, and the output is what they committed."""
    committed: list[int] = []
    for step in steps:
        expect(step.context_length == prompt + len(committed), f"step {step.index + 1} does not begin where the run stood")
        committed += step.committed.ids
    expect(list(output_ids) == committed, "output_ids are not what the steps committed")


def _read_tree(data: Any, where: str) -> TreeRecord:
    expect(isinstance(data, Mapping), f"{where}: tree is not an object")
    tokens = integers(data.get("tokens"), f"{where}: tree.tokens")
    n = len(tokens)
    expect(n <= MAX_NODES_A_STEP, f"{where}: a tree of {n} nodes; at most {MAX_NODES_A_STEP} can be shown")
    parents = integers(data.get("parents"), f"{where}: tree.parents", n)
    for i, parent in enumerate(parents):
        expect(-1 <= parent < i, f"{where}: node {i} has parent {parent}; a parent comes before its child")
    verdicts = strings(data.get("verdicts"), n, f"{where}: tree.verdicts")
    expect(set(verdicts) <= set(VERDICTS), f"{where}: a verdict is one of {', '.join(VERDICTS)}")
    optional = {name: None if data.get(name) is None else numbers(data[name], n, f"{where}: tree.{name}")
                for name in ("weights", "draft_probs")}
    target_probs = numbers(data.get("target_probs"), n, f"{where}: tree.target_probs", nullable=True)
    return TreeRecord(tokens, strings(data.get("pieces"), n, f"{where}: tree.pieces"), parents,
                      optional["weights"], optional["draft_probs"], target_probs, verdicts)


def _read_committed(data: Any, where: str) -> Committed:
    expect(isinstance(data, Mapping), f"{where}: committed is not an object")
    ids = integers(data.get("ids"), f"{where}: committed.ids")
    kinds = strings(data.get("kinds"), len(ids), f"{where}: committed.kinds")
    expect(set(kinds) <= set(KINDS), f"{where}: a kind is one of {', '.join(KINDS)}")
    return Committed(ids, strings(data.get("pieces"), len(ids), f"{where}: committed.pieces"), kinds)
