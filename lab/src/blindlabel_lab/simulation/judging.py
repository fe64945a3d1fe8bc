"""The judge of a schedule: what does not hold of a study that was played, by the clear protocol (`reference`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blindlabel.protocol import labels, next_steps
from blindlabel.protocol.facts import of_owner
from blindlabel_lab.simulation.parties import order_of
from blindlabel_lab.simulation.reference import Played, Row, play
from blindlabel_lab.simulation.study import Study


def judged(study: Study, finished: bool) -> list[str]:
    """What does not hold."""
    found: list[str] = []
    state, plan = study.coordinator.known(), study.plan
    restored = study.weather.counts["backup of coordinator"]
    if (study.forked or study.behind()) and not restored:
        found.append("an owner says that the coordinator was restored, and it was not")
    if not finished and not study.behind():
        waits = {name: study.owners[name].store.state().received for name in study.present()}
        found.append(
            f"stuck in round {state.round}: {next_steps.of_coordinator(plan.agreement, state)}, owners at {waits}"
        )
    if finished and not study.forked and not state.ended and not restored:
        found.append("the study is over for its owners and not for the coordinator")
    if not state.samples:
        return found
    most = (plan.agreement.rounds, plan.agreement.records_asked, plan.agreement.budget.most_yes)
    samples = {name: [row for _, row in _rows(study, name)] for name in state.samples}
    expected = play(samples, plan.says, *most, stop_after=len(state.settled))
    asked = [
        {(name, samples[name][i]) for name in samples for i in of_owner(one.asked, name)}
        for one in state.rounds
        if not one.void
    ]
    if asked[: len(expected.asked)] != expected.asked:
        found.append("other records were asked than the clear protocol asks")
    if state.ended in ("agreed", "rounds", "budget", "loose"):
        full = play(samples, plan.says, *most)
        if (state.ended, full.labels) != (full.reason, expected.labels):
            found.append(f"the study ended with {state.ended}, the clear protocol with {full.reason}")
    found += _judged_labels(study, expected)
    for name, owner in study.owners.items():
        if owner.is_over() and not restored:
            found += _judged_owner(study, name, expected.labels)
    return found


def _rows(study: Study, name: str) -> list[Row]:
    """The rows that an owner's sampled records are: its own order of them is its secret."""
    owner, positions = study.owners[name], study.coordinator.known().samples[name]
    order = order_of(name, len(owner.table))
    return [(name, order[position]) for position in positions]


def agreed_pairs(matrix: labels.Labels) -> Iterator[tuple[int, int, bool, int]]:
    """Every agreed pair: index of the first owner's record, of the second's, label, round."""
    for i, row in enumerate(matrix):
        columns = np.flatnonzero(labels.is_agreed(row))
        for j, value in zip(columns.tolist(), row[columns].tolist()):
            yield i, j, *labels.label_and_round(value)


def _judged_labels(study: Study, expected: Played) -> list[str]:
    state, found = study.coordinator.known(), []
    labelled = study.coordinator.party.labels(study.coordinator.study)
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    for first, second in study.plan.agreement.pairings:
        matrix = labelled[(first, second)]
        for i, j, label, number in agreed_pairs(matrix):
            given[(_rows(study, first)[i], _rows(study, second)[j])] = (label, number)
    if given != expected.labels:
        found.append("the coordinator's labels are not those of the clear protocol")
    for number, one in enumerate(state.settled, start=1):
        counted = sum(tally.agreed for tally in one.tallies.values())
        if counted != sum(1 for _, of_round in given.values() if of_round == number):
            found.append(f"pairs of round {number} were counted twice or not at all")
    compared = [sum(tally.pairs + tally.loose for tally in one.tallies.values()) for one in state.settled]
    if compared != expected.open[: len(compared)]:
        found.append("other pairs were compared than those without a decision")
    return found


def _judged_owner(study: Study, name: str, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    """An owner has what its agreement releases, at the right rows, and nothing else."""
    owner, release = study.owners[name], study.plan.agreement.release
    state = owner.store.state()
    assert state.truth is not None
    given: dict[tuple[Row, Row], bool] = {}
    for pairing in state.truth.pairings:
        own, other = (_rows(study, one) for one in (name, pairing.peer))
        rows, columns = (own, other) if name < pairing.peer else (other, own)
        body = labels.unlocked(pairing.labels, owner.store.bodies.read_all(pairing.labels.blob))
        for i, j, label, number in agreed_pairs(labels.from_bytes(body, len(rows), len(columns))):
            given[(rows[i], columns[j])] = label
            if number != labels.UNSAID:
                return [f"{name} was told the round of a pair"]
    wanted = {
        pair: label
        for pair, (label, _) in expected.items()
        if name in (pair[0][0], pair[1][0]) and (release == "labels" or (release == "matches" and label))
    }
    return [] if given == wanted else [f"what {name} got is not what the clear protocol releases"]
