"""What a plan looks like to a person: predicates, places or gates, assist calls, noise, and what a round costs.

Each way writes its own (`Way.explain`); here is the form that they share. Time is an estimate from the number of
operations and what each takes on one core of an ordinary machine (2026); bytes are computed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from blindlabel.engines.packed.planning.probing import Probe

PRODUCT, ROTATION, REPLY, LOAD = 0.0006, 0.003, 0.0045, 0.0013
"""Seconds on one core at degree 8192 and three primes: a product with a plaintext, key switching, one ciphertext of an
assist reply (both ends), opening a ciphertext."""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """The plan of a question and the cost of a round of such questions."""

    parameters: str
    predicates: list[str]
    places: list[str] = field(default_factory=list)
    """Without help: what the places of every class ask, and what is excluded."""
    gates: list[str] = field(default_factory=list)
    zero_tests: int = 0
    """Probes of one question that become bits."""
    assist_calls: int = 0
    """In a round of all questions."""
    noise_left: dict[str, float]
    """log2 of the old noise beside the rounding noise, for every kind of message that leaves."""
    seconds: float
    bytes: dict[str, int]

    def to_json(self) -> dict[str, object]:
        """As the command prints it."""
        return asdict(self)

    def lines(self) -> list[str]:
        """As a person reads it."""
        found = [f"parameters   {self.parameters}", "predicates"]
        found += [f"  {number}  {predicate}" for number, predicate in enumerate(self.predicates)]
        if self.places:
            found += ["places", *(f"  {place}" for place in self.places)]
        if self.gates:
            found += ["gates", *(f"  {gate}" for gate in self.gates)]
        if self.zero_tests:
            found.append(f"zero tests   {self.zero_tests} a question")
        found.append(f"assist       {self.assist_calls} calls a round")
        found.append("old noise    " + ", ".join(f"{stage} 2^{left:.0f}" for stage, left in self.noise_left.items()))
        found.append(f"a round      about {self.seconds:.1f} s on one core")
        found.append("bytes        " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in self.bytes.items()))
        return found


def shown(probe: Probe) -> str:
    """A probe in words."""
    return f"{probe.element!r} among {probe.table.family.name} of {probe.table.view}"
