"""The two kinds of failure that a person can do something about. Their message is a sentence for that person.

The command line turns `InputError` into exit code 1 and `OutsideError` into exit code 3; any other exception is a bug
of ours.
"""

from __future__ import annotations


class InputError(Exception):
    """What the user gave cannot be used: a file, a question, an agreement. The message says what is wrong and what to
    do.
    """


class OutsideError(Exception):
    """Something outside failed: the network, a disk, another party. Trying again may help."""
