"""Tables of the experiments, for the terminal and the report, with the published figures beside ours. An experiment has
one or several; rows of a table may end early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments.published import (
    PUBLISHED_ATTRIBUTES,
    PUBLISHED_MISSING,
    PUBLISHED_SETS,
    PUBLISHED_TOKEN_LENGTH,
)

Document = Mapping[str, Any]
Table = list[list[str]]
NOT_KNOWN = "–"

_MEASURES = {
    "precision": "precision",
    "recall": "recall",
    "f": "F",
    "recall_strict": "strict recall",
    "f_strict": "strict F",
}
"""Names in documents and in tables. Recall and F without "strict" are over agreed pairs."""
_COUNTS = {
    "agreed": "agreed pairs",
    "pairs": "of",
    "records_to_ask": "records to ask",
    "true_positives": "TP",
    "false_positives": "FP",
    "false_negatives": "FN",
    "open_matches": "open matches",
}
_AGREEMENT = {"kappa": "kappa", "ac1": "AC1"}


# Cells


def _cells(row: str) -> list[str]:
    """A row as it is written in a table of text."""
    return row.split(" | ")


def _number(value: float | None, form: str = ".3f", unknown: str = NOT_KNOWN) -> str:
    return unknown if value is None else f"{value:{form}}"


def _spread(middle: float | None, spread: Sequence[float] | None, form: str, unknown: str = NOT_KNOWN) -> str:
    if middle is None or spread is None:
        return unknown
    low, high = (readable(one, form) for one in spread)
    return f"{readable(middle, form)} ({low} to {high})"


def readable(number: float, form: str = "") -> str:
    """A number for a table: never with a power of ten."""
    return f"{number:{form or (',.0f' if number >= 1000 else '.6g')}}"


# Labels


def _head(first: str) -> list[str]:
    return [first, "round", *_MEASURES.values(), *_COUNTS.values(), *_AGREEMENT.values()]


def _scores(one: Mapping[str, float | None], decimals: int) -> list[str]:
    """Measures and counts; what is not known is a dash."""
    counts = [_number(one[key], f",.{decimals}f") for key in _COUNTS]
    return [*(_number(one[key]) for key in _MEASURES), *counts, *(_number(one.get(key)) for key in _AGREEMENT)]


def _by_round(name: str, figures: Mapping[str, Any], decimals: int = 0) -> Table:
    """One study's figures, whose counts are whole numbers, or the means of several."""
    rounds = figures["rounds"]
    return [[name if n == 0 else "", str(n + 1), *_scores(one, decimals)] for n, one in enumerate(rounds)]


def _quality(document: Document) -> Iterator[Table]:
    rows = [_head("set")]
    for name, figures in document["datasets"].items():
        rows += _by_round(name, figures, 1)
        rows.append(["", f"{len(figures['rounds'])}, ±", *_scores(figures["deviation"], 1)])
    yield [row[: -len(_AGREEMENT)] for row in rows]


def _studies(document: Document) -> Iterator[Table]:
    rows = [_head("study")]
    for name, figures in document["studies"].items():
        rows += _by_round(name, figures)
    columns = [*_MEASURES, *_COUNTS, *_AGREEMENT]
    if found := document.get("together"):
        for kind in ("mean", "deviation", "least", "most"):
            cells = (_number(found.get(key, {}).get(kind), ".4g") for key in columns)
            rows.append(["all, final" if kind == "mean" else "", kind, *cells])
    yield rows
    if "time" in document:
        yield from _learning(document["time"])


def _people(document: Document) -> Iterator[Table]:
    rows = [_head("part")]
    for kind, parts in document["parts"].items():
        for name, figures in parts.items():
            rows += _by_round(f"{name}: {kind}", figures)
    yield rows
    rows = [["mean (95 %)", "of", *_MEASURES.values(), "seconds a record"]]
    differ = "blind less side by side"
    for kind, found in [*document["labels"].items(), (differ, document["labels_differ"])]:
        seconds = document["seconds_a_record"].get("difference" if kind == differ else kind)
        if found and seconds:
            limits = [_limits(found[key], ".3f") for key in _MEASURES]
            rows.append([kind, str(found["f"]["of"]), *limits, _limits(seconds, ".1f")])
    if document["labels_differ"]:
        rows.append(["p, sign flips", "", *(_number(document["labels_differ"][key]["p"]) for key in _MEASURES)])
    yield rows
    rows = [["two people, side by side", "pairs", *_AGREEMENT.values()]]
    for name, one in document["agreement_side_by_side"].items():
        rows.append([name, str(one["pairs"]), *(_number(one[key]) for key in _AGREEMENT)])
    yield rows


def _limits(one: Mapping[str, Any], form: str) -> str:
    mean = f"{one['mean']:{form}}"
    return mean if one["low"] is None else _spread(one["mean"], (one["low"], one["high"]), form)


_LEARNING = {
    "questions": "questions",
    "minutes": "minutes",
    "minutes_a_record": "a record",
    "minutes_a_record_median": "median",
    "learned_after_minutes": "learned after",
    "suggestions_taken": "suggestions taken",
    "suggestions_changed": "changed",
    "own": "own",
    "edited_again": "edited again",
}


def _learning(document: Document) -> Iterator[Table]:
    people = document["people"] | {"together": document["together"]}
    rows = [[name, *(_number(one[key], ".3g") for key in _LEARNING)] for name, one in people.items()]
    yield [["who", *_LEARNING.values()], *rows]
    last = max(map(int, document["together"]["by_position"]))
    step = -(-last // len(_LEARNING))
    bands = [range(start, min(start + step, last + 1)) for start in range(1, last + 1, step)]
    rows = [["minutes by position", *(f"{band[0]} to {band[-1]}" if len(band) > 1 else str(band[0]) for band in bands)]]
    for name, one in people.items():
        found = [[one["by_position"][str(p)] for p in band if str(p) in one["by_position"]] for band in bands]
        rows.append([name, *(f"{sum(some) / len(some):.2f}" if some else "" for some in found)])
    yield rows


def _candidates(document: Document) -> Iterator[Table]:
    rows = [["set", "round", "precision", "recall", "F1", "discarded", *hard.SOURCES]]
    for name, one in document["datasets"].items():
        known = [_number(one["published"].get(system), ".1f", "") for system in hard.SOURCES]
        for number, after in enumerate(one["rounds"], start=1):
            scores = [f"{100 * after[key]:.1f}" for key in ("precision", "recall", "f1")]
            row = [str(number), *scores, str(after["discarded"])]
            rows.append([name, *row, *known] if number == 1 else ["", *row])
    yield rows
    rows = [
        _cells(
            "readability | table | conditions, median (most) | whole words or values | largest share | one is enough |"
            " but not | other rows of the table"
        )
    ]
    for name, one in document["datasets"].items():
        for side, read in one["readability"].items():
            if read:
                conditions = f"{read['conditions_median']:g} ({read['conditions_most']:g})"
                kinds = {"whole_words_or_values": 1, "largest_share": 0, "one_is_enough": 0}
                shares = [f"{100 * read[key]:.{digits}f} %" for key, digits in kinds.items()]
                counts = [f"{read[key]:.2f}" for key in ("exclusions", "other_own_rows")]
                rows.append([name, side, conditions, *shares, *counts])
    yield rows


# What suggestions are worth


def _verdicts(document: Document) -> Iterator[Table]:
    said = list(next(iter(document["datasets"].values()))["bins"])
    ranks = [f"ranks {what}: verdict" for what in ("found", "found, of one record", "let through")]
    rows = [["set", *said, *(head for one in ranks for head in (one, "own rows", "bar"))]]
    for name, one in document["datasets"].items():
        rows.append([name, *_said_and_ranked(one, said, "interval")])
    for group, one in document["means"].items():
        rows.append([f"mean: {group}", *_said_and_ranked(one, said, "spread")])
        off = [round(100 * one[f"{key}off"]) for key in ("", "seldom_", "pilot_", "pilot_seldom_")]
        rows.append(["off by {} points, in one table of ten by {}; with a pilot {} and {}".format(*off)])
    yield rows


def _said_and_ranked(one: Mapping[str, Any], said: Sequence[str], spread: str) -> list[str]:
    cells = [_spread(one["bins"][words]["share"], one["bins"][words][spread], ".2f") for words in said]
    kinds = ("found_auc", "record_auc", "wrong_auc")
    return cells + [_number(one[kind].get(key)) for kind in kinds for key in ("verdict", "own rows", "bar")]


def _prevalence(document: Document) -> Iterator[Table]:
    head = 'set | pairs | matches | "match" right | true pairs found | right by round | published kind: right, F'
    rows = [_cells(head)]
    for name, one in document["datasets"].items():
        rounds = ", ".join(f"{each['right']} of {each['labelled']}" for each in one["by_round"])
        beside = f"{_number(one['published']['precision'])}, {_number(one['published']['f_strict'])}"
        shares = [_number(one["right"]), _number(one["found"])]
        rows.append([name, f"{one['pairs']:,}", f"{one['matches']:,}", *shares, rounds, beside])
    yield rows


def _invariance(document: Document) -> Iterator[Table]:
    rows = [["set", *next(iter(document["datasets"].values()))["f1"], "moved by"]]
    for name, one in document["datasets"].items():
        rows.append([name, *(f"{100 * f1:.1f}" for f1 in one["f1"].values()), f"{100 * one['moved']:.1f}"])
    yield rows


def _oracles(document: Document) -> Iterator[Table]:
    names = list(next(iter(document["strategies"].values())))
    rows = [["strategy", *(f"{name} F / strict" for name in names)]]
    for strategy, sets in document["strategies"].items():
        rows.append([strategy, *(f"{sets[name]['f']:.3f} / {sets[name]['f_strict']:.3f}" for name in names)])
    yield rows


def _estimates(document: Document) -> Iterator[Table]:
    rows = [_cells("set | linked of listed, lacking | sample | held P / R / F | bias | half width | draws")]
    for name, one in document["datasets"].items():
        shown = [name, f"{one['linked']:,} of {one['listed']:,}, {one['lacking']:,}"]
        for sample, cell in one["cells"].items():
            held, bias, width = (
                " / ".join(map(_number, cell[key])) or NOT_KNOWN for key in ("held", "bias", "half_width")
            )
            rows.append([*shown, sample, held, "" if sample.endswith("band") else bias, width, str(cell["said"])])
            shown = ["", ""]
    yield rows


# The sets, and what is asked


def _tokens(document: Document) -> Iterator[Table]:
    bands = [f"in {band['rows']} rows" for band in next(iter(document["datasets"].values()))["bands"]]
    rows = [["set", "mean length", "published", "needles", "whole words", *bands]]
    for name, figures in document["datasets"].items():
        total = sum(band["asked"] for band in figures["bands"]) or 1
        lengths = [f"{figures['mean_length']:.2f}", _number(PUBLISHED_TOKEN_LENGTH.get(name), ".2f", "")]
        counts = [str(figures["asked"]), str(figures["asked_as_whole_words"])]
        rows.append([name, *lengths, *counts, *(f"{100 * band['asked'] / total:.0f} %" for band in figures["bands"])])
    yield rows


def _records(document: Document) -> Iterator[Table]:
    rows = [
        _cells(
            "set | entities | published | matches | published | selected | published | pairs | true pairs | "
            "average length a / b / both | published"
        )
    ]
    for name, one in document["datasets"].items():
        entities, matches, selected, length = PUBLISHED_SETS.get(name) or ("", "", "", None)
        chosen, lengths = one["selected"], [*one["average_length"], one["average_length_of_both"]]
        sizes = ["+".join(map(str, one["entities"])), entities, str(one["matches"]), str(matches)]
        sizes += ["+".join(map(str, chosen["entities"])), selected, str(chosen["pairs"]), str(chosen["true_pairs"])]
        rows.append([name, *sizes, " / ".join(f"{value:.0f}" for value in lengths), _number(length, "g", "")])
    yield rows
    rows = [["set", "attributes used", "published"]]
    for name, one in document["datasets"].items():
        rows.append([name, ", ".join(one["attributes"]), PUBLISHED_ATTRIBUTES.get(name, "")])
    yield rows


def _missing(document: Document) -> Iterator[Table]:
    rows = [["set", "attribute", "a %", "b %", "both %", "published %"]]
    for name, attributes in document["datasets"].items():
        for attribute, figures in attributes.items():
            published = PUBLISHED_MISSING.get(attribute) if name == "febrl" else None
            shown = [f"{figures[side]:.1f}" for side in ("a", "b", "both")]
            rows.append([name, attribute, *shown, _number(published, ".1f", "")])
    yield rows


# What encryption costs


def _communication(document: Document) -> Iterator[Table]:
    rows = [
        _cells(
            "characters of a record | packed engine, is_in alone, KB | the same, KB a character | "
            "packed engine, default agreement, KB | gates engine, KB | published, KB"
        )
    ]
    keys = ("packed_bytes", "packed_bytes_per_character", "default_bytes", "gates_bytes", "published_bytes")
    for row in document["rows"]:
        sizes = [row[key] if row[key] is None else row[key] / 1024 for key in keys]
        rows.append([str(row["length"]), *(_number(size, ",.1f", "not run") for size in sizes)])
    yield rows
    if known := document["packed_keys"]:
        kinds = (("is_in alone", "public_bytes"), ("default agreement", "default_agreement_bytes"))
        sizes = [[f"packed engine, {name}", f"{known[key] / 1e6:.1f}"] for name, key in kinds]
        yield [["keys of one asker and round", "MB"], *sizes]


def _computation(document: Document) -> Iterator[Table]:
    rows = [
        _cells(
            "characters | questions | agreement | packed engine, s (spread) | published circuit here, s | "
            "gates, needle in clear, s | published circuit / packed (spread) | "
            "with keys, encrypting and opening | published, serial, s | "
            "a round, both directions, MB"
        )
    ]

    def or_not(value: float | None, unknown: str = "not run") -> str:
        return unknown if value is None else readable(value)

    for row in document["rows"]:
        moved = None if row["bytes"] is None else f"{2 * sum(row['bytes'].values()) / 1e6:.1f}"
        rows.append(
            [
                *(str(row["length"]), row["shape"], row["agreement"]),
                _spread(row["packed_seconds"], row["packed_spread"], "", "not run"),
                *(or_not(row[key]) for key in ("gates_serial_seconds", "gates_clear_needle_seconds")),
                _spread(row["ratio"], row["ratio_spread"], "", "not run"),
                *(or_not(row["ratio_of_all"]), or_not(row["published_seconds"], ""), moved or "not run"),
            ]
        )
    yield rows
    if measured := document.get("parallel"):
        yield [*_parallel(measured), ["published", document["published_parallel"]]]


def _parallel(measured: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """How many times faster the published circuit is in parallel than serial."""
    yield _cells(
        "the published circuit in parallel | times faster by the clock (spread) | "
        "with a core for each process (spread) | at most, by gate count | at most for 6 in 148 characters"
    )
    for one in measured:
        cores = f"{one['processes']} processes on {one['cores']} cores"
        here, own = (_spread(one[key], one[f"{key}_spread"], "") for key in ("factor_here", "factor_own_cores"))
        yield [cores, here, own, f"{one['most_by_gates']:g}", f"{one['most_by_gates_6_in_148']:g}"]


TABLES: Mapping[str, Callable[[Document], Iterator[Table]]] = MappingProxyType(
    {
        "quality": _quality,
        "score": _studies,
        "replay": _studies,
        "learning": _learning,
        "people": _people,
        "records": _records,
        "candidates": _candidates,
        "estimates": _estimates,
        "verdicts": _verdicts,
        "prevalence": _prevalence,
        "invariance": _invariance,
        "oracles": _oracles,
        "tokens": _tokens,
        "missing": _missing,
        "communication": _communication,
        "computation": _computation,
    }
)
"""What each experiment's tables are."""
TITLES = {
    "quality": "Labelling quality by round",
    "quality-published": "Labelling quality with the published text preparation",
    "candidates": "Hard pairs: what blocking leaves over",
    "oracles": "Strategies side by side (final)",
    "tokens": "What is asked",
    "records": "The sets, and how long their records are",
    "missing": "Missing values",
    "learning": "Time and learning",
    "communication": "Bytes of an encrypted record",
    "computation": "Seconds of one round, 50 by 50 records",
}
"""Of the report's parts."""


def aligned(rows: Table) -> Iterator[str]:
    """A table as lines; a row that has one cell alone is a sentence."""
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row if len(row) > 1 else ()):
            widths[column] = max(widths.get(column, 0), len(cell))
    for row in rows:
        yield "  ".join(cell.ljust(widths.get(column, 0)) for column, cell in enumerate(row)).rstrip()


def shown(name: str, document: Document) -> Iterator[str]:
    """An experiment's document as lines, a blank one between two tables."""
    for place, rows in enumerate(TABLES[name](document)):
        yield from ["", *aligned(rows)] if place else aligned(rows)
