"""Where the time of a step goes, and whether the work of Python grows with the context.

    python -m benchmarks.profile_step --drafter fusion --new-tokens 128

One prompt, three runs. The first warms up. The second is timed as it is: the split of a step
tells what there is to win. The third goes under ``cProfile``, which makes every call
dearer: it tells which functions to look at. The first step, which reads the prompt, is left
out of all tables.

Kernels take longer in a longer context, since attention does; what Python does in a step must
not. The last table compares the first third of the steps with the last: milliseconds outside
kernels, for a step and for a row of the forward (root or drafted node), since a larger
tree is more work wherever it stands.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
from cProfile import Profile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from types import CodeType

from benchmarks.prompts import ROOT, read_prompts
from spec_core import lab
from spec_core.compare import nothing_past
from spec_core.drafters import KINDS
from spec_core.trace import PARTS, Step

KERNELS, OURS, TRANSFORMERS, OTHER = "torch kernels", "our code", "transformers", "other Python"
PLACES = (KERNELS, OURS, TRANSFORMERS, OTHER)

Function = tuple[str, str]  # one of ``PLACES``, and a name to find it by


def main() -> None:
    """Profile one drafter on one prompt and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drafter", default="fusion", choices=list(KINDS))
    parser.add_argument("--dtype", default="auto", choices=runtime.DTYPES)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--budget", help="of the draft tree, where the drafter has one")
    parser.add_argument("--top", type=int, default=12, help="functions to print (default: %(default)s)")
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    options = parser.parse_args()
    title, (prompt, *_) = next(iter(read_prompts(options.prompts, 1).items()))
    request = lab.Request(prompt=prompt.text, drafter=options.drafter, dtype=options.dtype, max_new_tokens=options.new_tokens,
                          drafter_settings={"budget": options.budget} if options.budget else {})
    print(f"{runtime.describe_machine()}\n{options.drafter}, {options.dtype}, greedy, {options.new_tokens} new tokens, {title} {prompt.id}")

    list(run(request))  # warm up
    began = perf_counter()
    steps = list(run(request))
    print_split(steps, perf_counter() - began)

    profiled = [(step, own_times(profile)) for step, profile in under_profiler(request)][1:]
    print_functions([times for _, times in profiled], options.top)
    print_growth(profiled)


def run(request: lab.Request) -> Iterator[Step]:
    """The steps of a run that remembers no earlier one."""
    return nothing_past()(request, lambda stage, fraction: None, lambda: False).steps()


def under_profiler(request: lab.Request) -> Iterator[tuple[Step, Profile]]:
    """Each step, with the profile of making it."""
    steps = run(request)
    while True:
        with Profile() as profile:
            step = next(steps, None)
        if step is None:
            return
        yield step, profile


def own_times(profile: Profile) -> Counter[Function]:
    """Function → milliseconds of its own, without what it called."""
    times: Counter[Function] = Counter()
    for entry in profile.getstats():
        times[function_of(entry.code)] += entry.inlinetime * 1e3
    return times


def function_of(code: CodeType | str) -> Function:
    """Where a function belongs; those written in C are known by a text such as ``<built-in method torch._C._nn.linear>``."""
    if isinstance(code, str):
        return (KERNELS if "torch" in code else OTHER), code.strip("<>")
    path = Path(code.co_filename)
    if path.is_relative_to(ROOT / "spec_core"):
        return OURS, f"{path.relative_to(ROOT)}:{code.co_firstlineno} {code.co_qualname}"
    return (TRANSFORMERS if "transformers" in path.parts else OTHER), f"{'/'.join(path.parts[-2:])}:{code.co_firstlineno} {code.co_qualname}"


def by_place(times: Counter[Function]) -> Counter[str]:
    """Place → milliseconds."""
    sums: Counter[str] = Counter()
    for (place, _), ms in times.items():
        sums[place] += ms
    return sums


def print_split(steps: Sequence[Step], seconds: float) -> None:
    """Draft, verify, accept, overhead: as the page shows them; beside them what is between the steps."""
    tokens, rest = sum(len(step.committed.ids) for step in steps), steps[1:]
    print(f"\n{tokens} tokens in {len(steps)} steps, {tokens / seconds:.1f} tokens a second with all that is around them\n"
          f"  {'part':20}{'ms a step':>11}{'share':>8}")
    sums = {part: sum(step.ms[part] for step in rest) for part in PARTS}
    for part, ms in sums.items():
        print(f"  {part:20}{ms / len(rest):11.2f}{ms / sum(sums.values()):8.1%}")


def print_functions(steps: Sequence[Counter[Function]], top: int) -> None:
    """The places, and the functions of this lab with the most time of their own."""
    times = sum(steps, Counter())
    places, whole = by_place(times), times.total()
    print(f"\nUnder the profiler, by own time\n  {'place':20}{'ms a step':>11}{'share':>8}")
    for place in PLACES:
        print(f"  {place:20}{places[place] / len(steps):11.2f}{places[place] / whole:8.1%}")
    for shown in (OURS, KERNELS):
        ranked = [(name, ms) for (place, name), ms in times.most_common() if place == shown]
        print(f"\n  ms a step, {shown}")
        for name, ms in ranked[:top]:
            print(f"  {ms / len(steps):9.3f}  {name}")


def print_growth(profiled: Sequence[tuple[Step, Counter[Function]]]) -> None:
    """Time outside kernels in the first and in the last third."""
    third = len(profiled) // 3
    if not third:
        print("\nToo few steps to tell whether they grow.")
        return
    print(f"\nOutside kernels\n  {'third':8}{'context':>9}{'rows a step':>13}{'ms a step':>11}{'ms a row':>10}")
    found = []
    for name, part in (("first", profiled[:third]), ("last", profiled[-third:])):
        outside = sum(times.total() - by_place(times)[KERNELS] for _, times in part)
        rows = sum(1 + len(step.tree.tokens) for step, _ in part)
        found.append((outside / third, outside / rows))
        context = sum(step.context_length for step, _ in part) / third
        print(f"  {name:8}{context:9.0f}{rows / third:13.1f}{outside / third:11.2f}{outside / rows:10.3f}")
    print("  last ÷ first: {:.2f}× a step, {:.2f}× a row".format(*(last / first for first, last in zip(*found, strict=True))))


if __name__ == "__main__":
    main()
