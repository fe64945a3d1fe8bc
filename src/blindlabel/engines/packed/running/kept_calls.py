"""The assist calls of an evaluation, kept beside its finished answers, so that one that was stopped does not make them
again: where a call is a file carried by hand, each is a journey.

A way asks for a call by its place (batch, group, part, number), first for the *seed* of its pad and then with the
request. Both are written down before anything leaves. When the evaluation begins again, a call that was replied to is
not made, and one that was on its way goes out with the very bytes it had: under one pad only one request ever leaves.
What is made anew in between has the same values in it, so the kept reply fits. Seeds are as secret as the questions;
all of it is removed when the answers of the group are finished.

Without a journal a seed is fresh and a call is a call.
"""

from __future__ import annotations

import secrets
import struct
from dataclasses import dataclass

from blindlabel.engines.interface import Assist
from blindlabel.engines.packed.running.finished import FinishedAnswers

_PLACE = struct.Struct("<4I")
SEED_BYTES = 32


def placed(assist: Assist, batch: int) -> Assist:
    """What a way of a batch calls: the batch's number stands in front of the rest of the place."""
    return lambda content: assist(batch.to_bytes(4, "little") + content)


@dataclass(frozen=True)
class KeptCalls:
    """Takes calls with their places; hands on those that have to be made."""

    assist: Assist
    journal: FinishedAnswers | None

    def __call__(self, content: bytes) -> bytes:
        """The seed of a place, where nothing follows it; else the reply to the request that follows."""
        place, request = _PLACE.unpack_from(content), content[_PLACE.size :]
        if self.journal is None:
            return self.assist(request) if request else secrets.token_bytes(SEED_BYTES)
        if not request:
            return self._kept(place, "seed") or self._keep(place, "seed", secrets.token_bytes(SEED_BYTES))
        if (reply := self._kept(place, "reply")) is not None:
            return reply
        request = self._kept(place, "request") or self._keep(place, "request", request)
        return self._keep(place, "reply", self.assist(request))

    def _kept(self, place: tuple[int, ...], what: str) -> bytes | None:
        assert self.journal is not None
        return self.journal.kept_of_call(place, what)

    def _keep(self, place: tuple[int, ...], what: str, content: bytes) -> bytes:
        assert self.journal is not None
        self.journal.keep_of_call(place, what, content)
        return content
