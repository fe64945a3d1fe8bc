"""How an experiment's result is kept and shown: document and figures in the results folder, a table or JSON here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blindlabel.cli.output import progress_bar, result, result_json, say

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Advance


def run_and_show(
    name: str, results: Path, plots: bool, json: bool, work: Callable[[Any, Advance], dict[str, Any]]
) -> dict[str, Any]:
    """Run one experiment with progress, keep its document and figures, and show it."""
    from blindlabel_lab.experiments.plots import plot
    from blindlabel_lab.experiments.results import Results
    from blindlabel_lab.experiments.tables import table_of

    folder = Results(results)
    with progress_bar() as bar:
        task = bar.add_task(name, total=1.0)
        document = work(folder, lambda what, share: bar.update(task, description=what, completed=share))
    written = [folder.document(name, document)]
    if plots:
        written += plot(name, document, results)
    if json:
        result_json(document)
    else:
        for line in table_of(name, document):
            result(line)
    say(f"Written: {', '.join(map(str, written))}")
    return document
