"""Where the context has stood before: the copying hint that a small drafter reads beside each token.

A model of a few million parameters is poor at looking things up in its context. The
token that followed the longest earlier occurrence of the present suffix is found
exactly, and handed to the model as a second input, with the length of the match.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MAX_LENGTH = 8
"""Longest suffix compared; longer matches say no more."""


@njit(cache=True, nogil=True)
def copy_hints(tokens, first):
    """The copying hint at each position from ``first`` on.

    Args:
        tokens: int64[n].
        first: positions before it are not asked for.

    Returns:
        int64[2, n − first]: the token that followed the most recent of the longest earlier
        matches of the suffix that ends at the position, and the length of the match, up to
        ``MAX_LENGTH``; (0, 0) where even the last token is new.
    """
    n = len(tokens)
    hints = np.zeros((2, n - first), dtype=np.int64)
    for t in range(first, n):
        best = 0
        for end in range(t - 1, -1, -1):
            if tokens[end] != tokens[t]:
                continue
            length = 1
            while length < MAX_LENGTH and end - length >= 0 and tokens[end - length] == tokens[t - length]:
                length += 1
            if length > best:
                best = length
                hints[0, t - first] = tokens[end + 1]
                hints[1, t - first] = length
                if best == MAX_LENGTH:
                    break
    return hints
