"""A linkage judged for an owner after the end, by its command and on its page alike: by its own labels where it was
given all of them, else by the coordinator's, as often as the agreement allows (`protocol.scoring`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.export.scoring import LinkageScore, Pairing, of_counts, read_pairs, score, within
from blindlabel.export.studies import truths_of_owner
from blindlabel.parties.owner import Owner
from blindlabel.parties.scoring import ask
from blindlabel.protocol.account import score_bits
from blindlabel.protocol.interfaces import Line, NotYetCarried
from blindlabel.storage.workspace import Workspace


def judged(
    workspace: Workspace, pairs: Path, connected: Callable[[], Line], tell: Callable[[str], None]
) -> dict[Pairing, LinkageScore]:
    """Precision, recall and F of a file of predicted pairs, by pairing. `connected` gives a line to the coordinator,
    where it has to be asked; `tell` hears for whom is waited.
    """
    if workspace.state().truth is None:
        raise InputError("Linkages are scored when the study is over and has labels.")
    name = workspace.name
    predicted = read_pairs(pairs, [(min(name, peer), max(name, peer)) for peer in workspace.agreement.peers(name)])
    if workspace.agreement.release == "labels":
        given = {(truth.dataset_a, truth.dataset_b): truth for truth in truths_of_owner(workspace).values()}
        return {pairing: score(given[pairing], cells) for pairing, cells in predicted.items()}
    found = {}
    with workspace.locked_for("owner score"), closing(connected()) as line:
        for pairing, cells in predicted.items():
            peer = pairing[pairing[0] == name]
            tell(f"Waiting for the coordinator, who scores the pairs with {peer}.")
            try:
                found[pairing] = _asked(Owner(workspace, line), pairing, peer, cells)
            except NotYetCarried as waiting:
                raise NotYetCarried(
                    f"The coordinator has not scored the pairs with {peer} yet. Carry the folder to it and back when it"
                    " has served; then ask again with the same pairs, which costs nothing."
                ) from waiting
    return found


def cost(workspace: Workspace) -> list[str]:
    """What scores have cost and may cost, a sentence for each other owner."""
    state, allowed = workspace.state(), workspace.agreement.budget.scores
    if workspace.agreement.release == "labels" or state.truth is None or state.sample is None:
        return []
    own = len(state.sample.positions)
    return [
        f"Scores used with {one.peer}: {len(state.scores_asked.get(one.peer, ()))} of {allowed}, each"
        f" {score_bits(own, len(one.positions))} bits of the account."
        for one in state.truth.pairings
    ]


def _asked(owner: Owner, pairing: Pairing, peer: str, predicted: set[tuple[int, int]]) -> LinkageScore:
    """The score of one pairing, from the counts that the coordinator tells."""
    state = owner.store.state()
    assert state.truth is not None and state.sample is not None
    rows = {one.peer: one.positions for one in state.truth.pairings} | {owner.store.name: state.sample.positions}
    sampled = within(predicted, (rows[pairing[0]], rows[pairing[1]]))
    told = ask(owner, peer, sampled)
    return of_counts(predicted, int(sampled.sum()), told.right, told.labelled, told.matches)
