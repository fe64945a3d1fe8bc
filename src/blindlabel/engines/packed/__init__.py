"""The packed engine: a whole round of questions over encrypted records, in seconds (SEAL's BFV through TenSEAL).

From the bottom up, which is also the order to read it in:

- `seal`: the raw layer, alone in touching the library, and exact arithmetic on arrays;
- `encoding`: records become tables of numbers, those a layout, and that becomes parcels of ciphertexts;
- `planning`: what follows from an agreement's terms alone, and from a question's predicates;
- `ways`: the ways of answering, one package each, behind one Protocol;
- `keys`: a study's keys, made, written and opened;
- `running`: one evaluation over batches and groups: in this process, in several, on a Dask cluster;
- `engine`: all of it behind the interface of all engines.

docs/packed-engine.md explains the method and derives the errors.
"""

from __future__ import annotations

from blindlabel.engines.packed.engine import PackedEngine

__all__ = ["PackedEngine"]
