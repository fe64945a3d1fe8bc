"""The agreement that a measurement is of. Every benchmark takes it in one way: `default`, what a study has that says
nothing; `least`, whole records in lower case with is_in alone and room for just these questions; or a file. All of them
keep the account of bits that their study would have, so they get its ring.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from blindlabel.protocol.agreement import Agreement

DEFAULT, LEAST = "default", "least"
SAID = "Measure this agreement: default, least (is_in on lower case and room for just these questions), or a file."
AgreementOption = Annotated[str, typer.Option("--agreement", help=SAID)]


def agreed(said: str, records: int, length: int, room: Mapping[str, object], *, lower: bool = True) -> Agreement:
    """The agreement for this many records of this length; a file has its own length. `room` is what the questions
    take: profile, exclusions and exceptions. The least is in lower case alone, or in both.
    """
    from blindlabel.cli.stores import read_agreement  # noqa: PLC0415 - the commands' help needs none of it
    from blindlabel.protocol import agreement as agreements  # noqa: PLC0415

    if said not in (DEFAULT, LEAST):
        given = read_agreement(Path(said))
        return given.model_copy(update={"sampling": given.sampling.model_copy(update={"records": records})})
    encoding: dict[str, object] = {"record_length": length}
    preparation: dict[str, object] = {}
    if said == LEAST:
        encoding |= {"attributes": False, "functions": ["is_in"], **room}
        preparation["steps"] = ["nfkc", "lower"] if lower else ["nfkc"]
    return agreements.new(
        said, ("anna", "berta"), ("text",),
        encoding=encoding, sampling={"records": records}, preparation=preparation,
    )  # fmt: skip
