"""A rehearsal on two generated tables: what three rounds would label, how good that is, and files for Splink.

With tables of your own, put their files in place of the generated ones; `known` is only needed for the scores.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import blindlabel as bl


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        command = ["generate", "persons", "--rows", "60", "--overlap", "0.6", "--seed", "3", "--out", folder]
        subprocess.run([sys.executable, "-m", "blindlabel.cli.main", *command], check=True, capture_output=True)
        a, b = bl.read_table(made / "a.csv"), bl.read_table(made / "b.csv")
        with (made / "matches.csv").open(encoding="utf-8", newline="") as file:
            known = [tuple(row) for row in csv.reader(file)][1:]

        truth = bl.rehearse(a, b, rounds=3, prepare=("nfkc", "collapse_space", "lower"))
        print(f"{len(truth.pairs)} of {len(a) * len(b)} pairs agreed, {len(truth.matches())} of them matches")
        for number in (1, 2, 3):
            scores = truth.score(known, round=number)
            print(f"after round {number}: precision {scores.precision:.2f}, strict recall {scores.recall_strict:.2f}")
        files = truth.export("splink", made / "out")
        print("written:", ", ".join(file.name for file in files))


if __name__ == "__main__":
    main()
