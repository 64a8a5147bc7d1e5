"""The speculative core. ``load_target``, ``make_drafter``, ``decode`` and ``Trace`` are its door from Python; see ``api``.

They are looked up when they are first used, so that parts of the core that need no torch load without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import decode, load_target, make_drafter
    from .trace import Trace

__all__ = ["Trace", "decode", "load_target", "make_drafter"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".trace" if name == "Trace" else ".api", __name__), name)
