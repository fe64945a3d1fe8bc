"""The packed engine: a whole round of questions over encrypted records, in seconds (SEAL's BFV through TenSEAL).

From the bottom up, which is also the order to read it in:

- `residues`: exact arithmetic on arrays;
- `encoding`: records become tables of numbers, these are laid out, and the layout becomes parcels of ciphertexts;
- `planning`: what follows from an agreement's terms alone, and how a question is put on its places;
- `rules`: planning behind the interface of all engines. Nothing so far needs SEAL;
- `seal`: the raw layer, the only one that touches the library;
- `running`: keys, encryption, evaluation over batches and groups, opening, and all of it as an engine.

docs/explanation/packed-engine.md explains the method and derives the errors.
"""

from __future__ import annotations

from blindlabel.engines.packed.rules import PackedRules

__all__ = ["PackedRules"]
