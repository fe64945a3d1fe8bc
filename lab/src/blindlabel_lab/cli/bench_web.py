"""`blindlabel bench web`: how quick the owner's app is with many records."""

from __future__ import annotations

from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say


def web(
    records: Annotated[int, typer.Option("--records", min=20, max=20_000, help="Sampled records.")] = 5000,
    json: JsonFlag = False,
) -> None:
    """Measure opening a record, checking while typing and saving; in Python, and in a browser where there is one."""
    from blindlabel_lab.bench.web import measure

    figures = measure(records)
    if json:
        result_json(figures.to_json())
        return
    say(figures.machine)
    result(f"{figures.records:,} records, medians in milliseconds; the target is {figures.target_ms:.0f} each.")
    result(f"  list {figures.list_ms}, check {figures.check_ms}, verdict {figures.verdict_ms}, save {figures.save_ms}")
    result(f"  suggest {figures.suggest_ms}")
    if figures.browser is None:
        say("No browser here, so nothing was measured in one.")
    else:
        result(
            "  in the browser: "
            + ", ".join(f"{name.removesuffix('_ms')} {value}" for name, value in figures.browser.items())
        )
