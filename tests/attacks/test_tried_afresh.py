"""Attacks on what was built last, as an outsider would try them; what they get stands in docs/explanation/security.md.

1. An owner that shares a folder with two others looks at sizes alone.
2. A coordinator that runs two studies with the same table looks for the same rows in both.
3. A lying owner has the other's records set aside.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blindlabel.engines.interface import Outcomes
from blindlabel.envelope.identity import new_identity
from blindlabel.envelope.stream import sealed_size
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import secret_order
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.comparing import lengths
from blindlabel.protocol.facts import direction_of
from blindlabel.protocol.interfaces import OwnRecord, Store
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.study_parties import Asking, joined, play, small_agreement, write_person_tables

SAID = " ".join((Path(__file__).parents[2] / "docs" / "explanation" / "security.md").read_text("utf-8").split())


def one_sided(store: Store, own: OwnRecord) -> str:
    """Everybody asks for surnames but clara, who says no to everything: pairs with her stay open."""
    return f'ret is_in("{"#" if store.name == "clara" else own.prepared.attributes["surname"] or "zz"}", $r)'


def test_sizes_in_a_shared_folder_say_how_many_pairs_of_two_others_are_open(tmp_path: Path) -> None:
    agreement = small_agreement(3, records=6, rounds=2)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    tables = write_person_tables(tmp_path, 3, rows=6)
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), tables)
    shared = tmp_path / "shared"
    shared.mkdir()
    server = FolderServer(coordinator, shared)

    class Served(FolderTransport):
        def deliver(self, *given: object) -> None:
            super().deliver(*given)  # type: ignore[arg-type]
            server.turn()

    play(workspaces, lambda one: Served(shared, letters_of(one), one.name), Asking(one_sided))
    sizes = {path.stat().st_size for path in shared.glob("*/bodies/*")}
    for facts in coordinator.load(agreement.hash).state.rounds:
        true = len(facts.asked[direction_of("berta", "clara")]) * len(facts.asked[direction_of("clara", "berta")])
        guessed = {
            pairs for pairs in range(1, 37) for length in lengths(1, pairs) if sealed_size("listed", length) in sizes
        }
        assert true == 0 or true in guessed, "anna, who has no part in it, sees the size of their list"
        assert len(guessed) < 30, "and it is no guess that always fits"
    assert "from sizes, how many pairs are open in each round" in SAID


def test_a_place_in_one_study_says_nothing_of_the_place_in_another() -> None:
    studies = [agreements.new(name, ["anna", "berta"], ["name"]) for name in ("one", "two")]
    orders = [secret_order(new_identity(), agreement, 2000) for agreement in studies]
    places = np.argsort(np.asarray(orders), axis=1)
    assert abs(np.corrcoef(*places)[0, 1]) < 0.1  # its standard deviation is .022
    identity = new_identity()
    same = [secret_order(identity, studies[0], 2000) for _ in range(2)]
    assert list(same[0]) == list(same[1]), "the control: with one secret and one study the places are the same"


def test_a_lying_owner_has_every_record_set_aside_in_two_rounds_and_makes_no_label_wrong() -> None:
    n, most_yes, everybody = 50, 5, range(50)
    labels = np.zeros((n, n), dtype=np.uint8)
    honest: Outcomes = np.eye(n, dtype=np.uint8)
    aside: set[int] = set()
    for number, targets in enumerate((range(25), range(25, 50)), start=1):
        asked = [i for i in everybody if np.any(labels[i] == 0)]
        served = [j for j in everybody if np.any(labels[:, j] == 0)]
        lies: Outcomes = np.zeros((n, n), dtype=np.uint8)
        lies[:, list(targets)] = 1
        if number == 1:
            for j in range(25, 50):  # kept open, by as many yes as a record may have
                lies[[(j + step) % n for step in range(1, 6)], j] = 1
        found = labelling.settle(
            labels, number, asked, lies[np.ix_(asked, served)], served, honest[np.ix_(served, asked)], most_yes
        )
        labels, aside = found.labels, aside | set(found.aside[1])
    assert aside == set(everybody), "each of them is told to its owner"
    assert not np.any(labelling.is_match(labels)), "it can as well say no to everything"
    assert "can have every record of the other set aside" in SAID
