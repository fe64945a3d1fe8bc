"""`blindlabel bench server`: a coordinator under load on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say


def server(
    studies: Annotated[int, typer.Option(min=1, max=100, help="Studies at once.")] = 20,
    owners: Annotated[int, typer.Option(min=2, max=5, help="Owners of each study.")] = 2,
    megabytes: Annotated[int, typer.Option(min=1, max=512, help="Size of each owner's large upload.")] = 24,
    slow: Annotated[int, typer.Option(min=0, max=200, help="Clients that send a byte now and then.")] = 20,
    json: JsonFlag = False,
) -> None:
    """Load a coordinator over HTTP: studies, large, broken-off and slow uploads; every label is checked."""
    from blindlabel.errors import OutsideError
    from blindlabel_lab.bench.server import Load, measure

    say(f"{studies} studies with {studies * owners} owners at once; this takes a few minutes.")
    found = measure(Load(studies=studies, owners=owners, upload_megabytes=megabytes, slow_clients=slow))
    if json:
        result_json(found.to_json())
    else:
        result(
            f"{found.studies} studies, {found.owners} owners, {found.requests:,} requests in {found.seconds} s:"
            f" {found.statuses}"
        )
        result(f"{found.labels} labels, {found.wrong_labels} wrong")
        result(f"{found.foreign_refused} requests into other studies refused, {found.foreign_accepted} taken")
        result(
            f"{found.uploaded_megabytes:.0f} MB uploaded, {found.aborted_uploads} uploads broken off,"
            f" {found.slow_clients} slow clients"
        )
        result(f"server memory {found.server_megabytes_before} MB before, {found.server_megabytes_peak} MB at most")
        result(
            f"health in {found.health_milliseconds_median} ms (median), {found.health_milliseconds_worst} ms (worst)"
        )
    if not found.is_good:
        raise OutsideError("The coordinator did not hold: " + "; ".join(found.errors[:5] or ["see the figures"]))
