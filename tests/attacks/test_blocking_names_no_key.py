"""Enriched sampling: what the coordinator holds names no blocking key, by frequency or by dictionary.

In the first version it got eight keyed hashes of every row, and with a foreign list of names it named 369 of the 400
most frequent ones by rank alone. The same attacker is tried here on hashes of that kind, so that it is known to work,
and then on everything that reaches the coordinator of a study.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

import pytest

from blindlabel.envelope.identity import POINT_BYTES, Context, blinded, own_secret, point_of, scalar_of, shared_secret
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity, own_table
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol import blocking
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.letters import public_of
from blindlabel.protocol.sampling import blocking_keys
from blindlabel.records.generator import Size, generate
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.direct_line import DirectLine
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables

BLOCKING = ("surname", "given_name")
ROWS = 120


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Workspace], dict[str, list[bytes]]]:
    """A study up to its sample, and all bodies that reached the coordinator, by kind."""
    folder = tmp_path_factory.mktemp("blocking")
    agreement = small_agreement(sampling={"method": "enriched", "records": 10, "blocking": list(BLOCKING)})
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    tables = write_person_tables(folder, rows=ROWS)
    workspaces = joined(folder, coordinator.create(to_text(agreement)), tables)
    owners = [OwnerParty(one, DirectLine(coordinator, agreement.hash, one.name)) for one in workspaces]
    for _ in range(12):
        for owner in owners:
            owner.turn()
        confirm_all(owners)
    assert all(one.state().sample for one in workspaces)
    bodies = coordinator.store.bodies(agreement.hash)
    reached: dict[str, list[bytes]] = {"offered": [], "blinded": [], "picked": []}
    for name, facts in coordinator.load(agreement.hash).state.owners.items():
        reached["offered"] += [bodies.read_all(blob) for blob in facts.offered.values()]
        reached["blinded"] += [
            coordinator._unsealed(agreement.hash, "blinded", name, blob) for blob in facts.blinded.values()
        ]
        reached["picked"] += [bodies.read_all(blob) for blob in facts.picked.values()]
    return workspaces, reached


def points(bodies: Iterable[bytes]) -> list[bytes]:
    return [body[at : at + POINT_BYTES] for body in bodies for at in range(0, len(body) - POINT_BYTES + 1, POINT_BYTES)]


def keys_of(workspace: Workspace) -> list[str]:
    table, agreement = own_table(workspace), workspace.agreement
    rows = agreement.recipe.rows(table, agreement.attributes)
    return [key for row in rows for key in blocking_keys(row, BLOCKING)]


def first_names(seed: int) -> list[str]:
    table = generate("persons", Size(2_000, 10), seed).a
    return [words[0] for row in range(2_000) if (words := table.row(row)["given_name"].split())]


def named_by_rank(seen: list[bytes], true_names: dict[bytes, str], census: list[str]) -> int:
    """How many of the attacker's thirty most frequent values it names rightly, within two ranks of a census."""
    ranked = [value for value, count in Counter(seen).most_common(30) if count > 1]
    expected = [name for name, _ in Counter(census).most_common(30)]
    return sum(true_names.get(value) in expected[max(0, rank - 2) : rank + 3] for rank, value in enumerate(ranked))


def test_frequencies_name_no_key(study: tuple[list[Workspace], dict[str, list[bytes]]]) -> None:
    _, reached = study
    victims, census = first_names(901), first_names(77)  # two populations: the attacker knows the second alone
    hashes = {name: hashlib.blake2b(name.encode(), key=b"s" * 32, digest_size=8).digest() for name in victims}
    back = {value: name for name, value in hashes.items()}
    assert named_by_rank([hashes[name] for name in victims], back, census) >= 8  # the attacker works
    for lists in reached.values():
        for body in lists:
            assert max(Counter(points([body])).values()) == 1  # there are no frequencies to go by


def test_no_dictionary_finds_a_point_of_what_the_coordinator_holds(
    study: tuple[list[Workspace], dict[str, list[bytes]]],
) -> None:
    """Every true key of both tables, under all that the coordinator and one owner know together."""
    workspaces, reached = study
    seen = {point for bodies in reached.values() for point in points(bodies)}
    common = set(points(reached["blinded"][:1])) & set(points(reached["blinded"][1:]))
    assert common  # there is something to find
    curious, other = workspaces
    identity, agreement = own_identity(curious), bytes.fromhex(curious.agreement.hash)
    peer = public_of(curious.state().peer(other.name))
    secret = shared_secret(identity, peer, Context(agreement, "blocking"))
    number = scalar_of(own_secret(identity, Context(agreement, "blinding"), peer))
    for key in set(keys_of(curious)) | set(keys_of(other)):
        hashed = hashlib.blake2b(key.encode(), key=secret, digest_size=8, person=b"bl-blocking").digest()
        point = point_of(hashed, secret)
        assert point not in seen
        assert blinded(point, number) not in seen


def test_pooling_says_of_an_offer_only_that_it_was_chosen(
    study: tuple[list[Workspace], dict[str, list[bytes]]],
) -> None:
    """An owner knows the order of its offers, the coordinator the order of the doubly blinded points; what joins the
    two is the other owner's number alone, so places of equal points do not follow from places of offers.
    """
    workspaces, reached = study
    lists = [points([body]) for body in reached["blinded"]]
    equal = set(lists[0]) & set(lists[1])
    extent = blocking.Extent.of(workspaces[0].agreement)
    assert len(lists[0]) == extent.offers(ROWS, ROWS)
    assert all(one == sorted(one) for one in lists)  # the order is that of the points, not of the offers
    assert len(equal) > extent.chosen(ROWS, ROWS) // 2  # more are equal than are ever confirmed to an owner
