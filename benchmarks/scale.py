"""A store of any size, made up, built and asked: memory, speed and disk.

    python -m benchmarks.scale                          200 M tokens, in a temporary folder
    python -m benchmarks.scale --tokens 5_000_000 --folder FOLDER

There is not enough text on one machine for this, so it is *recombined*: each document is
a number of lines drawn at random, seeded, from the Python sources of the packages
installed here. A line is real, what follows it is not: matches are about as long as a
line, and each line comes many times. Times and memory depend on the number of tokens and
of hits, for which this is a fair stand-in; how well such a store drafts, it does not say.

The store is built as every other, shard by shard, in a process of its own. Its peak is
VmHWM: ``ru_maxrss`` of a child counts its parent's memory, too. Opening and retrieval
have fresh processes as well. Queries are prefixes of documents made of lines that are
held out, wherever they occur.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import itertools
import os
import random
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.retrieval import CONTINUATION, NODES, in_a_fresh_process, memory, packages_corpus, queries_of, time_retrieval
from spec_core.datastore.build import MAX_SHARD_TOKENS, BuildReport, build_store
from spec_core.datastore.corpus import Document, Skipped
from spec_core.datastore.encoding import encoder
from spec_core.datastore.format import store_folder
from spec_core.datastore.store import Store
from spec_core.models import load_tokenizer, local_tokenizer

NAME = "scale"
LINES = 200
"""Lines of a document."""
HELD_OUT = 200
"""One in so many different lines is in no document."""
MB = 1e6


class Recombined:
    """Documents of lines in random order; the same for the same seed.

    Args:
        lines: to draw from, with their line ends.
        size: characters of all documents together, about.
        seed: of the drawing.
    """

    description = "lines of installed Python packages, recombined"

    def __init__(self, lines: list[str], size: int, seed: int = 0) -> None:
        self.lines, self.size, self.seed = lines, size, seed
        self.skipped: list[Skipped] = []

    def __iter__(self) -> Iterator[Document]:
        draw, made = random.Random(self.seed), 0
        for number in itertools.count():
            if made >= self.size:
                return
            text = "".join(draw.choices(self.lines, k=LINES))
            made += len(text)
            yield Document(f"recombined/{number:07}.py", text, len(text))


def read_lines() -> tuple[list[str], list[str]]:
    """The lines of the installed packages, as often as they occur: those to draw from, and those held out."""
    kept: list[str] = []
    held: list[str] = []
    for document in packages_corpus():
        if isinstance(document, Document):
            for line in document.text.splitlines(keepends=True):
                (kept if zlib.crc32(line.encode()) % HELD_OUT else held).append(line)
    return kept, held


def build(target: str, tokens: int, shard_tokens: int) -> tuple[BuildReport, float, float]:
    """Build the store: what was built, peak memory in bytes, and that before the build."""
    tokenizer = local_tokenizer(target)
    lines, _ = read_lines()
    sample = [document.text for document in Recombined(lines, 500_000, seed=1)]
    encoded = encoder(tokenizer).encode_batch_fast(sample, add_special_tokens=False)
    a_token = sum(map(len, sample)) / sum(len(one.ids) + 1 for one in encoded)  # characters, the separator counted
    before = memory("VmRSS")
    report = build_store(Recombined(lines, round(tokens * a_token)), NAME, tokenizer, max_shard_tokens=shard_tokens)
    return report, memory("VmHWM"), before


def opening() -> tuple[float, float, float]:
    """Open the store: seconds, bytes of memory that took, and of the whole process then."""
    before, began = memory("VmRSS"), time.perf_counter()
    Store(store_folder(NAME))
    seconds, after = time.perf_counter() - began, memory("VmRSS")
    return seconds, after - before, after


def retrieval(target: str, most: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ask the store everything, twice: seconds from query to tree, and hits; float64 and int64 [queries]."""
    _, held = read_lines()
    queries = queries_of(local_tokenizer(target), [document.text for document in Recombined(held, 20 * most, seed=2)], most)
    store = Store(store_folder(NAME))
    time_retrieval(store, queries[:1])  # compiled or loaded
    passes = [time_retrieval(store, queries) for _ in range(2)]
    return [(times["whole"], hits) for times, hits in passes]


def main() -> None:
    """Build, measure, print, and clear up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=200_000_000, help="of the store, about (default: %(default)s)")
    parser.add_argument("--shard-tokens", type=int, default=MAX_SHARD_TOKENS, help="of a shard at most (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the store is built and stays (default: a temporary one, removed at the end)")
    parser.add_argument("--target", default="smollm2-135m", help="whose tokenizer is used (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=4000, help="at most so many (default: %(default)s)")
    options = parser.parse_args()
    load_tokenizer(options.target)  # fetched, if it is not here
    print(runtime.describe_machine(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["SPECLAB_DATASTORES"] = str(options.folder or temporary)  # the other processes inherit it
        report, peak, before = in_a_fresh_process(build, options.target, options.tokens, options.shard_tokens)
        print_build(report, peak, before)
        seconds, grown, whole = in_a_fresh_process(opening)
        print(f"open        {seconds * 1e3:.1f} ms, {grown / MB:.1f} MB more memory (process: {whole / MB:.0f} MB)", flush=True)
        for title, (times, hits) in zip(("first pass", "again"), in_a_fresh_process(retrieval, options.target, options.queries), strict=True):
            print("{:12}{:.0f} / {:.0f} µs".format(title, *np.percentile(times, [50, 99]) * 1e6)
                  + " from query to tree, p50 / p99 of {:,} queries; hits {:,.0f} / {:,.0f}".format(len(times), *np.percentile(hits, [50, 99]))
                  + f"; {NODES} nodes, continuation {CONTINUATION}", flush=True)


def print_build(report: BuildReport, peak: float, before: float) -> None:
    """What the building took."""
    manifest = Store(store_folder(NAME)).manifest
    size = sum(path.stat().st_size for path in store_folder(NAME).iterdir())
    print(f"store       {report.tokens:,} tokens, {report.documents:,} documents, {len(manifest.shards)} shards")
    print(f"disk        {size / MB:,.0f} MB, {size / report.tokens:.1f} bytes a token")
    print(f"build       peak {peak / MB:,.0f} MB of memory, {before / MB:,.0f} MB of it before it began (the lines to draw from)")
    print("            " + ", ".join(f"{stage} {seconds:.1f} s ({report.tokens / max(seconds, 1e-9) / 1e6:.1f} M tokens/s)"
                                   for stage, seconds in report.seconds.items() if seconds > 0.05)
          + "; drawing the lines counts as tokenising", flush=True)


if __name__ == "__main__":
    main()
