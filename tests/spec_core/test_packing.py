"""Packed layers compute what plain ones do, and leave what they cannot pack."""

from __future__ import annotations

import pytest
import torch
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from spec_core.packing import FusedNorm, PackedLinear, fuse_norms, pack
from spec_core.tree import DraftTree
from tests.tiny import tiny_gemma, tiny_llama


class Lone(torch.nn.Module):
    """A model of one layer."""

    device = torch.device("cpu")

    def __init__(self, inner: int, outer: int, bias: bool, dtype: torch.dtype) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(inner, outer, bias=bias, dtype=dtype)
        self.dtype = dtype


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 33, 70])
def test_a_packed_layer_computes_what_the_plain_one_does(dtype, tolerance, bias, rows):
    torch.manual_seed(0)
    model, x = Lone(40, 24, bias, dtype), torch.randn(1, rows, 40, dtype=dtype)
    layer = model.layer
    pack(model)  # processors without AVX-512 cannot pack bfloat16: there the layer stays plain
    with torch.inference_mode():
        assert torch.allclose(model.layer(x), layer(x), atol=tolerance)


def test_a_packed_model_gives_the_same_logits():
    plain, packed = tiny_llama(), tiny_llama()
    pack(packed.model)
    assert any(isinstance(m, PackedLinear) for m in packed.model.modules())
    for target in (plain, packed):
        target.reset([1, 2, 3])
    tree = DraftTree.from_paths([[1, 2], [3]])
    assert torch.allclose(plain.verify(3, tree).logits, packed.verify(3, tree).logits, atol=1e-4)


def test_a_large_model_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr("spec_core.packing.MAX_BYTES", 10)
    target = tiny_llama()
    pack(target.model)
    assert not any(isinstance(m, PackedLinear) for m in target.model.modules())


def test_a_build_without_the_kernels_works_too(monkeypatch):
    def missing(*_):
        raise AttributeError("no such operator")

    monkeypatch.setattr("spec_core.packing.PackedLinear.__init__", missing)
    target = tiny_llama()
    pack(target.model)
    target.reset([1, 2])
    assert target.verify(2, DraftTree()).logits.shape == (1, 13)


@pytest.mark.parametrize("make, fused", [(tiny_llama, 5), (tiny_gemma, 0)])
def test_fused_norms_give_the_same_logits(make, fused):
    plain, quick = make(), make()
    for target in (plain, quick):
        for name, value in target.model.named_parameters():
            if "norm" in name:
                torch.manual_seed(len(name))
                value.copy_(torch.rand_like(value) + 0.5)
    fuse_norms(quick.model)
    assert sum(isinstance(m, FusedNorm) for m in quick.model.modules()) == fused
    for target in (plain, quick):
        target.reset([1, 2, 3])
    for tree in (DraftTree.chain([4, 5]), DraftTree()):  # several rows, and a lone one
        assert torch.allclose(plain.verify(3, tree).logits, quick.verify(3, tree).logits, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_fused_norm_computes_what_the_plain_one_does(dtype, rows, size):
    torch.manual_seed(0)
    plain = LlamaRMSNorm(48, eps=1e-5).to(dtype)
    plain.weight.data.uniform_(0.5, 1.5)
    x = size * torch.randn(1, rows, 48, dtype=dtype)
    with torch.inference_mode():
        assert torch.allclose(FusedNorm(plain)(x), plain(x), rtol=1e-6 if dtype == torch.float32 else 1e-2)


def test_a_norm_that_computes_something_else_stays():
    class Shifted(LlamaRMSNorm):
        def forward(self, x):
            return super().forward(x) + 1

    parent = torch.nn.ModuleDict({"norm": Shifted(8)})
    fuse_norms(parent)
    assert type(parent["norm"]) is Shifted
