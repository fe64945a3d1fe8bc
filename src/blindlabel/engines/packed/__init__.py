"""The packed engine: a whole round of questions over encrypted records, in seconds (SEAL's BFV through TenSEAL).

The stages, in the order a reader should take them: `tables` (records become linear data), `layout` (where it stands),
`probing` and `gates` or `clauses` (questions become plans), `linear`, `masked`, `assisted` or `diagonals`, `alone`
(evaluation with and without the assist), `evaluating` (the driver), `seal` (the raw layer, alone in touching the
library). docs/packed-engine.md explains the method and derives the errors.
"""

from __future__ import annotations

from blindlabel.engines.packed.engine import PackedEngine

__all__ = ["PackedEngine"]
