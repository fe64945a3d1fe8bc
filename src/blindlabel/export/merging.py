"""Two owners' exports of one pairing as one ground truth with the ids of both, for whoever may see both lists of ids.

Each owner's export names its own rows by id and the other's by position. What both say about a pair must be the same;
neither content nor anything that the study kept back comes in here.
"""

from __future__ import annotations

from blindlabel.errors import InputError
from blindlabel.export.truth import GroundTruth


def merged(one: GroundTruth, other: GroundTruth) -> GroundTruth:
    """The pairs of two exports with the ids that either knows."""
    names = (one.dataset_a, one.dataset_b)
    if (other.dataset_a, other.dataset_b) != names:
        raise InputError(
            f"These are exports of different pairings: {' and '.join(names)} here,"
            f" {other.dataset_a} and {other.dataset_b} there."
        )
    said = [{(pair.i, pair.j): (pair.label, pair.round) for pair in truth.pairs} for truth in (one, other)]
    if said[0] != said[1] or sorted(one.discarded) != sorted(other.discarded):
        differing = [pair for pair in said[0].keys() | said[1].keys() if said[0].get(pair) != said[1].get(pair)]
        raise InputError(
            f"The two exports say different things about {max(1, len(differing)):,} pairs: they are of different"
            " studies, or of different times."
        )
    ids_a, ids_b = one.ids_a or other.ids_a, one.ids_b or other.ids_b
    for ids, name in ((ids_a, names[0]), (ids_b, names[1])):
        if ids is None and one.pairs:
            raise InputError(f"Neither export has the ids of {name}: merge one export of each owner.")
    for first, second, name in ((one.ids_a, other.ids_a, names[0]), (one.ids_b, other.ids_b, names[1])):
        if first is not None and second is not None and first != second:
            raise InputError(f"The two exports have different ids for the same rows of {name}.")
    return GroundTruth(*names, one.pairs, one.discarded, ids_a, ids_b, one.only_matches, one.by_keys)
