"""What can be wrong with a message. The `code` of an error is part of the interface: it travels over HTTP and is what
test vectors name.

Errors say whether it can help to send the same message again later (`again`): the sender then keeps it in its outbox
and tries once more.
"""

from __future__ import annotations

from typing import ClassVar

from blindlabel.errors import OutsideError


class ProtocolError(OutsideError):
    """Another party's message cannot be accepted."""

    code: ClassVar[str] = "refused"


class MalformedMessage(ProtocolError):
    """Bytes that are no message: damaged, too large, not in canonical form, or not of the shape its kind asks for."""

    code = "malformed"


class UnknownVersion(ProtocolError):
    """A message of a version that this program does not speak."""

    code = "version"


class WrongStudy(ProtocolError):
    """A message that names another agreement."""

    code = "study"


class WrongSender(ProtocolError):
    """A message from somebody who is no party of the study, or may not send this kind, or whose signature is wrong."""

    code = "sender"


class WrongReceiver(ProtocolError):
    """A message that is meant for somebody else."""

    code = "receiver"


class WrongRound(ProtocolError):
    """A message for a round that is over, or of a kind that belongs to no round."""

    code = "round"


class Replayed(ProtocolError):
    """A second, different message where there can be only one; or an old one under a new number."""

    code = "replayed"


class TooEarly(ProtocolError):
    """A message that needs another one first. Send it again later."""

    code = "early"


class Forked(ProtocolError):
    """The coordinator's messages do not continue the ones before: it has forgotten some, as after restoring an old
    backup.
    """

    code = "history"


class TwoLives(ProtocolError):
    """Two copies of one workspace, or of the coordinator's database, speak. If one of them is stopped, this can
    go on.
    """

    code = "life"


def two_copies(owner: str) -> str:
    """What to tell a life that does not follow the one that was heard last."""
    return (
        f"Nothing shows that the copy of the workspace of {owner} that was heard last has ended. Was a backup restored,"
        " the folder or the machine copied, or the machine started anew? If another copy runs, stop one of the two;"
        " nothing is done twice meanwhile. This one goes on by itself when the other has been silent for half a minute."
    )


class NotFitting(ProtocolError):
    """A message whose content contradicts what is known: wrong counts, unknown owners, keys that differ."""

    code = "content"


_KINDS: list[type[ProtocolError]] = [ProtocolError, *ProtocolError.__subclasses__()]
ALL = {kind.code: kind for kind in _KINDS}
"""Every error by its code, so that a refusal that came over the wire becomes the same error again."""
