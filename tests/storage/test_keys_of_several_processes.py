"""Secret keys where several processes use one coordinator's folder: the right one, once, and none after its study is
gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from blindlabel.errors import InputError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.refusals import WrongStudy
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.secret_files import SecretsInMemory, write_secret
from support.study_parties import small_agreement

AGREEMENT = small_agreement()


@pytest.fixture
def coordinators(tmp_path: Path, database: str | None) -> Iterator[list[CoordinatorParty]]:
    """Two over one database and folder."""
    made = [CoordinatorParty(CoordinatorStore(tmp_path / "coordinator", address=database)) for _ in range(2)]
    yield made
    for one in made:
        one.store.close()


def test_secret_in_memory_is_given_out_only_while_its_file_is_there_unchanged(tmp_path: Path) -> None:
    held, path = SecretsInMemory(None, most=1), tmp_path / "some.key"
    write_secret(path, b"first")
    assert held.read(path) == b"first"
    assert held.read(path) is held.read(path), "it is not read (and no passphrase stretched) again"
    write_secret(path, b"second")
    assert held.read(path) == b"second"
    path.unlink()
    with pytest.raises(InputError, match="missing"):
        held.read(path)
    os.close(os.open(path, os.O_CREAT, 0o600))
    with pytest.raises(InputError):
        held.read(path)


def test_study_made_anew_is_signed_with_its_new_key_by_every_process(coordinators: list[CoordinatorParty]) -> None:
    keys = []
    for _ in range(2):
        invitation = coordinators[0].create(to_text(AGREEMENT))[0]
        keys.append(invitation.coordinator_key)
        assert coordinators[1]._identity(AGREEMENT.hash).public.to_bytes().hex() == invitation.coordinator_key
        with pytest.raises(InputError, match="already"):
            coordinators[1].create(to_text(AGREEMENT))
        coordinators[0].delete(AGREEMENT.hash)
        with pytest.raises(InputError, match="missing"):
            coordinators[1]._identity(AGREEMENT.hash)
        with pytest.raises(WrongStudy):
            coordinators[1].work(AGREEMENT.hash)
    assert keys[0] != keys[1]
