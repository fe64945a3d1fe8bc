"""The two kinds of failure that a person can do something about. Their message is a sentence for that person.

The command line turns `InputError` into exit code 1 and `OutsideError` into exit code 3; any other exception is a bug
of ours.
"""

from __future__ import annotations

import re


class InputError(Exception):
    """What the user gave cannot be used: a file, a question, an agreement. The message says what is wrong and how to
    fix it.
    """


class OutsideError(Exception):
    """Something outside failed: the network, a disk, another party. Trying again may help."""


def reason(error: BaseException) -> str:
    """Why something failed, as a part of a sentence: without the system's number of it, and without a full stop."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return re.sub(r"^\[Errno -?\d+\] ", "", said).rstrip(".") or type(error).__name__
