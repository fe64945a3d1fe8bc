"""The packed engine: a whole round of questions over encrypted records, in seconds (SEAL's BFV through TenSEAL).

From the bottom up, which is also the order to read it in:

- `residues`: exact arithmetic on arrays;
- `encoding`: records become tables of numbers, those a layout, and that becomes parcels of ciphertexts;
- `planning`: what follows from an agreement's terms alone, and a question on its places;
- `rules`: that, behind the interface of all engines. Up to here nothing needs SEAL;
- `seal`: the raw layer, alone in touching the library;
- `running`: keys, encryption, evaluation over batches and groups, opening, and all of it as an engine.

docs/explanation/packed-engine.md explains the method and derives the errors.
"""

from __future__ import annotations

from blindlabel.engines.packed.rules import PackedRules

__all__ = ["PackedRules"]
