"""One way through: in a process, a question is read once and compiled once between the workspace and the engine."""

from __future__ import annotations

from pathlib import Path

import blindlabel as bl
from blindlabel.engines.packed.planning.room import Room
from blindlabel.parties import questions

ROWS = {"clinic": ("ada hartby", "ben moor"), "hospital": ("ada hartby", "cleo lindt")}


def test_a_question_is_read_and_compiled_once_from_saving_to_the_answers(tmp_path: Path) -> None:
    messages = tmp_path / "messages"
    messages.mkdir()
    coordinator = bl.Coordinator(tmp_path / "coordinator")
    agreement = coordinator.write_agreement(
        tmp_path / "agreement.toml",
        "once",
        list(ROWS),
        ["name"],
        rounds=1,
        sampling={"records": 2},
        encoding={
            "engine": "packed",
            "record_length": 16,
            "attributes": False,
            "functions": ["is_in"],
            "profile": [1, 1],
            "exclusions": 0,
        },
    )
    invitations = coordinator.invite(agreement, f"folder:{messages}")
    owners = []
    for name, rows in ROWS.items():
        table = tmp_path / f"{name}.csv"
        table.write_text("name\n" + "\n".join(rows) + "\n")
        owners.append(bl.Owner.join(tmp_path / name, invitations[name], table, accept_weaker=True))
    read, planned, saved, over = questions._read.cache_info(), Room.plan.cache_info(), 0, False
    confirmed = False
    while not over:
        done = [owner.run() for owner in owners]
        coordinator.serve(messages)
        over = all(done)
        if not confirmed and all(owner.words() for owner in owners):
            for owner in owners:
                for other in owners:
                    if other is not owner:
                        owner.confirm(other.name, other.words()[owner.name])
            confirmed = True
        for owner in owners:
            tasks = owner.tasks()
            for number, record in tasks.items():
                text = f'ret is_in("{record.row["name"].split()[0]}", $r)  # {owner.name}, {number}'
                assert owner.save(number, text).ok
                saved += 1
            if tasks:
                owner.hand_in()
    assert saved == 4
    assert questions._read.cache_info().misses - read.misses == saved
    assert Room.plan.cache_info().misses - planned.misses == saved
    assert questions._read.cache_info().hits > read.hits and Room.plan.cache_info().hits > planned.hits
    assert [len(truth.matches()) for truth in coordinator.truths("once").values()] == [1]
