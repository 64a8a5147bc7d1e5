"""Layers that compute the same with less: linear layers whose weights lie as the CPU's kernels read them, fused norms.

oneDNN otherwise re-orders a weight matrix at every call, which costs as much as the
product itself when few rows are multiplied, as in a draft tree. Measured here, bfloat16
with AMX: a layer takes half the time or less for 1 to 64 rows, with equal results.
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear, rms_norm

ROWS = 32
"""Rows that the layout is chosen for; it serves every number of rows."""
MAX_BYTES = 2 * 1024**3
"""A packed weight stands beside the original, so larger models are left as they are."""


class PackedLinear(torch.nn.Module):
    """``torch.nn.Linear`` on the CPU, inference only."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), ROWS)
        # a lone float32 row is bound by memory, and the plain kernel reads it as fast
        self._lone_row_plain = layer.weight.dtype == torch.float32

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, in) → (…, out)."""
        if self._lone_row_plain and x.numel() == self.in_features:
            return linear(x, self.weight, self.bias)
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")


class FusedNorm(torch.nn.Module):
    """A root-mean-square norm in fewer calls, with equal results."""

    def __init__(self, norm: torch.nn.Module) -> None:
        super().__init__()
        self.weight = norm.weight
        self.variance_epsilon = norm.variance_epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, width) → (…, width)."""
        return fused_norm(x, self.weight, self.variance_epsilon)


def fused_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float | None = None) -> torch.Tensor:
    """The root-mean-square norm of (…, width).

    A lone float32 row on the CPU takes its sum of squares as a number: measured in the
    middle of a step, that saves another half of the calls' time.
    """
    if x.numel() == weight.numel() and x.dtype == torch.float32 and x.device.type == "cpu" and not x.requires_grad:
        row = x.reshape(-1)
        return x * (torch.dot(row, row).item() / len(row) + (epsilon or torch.finfo(x.dtype).eps)) ** -0.5 * weight
    return rms_norm(x, weight.shape, weight, epsilon)


def fuse_norms(model: torch.nn.Module) -> None:
    """Replace the norms of a model that compute just that; Gemma's, which add 1 to the weight, stay."""
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if hasattr(layer, "variance_epsilon") and hasattr(layer, "weight"):
                x = torch.randn(1, 3, *layer.weight.shape, dtype=layer.weight.dtype, device=layer.weight.device)
                fused = FusedNorm(layer)
                with torch.inference_mode():
                    if all(torch.allclose(fused(some), layer(some), rtol=1e-6, atol=1e-6) for some in (x, x[:, :1])):
                        setattr(parent, name, fused)


def pack(model: torch.nn.Module) -> None:
    """Replace the linear layers of a model, where this machine's torch can and the model is small enough."""
    weights = {layer.weight.data_ptr(): layer.weight.nbytes for layer in model.modules()
               if isinstance(layer, torch.nn.Linear)}
    if model.device.type != "cpu" or sum(weights.values()) > MAX_BYTES or not _works(model.dtype):
        return
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if type(layer) is torch.nn.Linear:
                setattr(parent, name, PackedLinear(layer))


def _works(dtype: torch.dtype) -> bool:
    """Whether this build has the kernels and they compute what ``linear`` computes."""
    try:
        layer = torch.nn.Linear(32, 48, bias=False, dtype=dtype)
        x = torch.randn(1, 5, 32, dtype=dtype)
        with torch.inference_mode():
            return torch.allclose(PackedLinear(layer)(x), layer(x), atol=1e-2)
    except (AttributeError, RuntimeError):
        return False
