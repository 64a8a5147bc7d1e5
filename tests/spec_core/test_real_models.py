"""Real models: greedy output of every drafter is that of ``generate``, sampled output follows the target's law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from spec_core import decode, load_target, make_drafter
from spec_core.acceptance import RULES
from spec_core.drafters import KINDS
from spec_core.processors import Sampling
from spec_core.target import TargetModel, Verification
from spec_core.tree import DraftTree
from tests.spec_core.test_decoder import chi_square, generate, run, sampled_law

NEW = 16
WAYS = {
    **{kind: {} for kind in KINDS if kind != "none"},
    "multi-candidate, dynamic": {"tree": "dynamic"},
    "universal, intersection": {"method": "intersection"},
}
DRAFT_MODELS = {
    "smollm2": {"same": "nano", "any": "nano-universal"},
    "gemma3": {"same": "gemma3-270m", "any": "smollm2-135m"},  # no small model has Gemma's tokens, so it drafts for itself
}


@pytest.fixture(scope="module")
def gemma3() -> TargetModel:
    """The second real target: another tokenizer, sliding windows. Who runs the tests uses it under its terms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spec_core.models.terms_to_accept", lambda name: None)
        return load_target("gemma3-270m", "float32")


@pytest.mark.parametrize("fixture", DRAFT_MODELS)
def test_every_drafter_gives_the_text_of_generate(fixture, request, humaneval, specbench):
    target = request.getfixturevalue(fixture)
    drafted: Counter[str] = Counter()
    has_template = target.tokenizer.chat_template is not None
    for text, chat in [(humaneval[0], False), (min(specbench, key=len), has_template)]:
        plain = decode(target, make_drafter("none", target), text, chat=chat, max_new_tokens=NEW).finish()
        assert plain.output_ids == generate(target, plain.run["prompt_ids"], NEW)
        for way, settings in WAYS.items():
            kind = way.partition(",")[0]
            model = DRAFT_MODELS[fixture].get(KINDS[kind].draft_model)
            drafter = make_drafter(kind, target, **({"draft_model": model} if model else {}), **settings)
            trace = decode(target, drafter, text, chat=chat, max_new_tokens=NEW).finish()
            assert trace.output_ids == plain.output_ids, way
            drafted[way] += trace.totals["drafted"]
    assert {way for way in WAYS if not drafted[way]} <= {"suffix"}, "so its drafts were never judged"


class RememberingTarget:
    """A target that answers what it was asked before without computing it anew: the same few contexts, a thousand times."""

    def __init__(self, target: TargetModel) -> None:
        self._target, self._answers = target, {}
        self.vocab_size, self.context_limit, self.eos_ids, self.pieces = (
            target.vocab_size, target.context_limit, target.eos_ids, target.pieces)

    def reset(self, context: Sequence[int]) -> None:
        self._context = list(context[:-1])

    def verify(self, root: int, tree: DraftTree) -> Verification:
        self._pending = [root, *tree.tokens]
        asked = (*self._context, root), tree.tokens, tree.parents
        if asked not in self._answers:
            self._target.reset([*self._context, root])
            self._answers[asked] = self._target.verify(root, tree)
        return self._answers[asked]

    def commit(self, nodes: Sequence[int]) -> None:
        self._context += [self._pending[0], *(self._pending[node + 1] for node in nodes)]


def p_value(target: TargetModel, kind: str, rule: object, runs: int, **settings: object) -> float:
    """χ² of the loop's output, drafted by nano, against the target's law."""
    prompt, remembering = target.tokenizer("The weather").input_ids, RememberingTarget(target)
    law, counts = sampled_law(target, Sampling(1.0, top_k=3), prompt), Counter()
    for seed in range(runs):
        sampling = Sampling(1.0, top_k=3, seed=seed)
        drafter = make_drafter(kind, target, draft_model="nano", sampling=sampling, **settings)
        counts[tuple(run(remembering, drafter, sampling, prompt, len(next(iter(law))), rule)[1])] += 1
    return chi_square(counts, law)


@pytest.mark.parametrize("kind, rule, settings", [
    ("draft-model", "speculative", {}), ("draft-model", "block", {"stop_below": 0.4}),
    ("multi-candidate", "multi-candidate", {"shape": "2x1"}),
])
def test_drafted_by_nano_the_output_follows_the_target(smollm2, kind, rule, settings):
    assert p_value(smollm2, kind, RULES[rule], 600, **settings) > 1e-3


def test_the_same_test_rejects_a_wrong_rule(smollm2, monkeypatch):
    """After a rejection p itself is drawn from, where the residual is right."""
    monkeypatch.setattr("spec_core.acceptance.rejection.residual", lambda p, q: p)
    assert p_value(smollm2, "draft-model", RULES["speculative"], 600, stop_below=0.0) < 1e-6
