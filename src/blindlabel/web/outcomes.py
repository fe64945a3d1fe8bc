"""What became of the pairs and of each own record, as far as the agreement releases it to this owner."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from blindlabel.protocol.figures import Tally
from blindlabel.protocol.labels import is_agreed, is_match
from blindlabel.protocol.messages import Pairing
from blindlabel.web.app import OwnerApp
from blindlabel.web.plots import rounds_of_owner


@dataclass(frozen=True)
class Outcome:
    """One own record at the end, in words."""

    id: str
    matches: str
    unsettled: str


def settled_sentence(app: OwnerApp) -> str:
    """How many pairs were settled after each round: "2,494, then 2,496 of 2,500 pairs settled". A round's tally counts
    the pairs that were still open.
    """
    rounds = rounds_of_owner(app.cache.state)
    settled = accumulate(tally.agreed for tally in rounds)
    counts = ", then ".join(f"{number:,}" for number in settled)
    return f"{counts} of {_asked(rounds[0]):,} pairs settled." if rounds else ""


def numbers_of(pairing: Pairing) -> list[tuple[str, int]]:
    """How many pairs became what, from the rounds' totals: they are told whatever else the agreement releases."""
    matches = sum(tally.both for tally in pairing.tallies)
    others = sum(tally.neither for tally in pairing.tallies)
    pairs = _asked(pairing.tallies[0]) if pairing.tallies else 0
    return [("matches", matches), ("no match", others), ("discarded", pairs - matches - others)]


def outcomes(app: OwnerApp) -> list[Outcome]:
    """Each own record with the positions of its matches; nothing before the end."""
    state = app.cache.state
    if state.truth is None or app.workspace.agreement.release == "none" or not app.truths():
        return []
    labels = app.workspace.labels()
    positions = {pairing.peer: pairing.positions for pairing in state.truth.pairings}
    found = []
    for own in app.cache.records:
        matches, open_pairs = [], 0
        for peer, matrix in labels.items():
            row = matrix[own.record]
            matches += [f"row {positions[peer][column] + 1:,} of {peer}" for column in is_match(row).nonzero()[0]]
            if app.workspace.agreement.release == "labels":  # otherwise nobody says which pairs stayed open
                open_pairs += int((~is_agreed(row)).sum())
        found.append(Outcome(own.id, ", ".join(matches) or "none", f"{open_pairs:,}" if open_pairs else ""))
    return found


def _asked(tally: Tally) -> int:
    """The pairs of a round, compared or not."""
    return tally.pairs + tally.loose
