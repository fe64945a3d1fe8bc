"""What a field of a message can tell its receiver: declared beside the field, summed up by `account`.

A field declares `Tells`, a number of bits as a function of how many records are open, or `Nothing`, with the reason. A
field whose type is a shape of its own declares nothing: the fields of that shape do. `declared` finds what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from blindlabel.protocol.shape import Shape


@dataclass(frozen=True)
class Sizes:
    """What the bits of a message depend on, for one pairing; its receiver has `own` open records."""

    own: int
    others: int
    released: float = 0.0
    """Bits of the labels that the agreement releases."""
    offers: int = 0
    """Blocking keys that an owner offers another."""
    choice: float = 0.0
    """Bits that say which of them were chosen."""
    outcome: float = 0.0
    """Bits of one answer."""
    listed: float = 0.0
    """Bits that say which rows were drawn, if they were drawn from a linkage's list; otherwise they are random."""


@dataclass(frozen=True)
class Tells:
    """A field that tells this many bits at most."""

    bits: Callable[[Sizes], float]
    about: str


@dataclass(frozen=True)
class Nothing:
    """A field that tells nothing."""

    because: str


KNOWN = Nothing("it follows from the agreement and from messages before")
CHANCE = Nothing("it was drawn by chance, before anything was asked")
HIDDEN = Nothing("it is encrypted or a commitment, with secret random bytes")


def declared(shape: type[Shape]) -> Iterator[tuple[str, Tells | Nothing | None]]:
    """Every field of a shape and of the shapes in it, with its declaration, or None if there is none."""
    for name, field in shape.model_fields.items():
        said = next((one for one in field.metadata if isinstance(one, Tells | Nothing)), None)
        inner = [one for one in _types(field.annotation) if issubclass(one, Shape)]
        if said is None and inner:
            for one in inner:
                yield from ((f"{name}.{place}", found) for place, found in declared(one))
        else:
            yield name, said


def bits(shape: type[Shape], sizes: Sizes) -> float:
    """What a message of this shape can tell about one pairing."""
    return sum(said.bits(sizes) for _, said in declared(shape) if isinstance(said, Tells))


def _types(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
    for one in get_args(annotation):
        yield from _types(one)
