"""How many sampled records have a partner in the other sample: drawn uniformly, and enriched by blinded blocking keys.

The sampling is the product's own (`protocol.blocking`), without the blinding, which changes no choice: equal keys are
equal points. Blocking keys come from the set's own attributes; secrets and draws follow from the seed.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from blindlabel.protocol import blocking, sampling
from blindlabel_lab.experiments.datasets import PREPARATION, ChosenPreparation, Dataset, read_dataset

Advance = Callable[[str, float], None]
_SHARE = 0.5


def partners(
    folder: Path,
    names: Sequence[str],
    records: int,
    samples: int,
    advance: Advance,
    preparation: ChosenPreparation = PREPARATION,
) -> dict[str, Any]:
    """The document: a row for each set, shares as means over samples."""
    rows = []
    for number, name in enumerate(names):
        dataset = read_dataset(folder, name, preparation=preparation)
        drawn = [_shares(dataset, records, random.Random(f"{name} {seed}")) for seed in range(samples)]  # noqa: S311 (no secret)
        means = {key: round(statistics.mean(one[key] for one in drawn), 3) for key in drawn[0]}
        rows.append({"dataset": name, **means})
        advance(name, (number + 1) / len(names))
    return {"records": records, "samples": samples, "share": _SHARE, "preparation": preparation.words, "rows": rows}


def _shares(dataset: Dataset, records: int, chance: random.Random) -> dict[str, float]:
    sizes = [len(table) for table in dataset.records]
    drawn = [sampling.uniform(size, records, chance.randrange) for size in sizes]
    extent = blocking.Extent(records, _SHARE, 1)
    offers, secret = extent.offers(*sizes), chance.randbytes(32)
    lists = [
        blocking.filled_up(
            blocking.rare_keys(table, dataset.attributes, secret, offers, chance.randrange),
            offers,
            len(table),
            chance.randrange,
        )
        for table in dataset.records
    ]
    keys = [[offer.key for offer in side] for side in lists]
    chosen = blocking.partners(keys[0], keys[1], extent.chosen(*sizes), chance.randrange)
    enriched, uniform = [], []
    for side, places in enumerate((chosen.first, chosen.second)):
        uniform.append(sampling.uniform(sizes[side], extent.uniform(sizes[side]), chance.randrange))
        rows = [lists[side][place].row for place in places]
        wanted = min(records, sizes[side])
        enriched.append(blocking.sampled(uniform[side], rows, sizes[side], wanted, chance.randrange))
    by_keys = [sorted(set(enriched[side]) - set(uniform[side])) for side in (0, 1)]
    return {
        "uniform": _with_partner(dataset, drawn, drawn),
        "enriched": _with_partner(dataset, enriched, enriched),
        "uniform_part": _with_partner(dataset, uniform, enriched),
        "part_by_keys": _with_partner(dataset, by_keys, enriched),
        "keys_in_common": chosen.partners,
        "matches": float(len(_matches(dataset, enriched))),
    }


def _matches(dataset: Dataset, samples: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    first, second = (set(rows) for rows in samples)
    return [(i, j) for i, j in dataset.matches if i in first and j in second]


def _with_partner(dataset: Dataset, part: Sequence[Sequence[int]], samples: Sequence[Sequence[int]]) -> float:
    """Of the records in a part of both samples, the share that has a match in the other's whole sample."""
    found = _matches(dataset, samples)
    have = [{pair[side] for pair in found} for side in (0, 1)]
    rows = [row in have[side] for side in (0, 1) for row in part[side]]
    return sum(rows) / len(rows) if rows else 0.0
