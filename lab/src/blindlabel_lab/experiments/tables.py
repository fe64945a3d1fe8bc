"""Tables of the experiments, for the terminal and the report, with the published figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _cells(row: str) -> list[str]:
    """A row as it is written in a table of text."""
    return row.split(" | ")


def _head(first: str) -> list[str]:
    return [first, "round", *_MEASURES.values(), *_COUNTS.values(), *_AGREEMENT.values()]


def _scores(one: Mapping[str, float | None], decimals: int) -> list[str]:
    """Measures and counts; what is not known is a dash."""
    shares = ["–" if one[key] is None else f"{one[key]:.3f}" for key in _MEASURES]
    counts = ["–" if one[key] is None else f"{one[key]:,.{decimals}f}" for key in _COUNTS]
    return [*shares, *counts, *(_three(one.get(key)) for key in _AGREEMENT)]


def _by_round(name: str, figures: Mapping[str, Any], decimals: int = 0) -> Table:
    """One study's figures, whose counts are whole numbers, or the means of several."""
    rounds = figures["rounds"]
    return [[name if n == 0 else "", str(n + 1), *_scores(one, decimals)] for n, one in enumerate(rounds)]


def _quality(document: Document) -> Table:
    rows = [_head("set")]
    for name, figures in document["datasets"].items():
        rows += _by_round(name, figures, 1)
        rows.append(["", f"{len(figures['rounds'])}, ±", *_scores(figures["deviation"], 1)])
    return [row[: -len(_AGREEMENT)] for row in rows]


def _studies(document: Document) -> Table:
    rows = [_head("study")]
    for name, figures in document["studies"].items():
        rows += _by_round(name, figures)
    rows += _together("all, final", document)
    if "time" in document:
        rows += ["" for _ in rows[0]], *(_wide(row, len(rows[0])) for row in _learning(document["time"]))
    return rows


def _wide(row: list[str], width: int) -> list[str]:
    return [*row, *[""] * (width - len(row))]


def _people(document: Document) -> Table:
    rows = [_head("part")]
    for kind, parts in document["parts"].items():
        for name, figures in parts.items():
            rows += _by_round(f"{name}: {kind}", figures)
    rows += [[], ["mean (95 %)", "of", *_MEASURES.values(), "seconds a record"]]
    differ = "blind less side by side"
    for kind, found in [*document["labels"].items(), (differ, document["labels_differ"])]:
        seconds = document["seconds_a_record"].get("difference" if kind == differ else kind)
        if found and seconds:
            rows.append(
                [kind, str(found["f"]["of"]), *(_limits(found[key], 3) for key in _MEASURES), _limits(seconds, 1)]
            )
    if document["labels_differ"]:
        rows.append(["p, sign flips", "", *(_three(document["labels_differ"][key]["p"]) for key in _MEASURES)])
    rows += [[], ["two people, side by side", "pairs", *_AGREEMENT.values()]]
    for name, one in document["agreement_side_by_side"].items():
        rows.append([name, str(one["pairs"]), *(_three(one[key]) for key in _AGREEMENT)])
    return [_wide(row, len(rows[0])) for row in rows]


def _limits(one: Mapping[str, Any], digits: int) -> str:
    mean = f"{one['mean']:.{digits}f}"
    return mean if one["low"] is None else f"{mean} ({one['low']:.{digits}f} to {one['high']:.{digits}f})"


def _together(name: str, document: Document) -> Table:
    found = document.get("together")
    if not found:
        return []
    columns = [*_MEASURES, *_COUNTS, *_AGREEMENT]
    return [
        [name if kind == "mean" else "", kind, *(f"{found[key][kind]:.4g}" if key in found else "–" for key in columns)]
        for kind in ("mean", "deviation", "least", "most")
    ]


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


def _learning(document: Document) -> Table:
    rows = [["who", *_LEARNING.values()]]
    for name, one in [*document["people"].items(), ("together", document["together"])]:
        rows.append([name, *("–" if one[key] is None else f"{one[key]:.3g}" for key in _LEARNING)])
    rows.append([""] * len(rows[0]))
    rows.append(["minutes by position", *_bands(document["together"]["by_position"], None)])
    for name, one in [*document["people"].items(), ("together", document["together"])]:
        rows.append([name, *_bands(document["together"]["by_position"], one["by_position"])])
    return rows


def _bands(positions: Mapping[str, float], of: Mapping[str, float] | None) -> list[str]:
    """Means over as many stretches of positions as the table has columns; without figures their names."""
    last, columns = max(map(int, positions)), len(_LEARNING)
    step = max(1, -(-last // columns))
    cells = []
    for start in range(1, columns * step + 1, step):
        stretch = range(start, min(start + step - 1, last) + 1)
        if of is None:
            cells.append("" if not stretch else str(start) if len(stretch) == 1 else f"{start} to {stretch[-1]}")
        else:
            found = [of[str(place)] for place in stretch if str(place) in of]
            cells.append(f"{sum(found) / len(found):.2f}" if found else "")
    return cells


def _candidates(document: Document) -> Table:
    systems = list(hard.SOURCES)
    rows = [["set", "round", "precision", "recall", "F1", "discarded", *systems]]
    for name, one in document["datasets"].items():
        for number, after in enumerate(one["rounds"], start=1):
            scores = [f"{100 * after[key]:.1f}" for key in ("precision", "recall", "f1")]
            known = [f"{one['published'][system]:.1f}" if system in one["published"] else "" for system in systems]
            first = number == 1
            rows.append(
                [
                    name if first else "",
                    str(number),
                    *scores,
                    str(after["discarded"]),
                    *(known if first else ["", "", ""]),
                ]
            )
    rows.append([""] * len(rows[0]))
    heads = ["conditions, median (most)", "whole words or values", "largest share", "one is enough", "but not"]
    rows.append(["readability", "table", *heads, "other rows of the table", ""])
    for name, one in document["datasets"].items():
        for side, read in one["readability"].items():
            if read:
                rows.append([name, side, *_readability(read), ""])
    return rows


def _verdicts(document: Document) -> Table:
    said = list(next(iter(document["datasets"].values()))["bins"])
    ranks = [f"ranks {what}: verdict" for what in ("found", "found, of one record", "let through")]
    rows = [["set", *said, *(head for one in ranks for head in (one, "own rows", "bar"))]]
    for name, one in document["datasets"].items():
        cells = [_share(one["bins"][words]["share"], one["bins"][words]["interval"]) for words in said]
        rows.append([name, *cells, *_ranks(one)])
    for group, one in document["means"].items():
        cells = [_share(one["bins"][words]["share"], one["bins"][words]["spread"]) for words in said]
        rows.append([f"mean: {group}", *cells, *_ranks(one)])
        off = [round(100 * one[f"{key}off"]) for key in ("", "seldom_", "pilot_", "pilot_seldom_")]
        said_of = "off by {} points, in one table of ten by {}; with a pilot {} and {}".format(*off)
        rows.append([said_of, *[""] * (len(rows[0]) - 1)])
    return rows


def _prevalence(document: Document) -> Table:
    rows = [
        ["set", "pairs", "matches", '"match" right', "true pairs found", "right by round", "published kind: right, F"]
    ]
    for name, one in document["datasets"].items():
        shares = [_three(one["right"]), _three(one["found"]), ", ".join(map(_of, one["by_round"]))]
        beside = f"{_three(one['published']['precision'])}, {_three(one['published']['f_strict'])}"
        rows.append([name, f"{one['pairs']:,}", f"{one['matches']:,}", *shares, beside])
    return rows


def _of(round: Mapping[str, int]) -> str:
    return f"{round['right']} of {round['labelled']}"


def _three(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def _invariance(document: Document) -> Table:
    said = list(next(iter(document["datasets"].values()))["f1"])
    rows = [["set", *said, "moved by"]]
    for name, one in document["datasets"].items():
        rows.append([name, *(f"{100 * one['f1'][words]:.1f}" for words in said), f"{100 * one['moved']:.1f}"])
    return rows


def _share(share: float | None, spread: list[float] | None) -> str:
    return "–" if share is None or spread is None else f"{share:.2f} ({spread[0]:.2f} to {spread[1]:.2f})"


def _ranks(one: Mapping[str, Any]) -> list[str]:
    keys = ("verdict", "own rows", "bar")
    found = [one[kind].get(key) for kind in ("found_auc", "record_auc", "wrong_auc") for key in keys]
    return ["–" if value is None else f"{value:.3f}" for value in found]


def _readability(read: Mapping[str, float]) -> list[str]:
    return [
        f"{read['conditions_median']:g} ({read['conditions_most']:g})",
        f"{100 * read['whole_words_or_values']:.1f} %",
        f"{100 * read['largest_share']:.0f} %",
        f"{100 * read['one_is_enough']:.0f} %",
        f"{read['exclusions']:.2f}",
        f"{read['other_own_rows']:.2f}",
    ]


def _oracles(document: Document) -> Table:
    names = list(next(iter(document["strategies"].values())))
    rows = [["strategy", *(f"{name} F / strict" for name in names)]]
    for strategy, sets in document["strategies"].items():
        rows.append([strategy, *(f"{sets[name]['f']:.3f} / {sets[name]['f_strict']:.3f}" for name in names)])
    return rows


def _tokens(document: Document) -> Table:
    first = next(iter(document["datasets"].values()))
    rows = [
        [
            "set",
            "mean length",
            "published",
            "needles",
            "whole words",
            *(f"in {band['rows']} rows" for band in first["bands"]),
        ]
    ]
    for name, figures in document["datasets"].items():
        total = sum(band["asked"] for band in figures["bands"]) or 1
        published = PUBLISHED_TOKEN_LENGTH.get(name)
        rows.append(
            [
                name,
                f"{figures['mean_length']:.2f}",
                "" if published is None else f"{published:.2f}",
                str(figures["asked"]),
                str(figures["asked_as_whole_words"]),
                *(f"{100 * band['asked'] / total:.0f} %" for band in figures["bands"]),
            ]
        )
    return rows


def _records(document: Document) -> Table:
    rows = [
        _cells(
            "set | entities | published | matches | published | selected | published | pairs | true pairs | "
            "average length a / b / both | published"
        )
    ]
    for name, one in document["datasets"].items():
        published = PUBLISHED_SETS.get(name)
        entities, matches, selected, length = published or ("", "", "", None)
        chosen = one["selected"]
        lengths = [*one["average_length"], one["average_length_of_both"]]
        rows.append(
            [
                name,
                "+".join(map(str, one["entities"])),
                entities,
                str(one["matches"]),
                str(matches),
                "+".join(map(str, chosen["entities"])),
                selected,
                str(chosen["pairs"]),
                str(chosen["true_pairs"]),
                " / ".join(f"{value:.0f}" for value in lengths),
                "" if length is None else f"{length:g}",
            ]
        )
    empty = [""] * (len(rows[0]) - 3)
    rows.append([""] * len(rows[0]))
    rows.append(["set", "attributes used", "published", *empty])
    for name, one in document["datasets"].items():
        rows.append([name, ", ".join(one["attributes"]), PUBLISHED_ATTRIBUTES.get(name, ""), *empty])
    return rows


def _missing(document: Document) -> Table:
    rows = [["set", "attribute", "a %", "b %", "both %", "published %"]]
    for name, attributes in document["datasets"].items():
        for attribute, figures in attributes.items():
            published = PUBLISHED_MISSING.get(attribute) if name == "febrl" else None
            shown = [f"{figures[side]:.1f}" for side in ("a", "b", "both")]
            rows.append([name, attribute, *shown, "" if published is None else f"{published:.1f}"])
    return rows


def _communication(document: Document) -> Table:
    rows = [
        _cells(
            "characters of a record | packed engine, is_in alone, KB | the same, KB a character | "
            "packed engine, default agreement, KB | gates engine, KB | published, KB"
        )
    ]
    keys = ("packed_bytes", "packed_bytes_per_character", "default_bytes", "gates_bytes", "published_bytes")
    for row in document["rows"]:
        sizes = [row[key] for key in keys]
        rows.append([str(row["length"]), *("not run" if size is None else f"{size / 1024:,.1f}" for size in sizes)])
    known = document["packed_keys"]
    if known:
        rows.append([""] * len(rows[0]))
        rows.append(["keys of one asker and round", "MB", *[""] * (len(rows[0]) - 2)])
        for name, key in (("is_in alone", "public_bytes"), ("default agreement", "default_agreement_bytes")):
            rows.append([f"packed engine, {name}", f"{known[key] / 1e6:.1f}", *[""] * (len(rows[0]) - 2)])
    return rows


def _computation(document: Document) -> Table:
    rows = [
        _cells(
            "characters | questions | agreement | packed engine, s (spread) | published circuit here, s | "
            "gates, needle in clear, s | published circuit / packed (spread) | "
            "with keys, encrypting and opening | published, serial, s | "
            "a round, both directions, MB"
        )
    ]
    for row in document["rows"]:
        cells = [row[key] for key in ("gates_serial_seconds", "gates_clear_needle_seconds")]
        published, moved = row["published_seconds"], row["bytes"]
        rows.append(
            [
                str(row["length"]),
                row["shape"],
                row["agreement"],
                _with_spread(row["packed_seconds"], row["packed_spread"]),
                *("not run" if cell is None else _readable(cell) for cell in cells),
                _with_spread(row["ratio"], row["ratio_spread"]),
                "not run" if row["ratio_of_all"] is None else _readable(row["ratio_of_all"]),
                "" if published is None else _readable(published),
                "not run" if moved is None else f"{2 * sum(moved.values()) / 1e6:.1f}",
            ]
        )
    return rows + _parallel(document, len(rows[0]))


def _parallel(document: Document, width: int) -> Table:
    """How many times faster the published circuit is in parallel than serial, beside what is published."""
    measured = document.get("parallel")
    if not measured:
        return []
    heads = _cells(
        "the published circuit in parallel | times faster by the clock (spread) | "
        "with a core for each process (spread) | at most, by gate count | at most for 6 in 148 characters"
    )
    rows = [heads]
    for one in measured:
        cores = f"{one['processes']} processes on {one['cores']} cores"
        here, own = (_with_spread(one[key], one[f"{key}_spread"]) for key in ("factor_here", "factor_own_cores"))
        rows.append([cores, here, own, f"{one['most_by_gates']:g}", f"{one['most_by_gates_6_in_148']:g}"])
    rows.append(["published", document["published_parallel"], "", "", ""])
    return [[""] * width, *([*row, *[""] * (width - len(row))] for row in rows)]


def _with_spread(middle: float | None, spread: list[float] | None) -> str:
    if middle is None or spread is None:
        return "not run"
    return f"{_readable(middle)} ({_readable(spread[0])} to {_readable(spread[1])})"


def _estimates(document: Document) -> Table:
    def three(values: list[float]) -> str:
        return " / ".join(f"{one:.3f}" for one in values) or "–"

    rows = [["set", "linked of listed, lacking", "sample", "held P / R / F", "bias", "half width", "draws"]]
    for name, one in document["datasets"].items():
        shown = [name, f"{one['linked']:,} of {one['listed']:,}, {one['lacking']:,}"]
        for sample, cell in one["cells"].items():
            bias = "" if sample.endswith("band") else three(cell["bias"])
            rows.append([*shown, sample, three(cell["held"]), bias, three(cell["half_width"]), str(cell["said"])])
            shown = ["", ""]
    return rows


TABLES: Mapping[str, Callable[[Document], Table]] = MappingProxyType(
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
"""What each experiment's table is."""
TITLES = {
    "quality": "Labelling quality by round",
    "quality-published": "Labelling quality with the published text preparation",
    "candidates": "Hard pairs: what blocking leaves over",
    "verdicts": "What verdicts are worth",
    "prevalence": "Labels where matches are rare",
    "invariance": "The same tables written otherwise",
    "oracles": "Strategies side by side (final)",
    "tokens": "What is asked",
    "records": "The sets, and how long their records are",
    "missing": "Missing values",
    "learning": "Time and learning",
    "communication": "Bytes of an encrypted record",
    "computation": "Seconds of one round, 50 by 50 records",
}


def _readable(number: float) -> str:
    """A number for a table: never with a power of ten."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.6g}"


def table_of(name: str, document: Document) -> list[str]:
    """An experiment's document as lines of aligned columns."""
    rows = TABLES[name](document)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
