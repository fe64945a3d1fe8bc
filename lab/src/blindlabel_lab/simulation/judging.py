"""The judge of a schedule: what does not hold of a study that was played, by the clear protocol (`reference`)."""

from __future__ import annotations

import itertools

from blindlabel.protocol import labels, next_steps
from blindlabel_lab.simulation.reference import Row, play
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
    expected = play(state.samples, plan.says, *most, stop_after=len(state.settled))
    asked = [
        {(name, state.samples[name][i]) for name, places in one.asked.items() for i in places}
        for one in state.rounds
        if not one.void
    ]
    if asked[: len(expected.asked)] != expected.asked:
        found.append("other records were asked than the clear protocol asks")
    if state.ended in ("agreed", "rounds", "budget", "loose"):
        full = play(state.samples, plan.says, *most)
        if (state.ended, full.labels) != (full.reason, expected.labels):
            found.append(f"the study ended with {state.ended}, the clear protocol with {full.reason}")
    found += _judged_labels(study, expected.labels)
    for name, owner in study.owners.items():
        if owner.is_over() and not restored:
            found += _judged_owner(study, name, expected.labels)
    return found


def _judged_labels(study: Study, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    state, found = study.coordinator.known(), []
    labelled = study.coordinator.party.labels(study.coordinator.study)
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    for first, second in study.plan.agreement.pairings:
        matrix = labelled[(first, second)]
        for i, j, label, number in labels.agreed_pairs(matrix):
            given[((first, state.samples[first][i]), (second, state.samples[second][j]))] = (label, number)
    if given != expected:
        found.append("the coordinator's labels are not those of the clear protocol")
    for number, one in enumerate(state.settled, start=1):
        counted = sum(tally.agreed for tally in one.tallies.values())
        if counted != sum(1 for _, of_round in given.values() if of_round == number):
            found.append(f"pairs of round {number} were counted twice or not at all")
    compared = [sum(tally.pairs + tally.loose for tally in one.tallies.values()) for one in state.settled]
    agreed = list(itertools.accumulate(sum(tally.agreed for tally in one.tallies.values()) for one in state.settled))
    everything = sum(len(state.samples[a]) * len(state.samples[b]) for a, b in study.plan.agreement.pairings)
    if compared != [everything - before for before in [0, *agreed][: len(compared)]]:
        found.append("a pair was compared again after it had been agreed")
    return found


def _judged_owner(study: Study, name: str, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    """An owner has what its agreement releases, at the right rows, and nothing else."""
    owner, release = study.owners[name], study.plan.agreement.release
    state = owner.store.state()
    assert state.truth is not None
    own_rows = state.sample.positions if state.sample else ()
    given: dict[tuple[Row, Row], bool] = {}
    for pairing in state.truth.pairings:
        own = [(name, row) for row in own_rows]
        other = [(pairing.peer, row) for row in pairing.positions]
        rows, columns = (own, other) if name < pairing.peer else (other, own)
        body = owner.store.bodies.read_all(pairing.labels)
        for i, j, label, number in labels.agreed_pairs(labels.from_bytes(body, len(rows), len(columns))):
            given[(rows[i], columns[j])] = label
            if number != labels.UNSAID:
                return [f"{name} was told the round of a pair"]
    wanted = {
        pair: label
        for pair, (label, _) in expected.items()
        if name in (pair[0][0], pair[1][0]) and (release == "labels" or (release == "matches" and label))
    }
    return [] if given == wanted else [f"what {name} got is not what the clear protocol releases"]
