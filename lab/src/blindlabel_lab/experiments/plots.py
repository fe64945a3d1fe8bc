"""The figures, as PNG and SVG, from the experiments' documents. Needs matplotlib (the extra `experiments`)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blindlabel.errors import InputError
from blindlabel_lab.experiments.published import (
    PUBLISHED_ABOVE,
    PUBLISHED_MISSING,
    PUBLISHED_SETS,
    PUBLISHED_TOKEN_LENGTH,
)

Document = Mapping[str, Any]


def _pyplot() -> Any:
    try:
        import matplotlib  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise InputError(
            "Plots need matplotlib: pip install blindlabel-lab, or leave them out with --no-plots."
        ) from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "blindlabel"  # the same picture is the same file
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def plot(name: str, document: Document, folder: Path, prefix: str = "") -> list[Path]:
    """The figures of one experiment; the files written, with something before their usual names."""
    if name not in PLOTS:
        return []
    plt = _pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for part, figure in PLOTS[name](plt, document):
        for kind in ("png", "svg"):
            path = folder / f"{prefix}{part}.{kind}"
            figure.savefig(path, dpi=120, bbox_inches="tight", metadata={"Date": None} if kind == "svg" else None)
            paths.append(path)
        plt.close(figure)
    return paths


def _grid(plt: Any, count: int) -> tuple[Any, list[Any]]:
    columns = min(3, max(1, count))
    rows = -(-count // columns) or 1
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.0 * rows), squeeze=False)
    flat = [axis for row in axes for axis in row]
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat


def _title(name: str) -> str:
    """A set's name, or a study's, which may be a long path."""
    return "\n".join(textwrap.wrap(name, 38))


_STYLES = {
    "precision": ("-o", "precision"),
    "recall": ("-s", "recall, over agreed pairs"),
    "f": ("-^", "F, over agreed pairs"),
    "f_strict": ("--v", "F, strict"),
}


def _quality(plt: Any, document: Document) -> list[tuple[str, Any]]:
    return _rounds(plt, document["datasets"], ("quality", "agreement"))


def _rounds(plt: Any, runs: Mapping[str, Any], names: tuple[str, str]) -> list[tuple[str, Any]]:
    """The publication's figures by round: precision, recall and F; agreed pairs, and records to annotate."""
    performance, axes = _grid(plt, len(runs))
    known = [one["f_strict"] for run in runs.values() for one in run["rounds"] if one["f_strict"] is not None]
    for axis, (name, figures) in zip(axes, runs.items()):
        rounds = range(1, len(figures["rounds"]) + 1)
        spread = figures.get("deviations")
        for measure, (style, label) in _STYLES.items():
            values = [math.nan if one[measure] is None else one[measure] for one in figures["rounds"]]
            errors = [one[measure] for one in spread] if spread else None
            axis.errorbar(rounds, values, yerr=errors, fmt=style, label=label, capsize=2, elinewidth=0.8)
        if name in PUBLISHED_ABOVE:
            axis.axhline(0.9, color="black", linestyle=":", linewidth=1)
            axis.text(1, 0.9, "published: F above this", fontsize=7, va="bottom")
        lowest = max(0.0, min(0.85, *known) - 0.06)
        axis.set(title=_title(name + _experts(figures)), xlabel="round", xticks=list(rounds), ylim=(lowest, 1.02))
        axis.set_ylabel("score" if lowest == 0 else f"score (axis begins at {lowest:.2f})")
    agreement, others = _grid(plt, len(runs))
    handles: list[Any] = []
    for axis, (name, figures) in zip(others, runs.items()):
        if figures["rounds"][0]["agreed"] is not None:
            handles = _agreed(axis, figures["rounds"], figures.get("deviations"))
        axis.set_title(_title(name + _experts(figures)))
    performance.tight_layout()
    agreement.tight_layout()
    _legend(performance, axes[0])
    _legend(agreement, None, handles)
    return [(names[0], performance), (names[1], agreement)]


def _experts(figures: Mapping[str, Any]) -> str:
    """Who wrote the questions, where several samples were drawn for a program in place of people."""
    return f" (simulated experts, n = {figures['samples']})" if "deviations" in figures else ""


def _agreed(
    axis: Any, rounds: Sequence[Mapping[str, float]], spread: Sequence[Mapping[str, float]] | None = None
) -> list[Any]:
    """Agreed pairs and all pairs on the left, the records annotated in each round on the right, as published."""
    numbers = range(1, len(rounds) + 1)
    annotated = [rounds[0]["records"], *(one["records_to_ask"] for one in rounds[:-1])]
    errors = None if spread is None else [spread[0]["records"], *(one["records_to_ask"] for one in spread[:-1])]
    right = axis.twinx()
    bars = right.bar(
        numbers, annotated, yerr=errors, color="plum", ecolor="grey", width=0.5, label="records to annotate (right)"
    )
    right.set(ylabel="records of both owners", ylim=(0, 3 * max(1.0, *annotated)))
    right.set_yticks([tick for tick in right.get_yticks() if tick <= 1.1 * max(annotated)])
    axis.set_zorder(right.get_zorder() + 1)
    axis.patch.set_visible(False)
    total = axis.axhline(rounds[0]["pairs"], color="grey", linestyle="--", label="all pairs")
    errors = None if spread is None else [one["agreed"] for one in spread]
    agreed = [one["agreed"] for one in rounds]
    line = axis.errorbar(numbers, agreed, yerr=errors, fmt="-og", label="agreed pairs", capsize=2, elinewidth=0.8)
    least = min(one["agreed"] for one in rounds)
    room = max(1.0, rounds[0]["pairs"] - least)
    below = max(0.0, least - 2 * room)
    axis.set(xlabel="round", xticks=list(numbers), ylim=(below, rounds[0]["pairs"] + room))
    axis.set_ylabel("pairs" if below == 0 else f"pairs (axis begins at {below:,.0f})")
    return [total, line, bars]


def _legend(figure: Any, axis: Any, handles: Sequence[Any] | None = None) -> None:
    """One legend for all panels, below them: of one panel's lines, or of those given."""
    shown = axis.get_legend_handles_labels()[0] if handles is None else handles
    if shown:
        labels = [one.get_label() for one in shown]
        columns = min(len(labels), max(2, int(figure.get_size_inches()[0] // 2.6)))
        figure.legend(shown, labels, loc="upper center", ncol=columns, bbox_to_anchor=(0.5, 0.0))


def _studies(plt: Any, document: Document) -> list[tuple[str, Any]]:
    kind = "replay" if "engine" in document else "score"
    return _rounds(plt, document["studies"], (kind, f"{kind}-agreement"))


def _learning(plt: Any, document: Document) -> list[tuple[str, Any]]:
    figure, (time, sources) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1))
    for name, one in document["people"].items():
        first = [record for record in one["records"] if record["round"] == 1]
        time.plot([r["position"] for r in first], [r["minutes"] for r in first], "o", markersize=3, label=name)
    mean = document["together"]["by_position"]
    time.plot(list(map(int, mean)), list(mean.values()), "-k", label="mean")
    time.axhline(1.0, color="grey", linestyle="--", label="published: under a minute")
    time.set(xlabel="position of the record in round 1", ylabel="minutes a record", ylim=(0, None))
    time.legend(fontsize="small")
    kinds = {"suggestions_taken": "suggestion taken", "suggestions_changed": "suggestion changed", "own": "own"}
    names, below = list(document["people"]), [0.0] * len(document["people"])
    for key, label in kinds.items():
        counts = [document["people"][name][key] for name in names]
        sources.bar(names, counts, 0.6, bottom=below, label=label)
        below = [one + more for one, more in zip(below, counts)]
    sources.set(ylabel="questions of all rounds")
    sources.tick_params(axis="x", labelrotation=20)
    sources.legend(fontsize="small")
    figure.tight_layout()
    return [("learning", figure)]


def _verdicts(plt: Any, document: Document) -> list[tuple[str, Any]]:
    sets = document["datasets"]
    figure, axes = _grid(plt, len(sets))
    for axis, (name, one) in zip(axes, sets.items()):
        known = [(place, each) for place, each in enumerate(one["bins"].values()) if each["questions"]]
        places, shares = [place for place, _ in known], [each["share"] for _, each in known]
        errors = [[abs(each["interval"][edge] - each["share"]) for _, each in known] for edge in (0, 1)]
        axis.errorbar(places, shares, yerr=errors, fmt="o-")
        ticks = [words.replace("about ", "") for words in one["bins"]]
        axis.set(title=_title(name), ylabel="really found", ylim=(0, 1.02), xticks=range(len(ticks)), xticklabels=ticks)
    figure.tight_layout()
    return [("verdicts", figure)]


def _oracles(plt: Any, document: Document) -> list[tuple[str, Any]]:
    strategies = document["strategies"]
    names = list(next(iter(strategies.values())))
    figure, axis = plt.subplots(figsize=(2 + 2 * len(names), 3.6))
    width = 0.8 / len(strategies)
    for place, (strategy, sets) in enumerate(strategies.items()):
        axis.bar(
            [i + place * width for i in range(len(names))],
            [sets[name]["f_strict"] for name in names],
            width,
            yerr=[sets[name]["spread"] for name in names],
            label=strategy,
        )
    axis.set(
        xticks=[i + 0.4 - width / 2 for i in range(len(names))], xticklabels=names, ylabel="strict F", ylim=(0, 1.02)
    )
    axis.set_title(f"simulated experts, n = {document['samples']}")
    figure.tight_layout()
    _legend(figure, axis)
    return [("oracles", figure)]


_LONGEST = 16
"""Of the publication's needles; whole values that are compared with an attribute may be longer."""


def _tokens(plt: Any, document: Document) -> list[tuple[str, Any]]:
    sets = document["datasets"]
    figure, axis = plt.subplots(figsize=(9, 4))
    for name, figures in sets.items():
        counts = {int(length): count for length, count in figures["lengths"].items()}
        longer = sum(count for length, count in counts.items() if length > _LONGEST)
        shown = [*(counts.get(length, 0) for length in range(1, _LONGEST + 1)), longer]
        published = PUBLISHED_TOKEN_LENGTH.get(name)
        label = f"{name}: {figures['mean_length']:.2f}" + (f" (published {published:.2f})" if published else "")
        shares = [100 * count / max(1, figures["asked"]) for count in shown]
        (line,) = axis.plot(range(1, _LONGEST + 2), shares, "-o", markersize=4, label=label)
        axis.axvline(figures["mean_length"], color=line.get_color(), linestyle="--", linewidth=0.8)
    axis.set(xlabel="characters of what is looked for", ylabel="% of all", xticks=range(1, _LONGEST + 2))
    axis.set_xticklabels([*map(str, range(1, _LONGEST + 1)), "more"])
    axis.legend(fontsize="small", title="on average")
    return [("tokens", figure), ("importance", _importance(plt, sets))]


def _importance(plt: Any, sets: Mapping[str, Any]) -> Any:
    """Every token by rank: how often it stands in the tables, and how often it was asked."""
    figure, axes = _grid(plt, len(sets))
    for axis, (name, figures) in zip(axes, sets.items()):
        importance = figures["importance"]
        axis.plot(*zip(*importance["occurrences"]), color="grey", label="occurrences in both tables")
        if importance["asked"]:
            axis.plot(*zip(*importance["asked"]), ".", color="tab:red", markersize=3, label="times asked")
        axis.set(title=name, xlabel="token, by rank", ylabel="count", xscale="log", yscale="log")
    figure.tight_layout()
    _legend(figure, axes[0])
    return figure


def _records(plt: Any, document: Document) -> list[tuple[str, Any]]:
    """Records by length in steps, as published, with the average of both tables."""
    figure, axis = plt.subplots(figsize=(9, 4))
    for name, one in document["datasets"].items():
        published = PUBLISHED_SETS[name][3] if name in PUBLISHED_SETS else None
        mean = f"{name}: {one['average_length_of_both']:.0f}" + (f" (published {published:g})" if published else "")
        total = sum(one["lengths"].values()) or 1
        starts = list(map(int, one["lengths"]))
        (line,) = axis.step(
            starts, [100 * count / total for count in one["lengths"].values()], where="post", label=mean
        )
        axis.axvline(one["average_length_of_both"], color=line.get_color(), linestyle=":")
    ticks = range(0, max(map(int, next(iter(document["datasets"].values()))["lengths"])) + 1, 2 * document["step"])
    axis.set(xlabel=f"characters of a record, in steps of {document['step']}; the last step is all that is longer")
    axis.set(ylabel="% of records", xticks=ticks)
    axis.legend(fontsize="small", title="characters on average")
    return [("records", figure)]


def _missing(plt: Any, document: Document) -> list[tuple[str, Any]]:
    sets = {name: one for name, one in document["datasets"].items() if any(f["both"] >= 0.05 for f in one.values())}
    if not sets:
        return []
    figure, axes = _grid(plt, len(sets))
    handles: dict[str, Any] = {}
    for axis, (name, attributes) in zip(axes, sets.items()):
        bars = {"here": {attribute: figures["both"] for attribute, figures in attributes.items()}}
        if name == "febrl":
            bars["published"] = {key: value for key, value in PUBLISHED_MISSING.items() if key in attributes}
        height = 0.8 / len(bars)
        for number, (label, values) in enumerate(bars.items()):
            places = [list(attributes).index(attribute) + number * height for attribute in values]
            colour = ("tab:blue", "tab:olive")[number]
            handles[label] = axis.barh(places, list(values.values()), height, label=label, color=colour)
        middles = [place + (len(bars) - 1) * height / 2 for place in range(len(attributes))]
        axis.set(title=name, xlabel="% missing", xlim=(0, 100), yticks=middles, yticklabels=list(attributes))
        axis.invert_yaxis()
    figure.tight_layout()
    _legend(figure, None, list(handles.values()))
    return [("missing", figure)]


def _communication(plt: Any, document: Document) -> list[tuple[str, Any]]:
    lines = {
        "published_bytes": "published (32 KB a character)",
        "gates_bytes": "gates engine",
        "default_bytes": "packed engine, default agreement",
        "packed_bytes": "packed engine, is_in alone",
        "plain_bytes": "clear text",
    }
    figure, axis = plt.subplots(figsize=(8, 4.2))
    for measure, label in lines.items():
        points = [(row["length"], row[measure]) for row in document["rows"] if row[measure] is not None]
        if points:
            axis.plot(*zip(*points), "-o", label=label)
    axis.set(xlabel="characters of a record", ylabel="bytes a record", yscale="log")
    figure.tight_layout()
    _legend(figure, axis)
    return [("communication", figure)]


def _computation(plt: Any, document: Document) -> list[tuple[str, Any]]:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    for axis, shape in zip(axes, ("one needle", "five, one NOT")):
        least = [row for row in document["rows"] if row["shape"] == shape and row["agreement"] == "is_in alone"]
        full = [row for row in document["rows"] if row["shape"] == shape and row["agreement"] != "is_in alone"]
        for rows, measure, style, colour, label in (
            (least, "published_seconds", "-o", "tab:blue", "published, serial mode"),
            (least, "gates_serial_seconds", "-s", "tab:orange", "published circuit here (by gate count)"),
            (least, "gates_clear_needle_seconds", "-^", "tab:green", "needle in clear, gates (by gate count)"),
            (full, "packed_seconds", "--v", "tab:purple", "packed, default agreement"),
            (least, "packed_seconds", "-v", "tab:red", "packed, is_in alone"),
        ):
            points = [(row["length"], row[measure]) for row in rows if row.get(measure) is not None]
            if points:
                axis.plot(*zip(*points), style, color=colour, label=label)
        below = [(row["length"], row["published_seconds"] / 3) for row in least if row["published_seconds"]]
        if below:
            axis.plot(*zip(*below), ":o", color="tab:blue", label="published, parallel mode: below this")
        axis.set(title=f"{shape}, 2,500 pairs", xlabel="characters of a record", ylabel="seconds", yscale="log")
    figure.tight_layout()
    _legend(figure, axes[0])
    return [("computation", figure)]


PLOTS: Mapping[str, Callable[[Any, Document], list[tuple[str, Any]]]] = MappingProxyType(
    {
        "quality": _quality,
        "score": _studies,
        "replay": _studies,
        "learning": _learning,
        "records": _records,
        "verdicts": _verdicts,
        "oracles": _oracles,
        "tokens": _tokens,
        "missing": _missing,
        "communication": _communication,
        "computation": _computation,
    }
)
"""What each experiment's figures are."""
