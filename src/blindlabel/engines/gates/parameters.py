"""The two parameter sets of OpenFHE that are used, and what they fix: the length of a ciphertext and the scale of a
bit.

A bit is 0 or one p-th of the modulus, p being the plaintext modulus, and a gate is a function of a sum of bits: with p
= 4 of two, with p = 6 of three. Both sets give 128 bits of security; the second has a larger dimension and finer keys,
so that the noise of a sum of three stays inside the narrower margin.
"""

from __future__ import annotations

from dataclasses import dataclass

MODULUS_BITS = 11
MODULUS = 1 << MODULUS_BITS
"""The LWE modulus of both sets is 2048, so every number that fits the bits is a valid one."""


@dataclass(frozen=True)
class ParameterSet:
    """One set by OpenFHE's name; `library` holds the installed OpenFHE to these numbers."""

    name: str
    dimension: int
    """Length of an LWE ciphertext's vector."""
    plaintext_modulus: int

    @property
    def values(self) -> int:
        """Numbers of a ciphertext: the vector and the body."""
        return self.dimension + 1

    @property
    def ciphertext_bytes(self) -> int:
        """Bytes of a ciphertext as it travels."""
        return (self.values * MODULUS_BITS + 7) // 8

    @property
    def label(self) -> str:
        """What parcels call it."""
        return f"{self.name}-GINX"

    def scaled(self, value: int) -> int:
        """The body of a ciphertext without noise that holds this value."""
        return round(value * MODULUS / self.plaintext_modulus) % MODULUS


TWO_INPUT = ParameterSet("STD128", 554, 4)
"""For the publication's circuits, which are made of two-input gates and XNOR."""
THREE_INPUT = ParameterSet("STD128_3", 592, 6)
"""For the engine's own circuits."""
