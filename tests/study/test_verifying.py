"""Another owner is confirmed by words that were heard from it, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindlabel.errors import InputError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.direct_line import DirectLine
from support.study_parties import joined, small_agreement, write_person_tables


def test_only_the_words_that_the_other_reads_out_confirm_it(tmp_path: Path) -> None:
    agreement = small_agreement(2, records=3)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), write_person_tables(tmp_path, rows=3))
    anna, berta = (OwnerParty(one, DirectLine(coordinator, agreement.hash, one.name)) for one in workspaces)
    for owner in (anna, berta, anna):
        owner.turn()
    heard = berta.words("anna")
    assert not set(heard) <= set(anna.words("berta")), "each reads words of its own"
    wrong = {
        "yes": "12 words; these are 1",
        " ".join(heard[:-1]): "12 words; these are 11",
        " ".join((*heard[1:], heard[0])): "not the words",
        " ".join(anna.words("berta")): "words that you read",
    }
    for typed, says in wrong.items():
        with pytest.raises(InputError, match=says):
            anna.verify("berta", typed)
    assert anna.store.state().confirmed == ()
    anna.verify("berta", f" {', '.join(heard).upper()}. ")  # as people type
    assert anna.store.state().confirmed == ("berta",)
