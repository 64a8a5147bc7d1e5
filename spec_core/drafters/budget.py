"""How many nodes pay: what a step costs against the tokens to be expected.

A step with n nodes costs v(n) plain steps (``costs.py``) and is expected to commit one token
and the sum of the estimates of its nodes. With λ tokens a plain step's time in the run so
far, n is right where *tokens − λ · cost* is largest; λ is at least one, that of plain
decoding, so a node that does not pay for itself is never drafted.

Estimates can be wrong, so there is an account beside them: what drafts have brought the
run so far, in plain steps, and an allowance of a few percent. A tree that would overdraw
it if nothing were accepted is too large; while not even a draft of one node could be paid
for, none is made. So by what steps cost, a run is never slower than plain decoding by more
than the allowance, on any text. What is spent while no plain step has been timed counts for
more than it seems to cost: a run that is not clearly faster makes sure now and then.

Source: the expected speed-up with a measured cost, Leviathan et al. (2023), §3.3; the
choice of tree size per machine, Sequoia (Chen et al., 2024), §3.3.
"""

from __future__ import annotations

import numpy as np

from .costs import CAUTIOUS, MOST, Costs, RunCosts
from .settings import Budget

PRIOR = 6.0
"""Weight, in accepted tokens and in plain steps, of what is believed before a run has told."""
FADE = 0.95
"""What a step weighs, one step later: a text changes."""

FIRST, ACCOUNT, NONE_PAYS = RESTING = ("first", "account", "none_pays")
"""Why a step is without a draft: its token is free; drafts brought too little so far; no node that was found pays."""

ALLOWANCE = 0.02
"""Plain steps that a run may lose for each token, …"""
ADVANCE = 0.6
"""… and from the start."""
DOUBT = 0.25
"""Share by which steps may be dearer than believed while no plain step was timed beside them."""


class NodeBudget:
    """The number of nodes of each draft tree of a run: at every step ``rests``, else ``most`` and ``choose``; then ``commit``.

    Args:
        setting: a number, or ``Budget.AUTO``.
        costs: of nodes; used where the number is chosen. A curve holds as it is.
    """

    def __init__(self, setting: int | str, costs: Costs | None = None) -> None:
        self.automatic = setting == Budget.AUTO
        self._most = MOST if self.automatic else int(setting)
        self._costs = costs if isinstance(costs, RunCosts) else RunCosts(costs or CAUTIOUS)
        self.reset()

    def reset(self) -> None:
        """Begin a new run."""
        self._costs.reset()
        self._expected = self._accepted = PRIOR  # nodes expected to be accepted, and accepted
        self._tokens = self._cost = PRIOR
        self._account = ADVANCE
        self._unseen = 0.0  # cost of the steps since the last plain one
        self._first = True
        self._why: str | None = None  # this step is without a draft
        self._plan = (0, 0.0)

    def rests(self) -> bool:
        """A step begins: whether it is to be one without a draft, so that nothing need be looked up."""
        if not self.automatic:
            return False
        self._costs.begin()
        if self._first:  # what follows the prompt is known from reading it: its first token is free without a draft
            self._why = FIRST
        elif self._affordable < self._costs.draft + self._costs.of_steps[1] - 1.0:
            self._why = ACCOUNT
        else:
            self._why = None
            return False
        self._plan = (0, 0.0)
        self._costs.drafted()
        return True

    def most(self, max_nodes: int) -> int:
        """How many nodes to look for, where ``max_nodes`` are allowed."""
        return max(min(self._most, max_nodes), 0)

    def choose(self, estimates: np.ndarray) -> int:
        """How many of the nodes found to draft.

        Args:
            estimates: of each, in the order of picking: the probability that it is accepted.
        """
        if not self.automatic:
            return len(estimates)
        tokens = np.zeros(len(estimates) + 1)
        np.cumsum(estimates, out=tokens[1:])
        trust = min(self._accepted / self._expected, 1.0)
        rate = max(self._tokens / self._cost, 1.0)
        costs = self._costs.of_steps[:len(tokens)]
        affordable = costs - 1.0 + self._costs.draft <= self._affordable
        affordable[0] = True
        chosen = int(np.argmax(np.where(affordable, trust * tokens - rate * costs, -np.inf)))
        self._plan = (chosen, float(tokens[chosen]))
        if len(estimates) and not chosen:
            self._why = NONE_PAYS
        self._costs.drafted()
        return chosen

    @property
    def details(self) -> dict[str, str]:
        """``{"resting": why}``, of ``RESTING``, where a step is without a draft by choice; for ``Draft.details``."""
        return {"resting": self._why} if self._why else {}

    def commit(self, count: int) -> None:
        """So many tokens were committed: learn how far the estimates are to be trusted, and what a step brings."""
        if not self.automatic:
            return
        if self._first:
            self._first = False
            return
        nodes, expected = self._plan
        cost = self._costs.committed(nodes, self._why != ACCOUNT)
        self._account += count - cost + ALLOWANCE * count
        self._unseen = self._unseen + cost if nodes else 0.0
        self._expected = FADE * self._expected + (1 - FADE) * PRIOR + expected
        self._accepted = FADE * self._accepted + (1 - FADE) * PRIOR + (count - 1 if expected else 0)
        self._tokens = FADE * self._tokens + (1 - FADE) * PRIOR + count
        self._cost = FADE * self._cost + (1 - FADE) * PRIOR + cost

    @property
    def _affordable(self) -> float:
        """Plain steps that may be lost on the next step."""
        return self._account - DOUBT * self._unseen
