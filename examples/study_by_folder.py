"""A study of a coordinator and two owners who carry messages in a folder: what the commands do, from Python.

In a real study each party runs its part on its own machine, the folder is carried between them, and the agreement names
the packed engine. Here all three are in one process, with the plain engine, which encrypts nothing.
"""

import csv
import os
import tempfile
from pathlib import Path

import blindlabel as bl

HOSPITAL = [("h1", "Ada Hartby", "1961"), ("h2", "Ben Moor", "1975"), ("h3", "Cleo Lindt", "1988")]
CLINIC = [("c1", "Hartby, Ada", "1961"), ("c2", "Cleo Lind", "1988"), ("c3", "Dan Ruiz", "1990")]


def written(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "name", "born"), *rows])
    return path


def question_for(record) -> str:
    """What a person might ask: the year and one part of the name."""
    words = " | ".join(f'is_in("{word}", $r.name)' for word in record.row["name"].replace(",", "").split())
    return f'ret equals("{record.row["born"]}", $r.born) & ({words})'


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.environ["BLINDLABEL_LEDGER"] = str(home / "ledger.json")  # a play: your own ledger stays as it is
        messages = home / "messages"
        messages.mkdir()
        coordinator = bl.Coordinator(home / "coordinator")
        agreement = coordinator.write_agreement(
            home / "agreement.toml",
            "patients",
            ["clinic", "hospital"],
            ["name", "born"],
            sampling={"records": 3},
            encoding={"engine": "plain"},
        )
        invitations = coordinator.invite(agreement, f"folder:{messages}")
        owners = [
            bl.Owner.join(home / name, invitations[name], written(home / f"{name}.csv", rows), accept_weaker=True)
            for name, rows in (("clinic", CLINIC), ("hospital", HOSPITAL))
        ]

        confirmed = False
        over = False
        while not over:
            done = [owner.run() for owner in owners]
            over = all(done)
            coordinator.serve(messages)
            clinic, hospital = owners
            if not confirmed and clinic.words() and hospital.words():
                heard = hospital.words()["clinic"]  # read out on the telephone
                clinic.confirm("hospital", heard)
                hospital.confirm("clinic", clinic.words()["hospital"])
                confirmed = True
            for owner in owners:
                tasks = owner.tasks()
                for number, record in tasks.items():
                    assert owner.save(number, question_for(record)).ok
                if tasks:
                    owner.hand_in()

        labels = coordinator.truths("patients")["clinic", "hospital"]
        print(f"{len(labels.pairs)} pairs agreed, {len(labels.discarded)} discarded")
        truth = owners[1].truths()["clinic"]  # owners are given the matches alone, unless the agreement says otherwise
        for own in sorted(truth.name_b(pair.j) for pair in truth.matches()):
            print(f"hospital's {own} is at the clinic, too")


if __name__ == "__main__":
    main()
