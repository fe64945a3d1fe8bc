"""From blind labels to a better linkage: a tool scores pairs of two tables, some of them are drawn and labelled
blindly, and the threshold is chosen from what the labels say, alone, with checked pairs, and from true labels instead.

    python better_linkage.py splink      the scores are Splink's, made from both tables in clear
    python better_linkage.py anonlink    they are similarities of CLKs: clkhash encodes, anonlink compares

All parties are in one process here, with the plain engine, which encrypts nothing, and suggested questions in place of
experts. `known` stands for what experts see in checked pairs, and says what the choices cost.
"""

import csv
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import blindlabel as bl

ATTRIBUTES = ["given_name", "surname", "address_1", "age", "phone_number"]
OWNERS = ["clinic", "hospital"]
ROWS, PAIRS = 400, 200


def by_splink(a: Path, b: Path) -> list[tuple[int, int, float]]:
    """Pairs of rows with Splink's match weights."""
    import pandas  # noqa: PLC0415 (one of the two tools is enough)
    import splink  # noqa: PLC0415
    import splink.comparison_library as compare  # noqa: PLC0415

    api, frames = splink.DuckDBAPI(), [pandas.read_csv(path, dtype=str) for path in (a, b)]
    for frame in frames:
        frame["unique_id"] = range(len(frame))
    settings = splink.SettingsCreator(
        link_type="link_only",
        probability_two_random_records_match=0.5 / ROWS,
        comparisons=[
            *(compare.JaroWinklerAtThresholds(name) for name in ("given_name", "surname", "address_1")),
            compare.ExactMatch("age"),
        ],
        blocking_rules_to_generate_predictions=[splink.block_on(name) for name in ATTRIBUTES],
    )
    tables = [api.register(frame, dataset_display_name=name) for name, frame in zip(OWNERS, frames)]
    linker = splink.Linker(tables, settings, log_level="ERROR")
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for name in ("surname", "address_1"):
        linker.training.estimate_parameters_using_expectation_maximisation(splink.block_on(name))
    found = linker.inference.predict(threshold_match_weight=-20).as_record_list()
    return [(row["unique_id_l"], row["unique_id_r"], round(row["match_weight"], 4)) for row in found]


def by_anonlink(a: Path, b: Path) -> list[tuple[int, int, float]]:
    """Pairs of rows with the similarity of their CLKs. Each owner makes its own, with a secret that both share."""
    import anonlink  # noqa: PLC0415
    from clkhash import clk, comparators, field_formats, schema  # noqa: PLC0415

    kind = comparators.NgramComparison(2)
    hashing = field_formats.FieldHashingProperties(comparator=kind, strategy=field_formats.BitsPerFeatureStrategy(20))
    fields = [field_formats.StringSpec(name, hashing) for name in ATTRIBUTES]
    keys = []
    for path in (a, b):
        table = bl.read_table(path, attributes=ATTRIBUTES)
        rows = [tuple(row[name].lower() for name in ATTRIBUTES) for row in table]
        keys.append(clk.generate_clks(rows, schema.Schema(fields, 1024), "a secret of both owners"))
    scores, _, rows_of = anonlink.candidate_generation.find_candidate_pairs(
        keys, anonlink.similarities.dice_coefficient, 0.4
    )
    return [(int(i), int(j), round(float(score), 4)) for score, i, j in zip(scores, *rows_of)]


SCORING = {"splink": (by_splink, 0.0), "anonlink": (by_anonlink, 0.6)}
"""How pairs are scored, and the threshold that somebody would have guessed."""


def write_list(path: Path, scored: list[tuple[int, int, float]], threshold: float) -> None:
    """The best pairs, five times as many as are linked: a longer list would cost recall."""
    best = sorted(scored, key=lambda pair: -pair[2])
    linked = sum(score >= threshold for _, _, score in best)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("row_a", "row_b", "score"), *best[: 5 * linked]])


def study(home: Path, tables: list[Path], listed: Path, threshold: float) -> bl.Coordinator:
    """Draw pairs of the list and have them labelled, over a folder."""
    messages = home / "messages"
    messages.mkdir()
    coordinator = bl.Coordinator(home / "coordinator")
    agreement = coordinator.write_agreement(
        home / "agreement.toml",
        "persons",
        OWNERS,
        ATTRIBUTES,
        sampling={
            "method": "candidates",
            "records": PAIRS,
            "candidates": bl.read_candidates(listed, threshold=threshold).hash,
            "threshold": threshold,
            "tables": dict.fromkeys(OWNERS, ROWS),
            "checked": 20,
        },
        encoding={"engine": "plain"},
    )
    invitations = coordinator.invite(agreement, f"folder:{messages}", candidates=listed)
    owners = [
        bl.Owner.join(home / name, invitations[name], table, accept_weaker=True) for name, table in zip(OWNERS, tables)
    ]
    over = False
    while not over:
        done = [owner.run(suggested=True) for owner in owners]
        over = all(done)
        coordinator.serve(messages)
        clinic, hospital = owners
        if clinic.words() and hospital.words():
            clinic.confirm("hospital", hospital.words()["clinic"])
            hospital.confirm("clinic", clinic.words()["hospital"])
    return coordinator


def settle(labels: bl.GroundTruth, files: list[Path], known: set[tuple[str, str]]) -> None:
    """Both experts see the pairs side by side (`blindlabel owner checked`) and enter what they are: here, the truth."""
    lines = [list(csv.DictReader(file.read_text("utf-8").splitlines())) for file in files]
    places = zip(*([int(line[f"record_{owner}"]) for line in side] for owner, side in zip(OWNERS, lines)))
    match = [int((labels.name_a(i), labels.name_b(j)) in known) for i, j in places]
    for file, side in zip(files, lines):
        with file.open("w", encoding="utf-8", newline="") as open_file:
            writer = csv.DictWriter(open_file, list(side[0]))
            writer.writeheader()
            writer.writerows(line | {"match": label} for line, label in zip(side, match))


def best(found: bl.Estimate) -> float:
    """The threshold with the best F; of a band, by its middle."""
    said = [point for point in found.curve if not point.f.cannot_say]
    values = {point.threshold: point.f.value or ((point.f.low or 0) + (point.f.high or 0)) / 2 for point in said}
    return max(values, key=lambda threshold: values[threshold])


def make_tables(home: Path) -> tuple[list[Path], set[tuple[str, str]]]:
    """Two tables about persons, and which of their rows match."""
    command = ["generate", "persons", "--rows", str(ROWS), "--overlap", "0.6", "--seed", "3", "--out", str(home)]
    subprocess.run([sys.executable, "-m", "blindlabel.cli.main", *command], check=True, capture_output=True)
    tables = [home / "a.csv", home / "b.csv"]
    ids = [{own: str(row) for row, own in enumerate(bl.read_table(table).ids)} for table in tables]
    with (home / "matches.csv").open(encoding="utf-8", newline="") as file:
        return tables, {(ids[0][a], ids[1][b]) for a, b in list(csv.reader(file))[1:]}


def judged(
    coordinator: bl.Coordinator, listed: Path, threshold: float, known: set[tuple[str, str]]
) -> dict[str, bl.Estimate]:
    """What labels alone say of the linkage, what they say with checked pairs, and what true labels would have said."""
    labels = coordinator.truths("persons")[OWNERS[0], OWNERS[1]]
    files = coordinator.checked_pairs("persons", listed, to=listed.parent)
    settle(labels, files, known)
    cells = [(pair.i, pair.j) for pair in labels.pairs] + list(labels.discarded)
    drawn = {(labels.name_a(i), labels.name_b(j)) for i, j in cells}
    candidates = bl.read_candidates(listed, threshold=threshold)
    candidates = replace(candidates, drawn=np.array([pair in drawn for pair in candidates.pairs]))
    return {
        "blind labels": coordinator.estimate("persons", listed),
        "blind labels and checked pairs": coordinator.estimate("persons", listed, checked=files),
        "true labels": bl.estimate(candidates, labels, checked={pair: pair in known for pair in drawn}),
    }


def true_f(listed: Path, threshold: float, known: set[tuple[str, str]]) -> float:
    """How good the linkage would be with this threshold, really."""
    candidates = bl.read_candidates(listed, threshold=threshold)
    right = sum(pair in known for pair, linked in zip(candidates.pairs, candidates.linked) if linked)
    return 2 * right / (int(candidates.linked.sum()) + len(known))


def main() -> None:
    scoring, guessed = SCORING[sys.argv[1]]
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.environ["BLINDLABEL_LEDGER"] = str(home / "ledger.json")  # a play: your own ledger stays as it is
        tables, known = make_tables(home)
        write_list(home / "list.csv", scoring(*tables), guessed)
        coordinator = study(home, tables, home / "list.csv", guessed)
        estimates = judged(coordinator, home / "list.csv", guessed, known)
        for what, found in estimates.items():
            print(f"{what}: precision {found.precision}; recall {found.recall}; F {found.f}")
        for what, threshold in {"a guess": guessed, **{one: best(found) for one, found in estimates.items()}}.items():
            print(f"threshold by {what}: F {true_f(home / 'list.csv', threshold, known):.3f}")


if __name__ == "__main__":
    main()
