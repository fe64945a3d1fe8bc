"""The calls for assistance that one evaluation makes: how many, in which order, and how large each is.

All of it follows from the agreement and from how many questions are asked of how many records, never from what they
say. So both sides know the schedule beforehand and hold each other to it (`protocol.assisting`). A call says where it
belongs: its *strand* and its *step* there.

- Questions are answered in groups over batches of records. A group has `units` strands that do not depend on each other
  and may be made at the same time, and one last strand, which begins when those are through.
- Within a strand the steps follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AssistCall:
    """One call, as its size shows it: what it asks for, and bytes of request and reply."""

    kind: str
    number: int
    request: int
    reply: int


@dataclass(frozen=True)
class AssistPlace:
    """Where a call belongs."""

    strand: int
    step: int


@dataclass(frozen=True)
class AssistSchedule:
    """All calls of one evaluation."""

    groups: int = 0
    """Over all batches."""
    units: int = 0
    """Strands of a group before its last one."""
    unit: tuple[AssistCall, ...] = ()
    """The calls of such a strand."""
    last: tuple[AssistCall, ...] = ()
    """The calls of the last strand."""
    beginnings: int = 4
    """How often an evaluation may be begun: once, and after crashes again what was not finished."""

    @property
    def calls(self) -> int:
        """How many there are."""
        return self.groups * (self.units * len(self.unit) + len(self.last))

    @property
    def strands(self) -> int:
        """How many there are."""
        return self.groups * (self.units + 1)

    def strand(self, group: int, unit: int) -> int:
        """The number of a strand; the last of a group comes after its units."""
        return group * (self.units + 1) + unit

    def is_last(self, strand: int) -> bool:
        """Whether it is the last strand of its group."""
        return strand % (self.units + 1) == self.units

    def steps(self, strand: int) -> tuple[AssistCall, ...]:
        """The calls of a strand, in their order."""
        return self.last if self.is_last(strand) else self.unit

    def group_of(self, strand: int) -> range:
        """The strands of the same group, the last one included."""
        first = strand - strand % (self.units + 1)
        return range(first, first + self.units + 1)


NO_CALLS = AssistSchedule()
"""Of engines and agreements that need no assistance."""
