"""Tiny random models and scripted drafters: what the loop is proved on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM

from spec_core.attention import NAME as GROUPED_SDPA
from spec_core.drafters.base import Draft, Limits
from spec_core.target import TargetModel
from spec_core.tree import DraftTree


class TinyTokenizer:
    """Ids are their own pieces."""

    added_tokens_decoder: dict = {}
    backend_tokenizer = None
    eos_token_id = None
    chat_template = None

    def convert_ids_to_tokens(self, token: int) -> str:
        return f"t{token}"

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        return " ".join(f"t{i}" for i in ids)


def tiny_llama(vocab: int = 13, seed: int = 0, eos: int | None = None, **config) -> TargetModel:
    """A two-layer Llama with grouped key/value heads and random weights."""
    torch.manual_seed(seed)
    settings = dict(vocab_size=vocab, hidden_size=24, intermediate_size=32, num_hidden_layers=2,
                    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
                    initializer_range=0.6, eos_token_id=eos, bos_token_id=None, pad_token_id=None)
    model = LlamaForCausalLM(LlamaConfig(**{**settings, **config}))
    return _target("tiny-llama", model)


def tiny_gemma(vocab: int = 13, seed: int = 0, window: int = 6) -> TargetModel:
    """A Gemma 3 whose sliding window is shorter than the test's context."""
    torch.manual_seed(seed)
    model = Gemma3ForCausalLM(Gemma3TextConfig(
        vocab_size=vocab, hidden_size=24, intermediate_size=32, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=256, sliding_window=window,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], initializer_range=0.3,
        eos_token_id=None, bos_token_id=None, pad_token_id=0))
    return _target("tiny-gemma", model)


def _target(name: str, model: torch.nn.Module) -> TargetModel:
    model.eval().requires_grad_(False)
    model.set_attn_implementation(GROUPED_SDPA)
    return TargetModel(name, model, TinyTokenizer())


class ScriptedDrafter:
    """Proposes what a function of the whole context says."""

    name = "scripted"

    def __init__(self, tree_of) -> None:
        self.tree_of = tree_of
        self.settings: dict = {}
        self.context: list[int] = []

    def reset(self, context: Sequence[int]) -> None:
        self.context = list(context)

    def propose(self, limits: Limits) -> Draft:
        return Draft(self.tree_of(self.context).pruned(limits.max_nodes, limits.max_depth))

    def commit(self, tokens: Sequence[int]) -> None:
        self.context += tokens


def random_tree(rng, vocab: int, nodes: int) -> DraftTree:
    """A random draft tree with distinct siblings."""
    paths = [()]
    for _ in range(nodes):
        base = paths[rng.integers(len(paths))]
        paths.append((*base, int(rng.integers(vocab))))
    return DraftTree.from_paths(paths)


