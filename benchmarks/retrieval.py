"""Retrieval, measured: from a query to the finished draft tree, opening, and the building of suffix arrays.

    python -m benchmarks.retrieval                python-stdlib (built at first use)
    python -m benchmarks.retrieval --packages     and the Python packages installed here, about 20 M tokens
    python -m benchmarks.retrieval --store NAME   another store

Queries are real text that is in no store: every prefix of the HumanEval prompts, in
shuffled order, so that one query does not warm the caches for the next.
"""

from __future__ import annotations

import spec_core.runtime  # noqa: F401  (before torch)

import argparse
import gc
import multiprocessing
import os
import platform
import random
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.prompts import read_prompts
from benchmarks.published import published_weights
from spec_core.datastore.build import build_store
from spec_core.datastore.bundled import DEFAULT_STORE, ensure_bundled
from spec_core.datastore.corpus import Corpus, files_corpus
from spec_core.datastore.format import names, store_folder
from spec_core.datastore.index import longest_match
from spec_core.datastore.store import Store
from spec_core.datastore.suffix_array import suffix_array
from spec_core.datastore.trie import heaviest_nodes
from spec_core.drafters.base import Limits
from spec_core.drafters.rest import RestDrafter
from spec_core.models import load_tokenizer
from spec_core.pieces import Pieces

PACKAGES = "installed-packages"
PACKAGES_BYTES = 85_000_000
NODES, CONTINUATION = 64, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", action="store_true", help=f"build and measure {PACKAGES} too")
    parser.add_argument("--store", metavar="NAME", action="append", default=[], help="measure this store too")
    parser.add_argument("--target", default="smollm2-135m", help="whose tokenizer is used (default: %(default)s)")
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    parser.add_argument("--queries", type=int, default=4000, help="at most so many (default: %(default)s)")
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.target)
    stores = [ensure_bundled(DEFAULT_STORE, tokenizer).name]
    if options.packages:
        if PACKAGES not in names():
            report = build_store(packages_corpus(), PACKAGES, tokenizer)
            print(f"built {PACKAGES}: " + ", ".join(f"{stage} {s:.1f} s" for stage, s in report.seconds.items()))
        stores.append(PACKAGES)
    queries = read_queries(tokenizer, options.prompts, options.queries)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
          f"{len(queries)} queries, {NODES} nodes, continuation {CONTINUATION}; microseconds, p50 / p99")
    print(f"{'store':20}{'tokens':>13}{'open ms':>9}{'match':>13}{'trie':>13}{'query→tree':>13}{'with details':>14}"
          f"{'published':>15}{'its counts off':>16}{'hits p50 / p99':>18}{'sort M/s':>10}{'bytes/token':>13}")
    for name in [*stores, *options.store]:
        print_row(name, tokenizer, queries)


def print_row(name: str, tokenizer: Any, queries: list[list[int]]) -> None:
    """Measure one store."""
    Store(store_folder(name))  # verified, if it was not yet
    began = time.perf_counter()
    store = Store(store_folder(name))
    opening = time.perf_counter() - began
    store.check_tokenizer(tokenizer)
    drafter = RestDrafter(store, Pieces(tokenizer), budget=NODES, continuation=CONTINUATION)
    biased, published, details = 0, [], []
    published_weights(store, queries[0], 16, 2, CONTINUATION, NODES)  # compiled or loaded
    times, hits = time_retrieval(store, queries)
    gc.disable()
    for query in queries:
        t0 = time.perf_counter()
        weights = published_weights(store, query, 16, 2, CONTINUATION, NODES)
        published.append(time.perf_counter() - t0)
        exact = heaviest_nodes(store, longest_match(store, query, 16, 2), CONTINUATION, NODES).weights
        biased += weights.tolist() != sorted(exact, reverse=True)
    for query in queries:
        drafter.reset(query)
        t0 = time.perf_counter()
        drafter.propose(Limits(CONTINUATION, NODES))
        details.append(time.perf_counter() - t0)
    gc.enable()
    rate, size = in_a_fresh_process(sorting, name)
    times |= {"published": np.array(published), "details": np.array(details)}
    cells = {key: "{:.0f} / {:.0f}".format(*(np.percentile(values, [50, 99]) * 1e6)) for key, values in times.items()}
    print(f"{name:20}{store.token_count:>13,}{opening * 1e3:>9.2f}{cells['match']:>13}{cells['trie']:>13}"
          f"{cells['whole']:>13}{cells['details']:>14}"
          f"{cells['published']:>15}{biased / len(queries):>16.1%}{'{:.0f} / {:.0f}'.format(*np.percentile(hits, [50, 99])):>18}"
          f"{rate / 1e6:>10.1f}{size:>13.1f}", flush=True)


def time_retrieval(store: Store, queries: list[list[int]]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Seconds of each query's "match", "trie", and "whole", the draft tree included, float64 [queries]; and its hits."""
    times, hits = np.empty((3, len(queries))), np.empty(len(queries), np.int64)
    gc.disable()
    for i, query in enumerate(queries):
        t0 = time.perf_counter()
        match = longest_match(store, query, 16, 2)
        t1 = time.perf_counter()
        trie = heaviest_nodes(store, match, CONTINUATION, NODES)
        t2 = time.perf_counter()
        trie.tree()
        times[:, i] = t1 - t0, t2 - t1, time.perf_counter() - t0
        hits[i] = match.hits
    gc.enable()
    return dict(zip(("match", "trie", "whole"), times, strict=True)), hits


def sorting(name: str) -> tuple[float, float]:
    """Sort the first shard again: tokens a second, and peak bytes a token (the tokens themselves included)."""
    store = Store(store_folder(name))
    tokens = store.tokens[:store.bounds[1]]
    suffix_array(tokens[:1000])  # compiled or loaded
    before, began = memory("VmRSS"), time.perf_counter()
    suffix_array(tokens)
    return len(tokens) / (time.perf_counter() - began), (memory("VmHWM") - before) / len(tokens)


def in_a_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """So that the peak of the memory is the function's own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def memory(field: str) -> float:
    """VmRSS or VmHWM of this process in bytes; nan where there is no /proc."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def packages_corpus() -> Corpus:
    """Python sources of the packages installed here, up to about 20 M tokens."""
    found = files_corpus([sysconfig.get_path("purelib")])
    sources, size = [], 0
    for source in found.sources:
        if source.name.endswith(".py") and size < PACKAGES_BYTES:
            sources.append(source)
            size += source.size
    return Corpus(sources, [], "Python packages installed here")


def read_queries(tokenizer: Any, folder: str | None, most: int) -> list[list[int]]:
    """The last 16 tokens of every prefix of the prompts, shuffled."""
    sets = read_prompts(folder)
    return queries_of(tokenizer, [prompt.text for prompt in sets.get("humaneval") or sets["bundled"]], most)


def queries_of(tokenizer: Any, texts: list[str], most: int) -> list[list[int]]:
    """The last 16 tokens of every prefix of some texts, shuffled, at most so many."""
    queries = [ids[max(0, end - 16):end] for ids in map(tokenizer.encode, texts) for end in range(2, len(ids))]
    random.Random(0).shuffle(queries)
    return queries[:most]


if __name__ == "__main__":
    main()
