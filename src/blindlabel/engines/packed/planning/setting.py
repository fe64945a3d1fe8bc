"""The setting of an agreement: all that is public and follows from its terms alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from blindlabel.engines.interface import EngineError, Terms, TermsError
from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.encoding.parcels import Study
from blindlabel.engines.packed.encoding.tables import Tables, tables_of
from blindlabel.engines.packed.planning import noise, parameters
from blindlabel.engines.packed.planning.parameters import ParameterSet
from blindlabel.engines.packed.seal.ring import Ring, open_ring


@dataclass(frozen=True, eq=False)
class Setting:
    """All that is public and follows from the terms alone."""

    terms: Terms
    chosen: ParameterSet
    ring: Ring
    tables: Tables
    layout: RecordLayout

    @property
    def bit_ring(self) -> Ring:
        """The ring for bits; only where the assist is used."""
        if self.chosen.bits is None:
            raise EngineError("This agreement never calls the assist.")
        return open_ring(self.chosen.bits)

    @property
    def answer_ring(self) -> Ring:
        """The ring in which units are joined and answers leave."""
        return self.ring if self.chosen.bits is None else self.bit_ring

    def study(self, key_id: bytes) -> Study:
        """The header of this study's parcels."""
        return Study(self.chosen.name, self.terms.agreement_hash, key_id)


@lru_cache(maxsize=16)
def setting_of(terms: Terms) -> Setting:
    """The setting of an agreement."""
    parameters.check_terms(terms)
    for chosen in parameters.candidates(terms):
        ring = open_ring(chosen.evaluation)
        tables = tables_of(terms, ring.modulus)
        if not tables.tables:
            raise TermsError(
                "This agreement encodes nothing: list at least one function and encode whole records or attributes."
            )
        layout = RecordLayout.of(terms, tables, chosen.evaluation, chosen.wide)
        if max(noise.left(terms, chosen, tables, layout).values()) <= -noise.HIDDEN:
            return Setting(terms, chosen, ring, tables, layout)
    raise TermsError(
        "This agreement encodes more than the packed engine can hide the noise of. Encode fewer attributes or shorter"
        " texts."
    )
