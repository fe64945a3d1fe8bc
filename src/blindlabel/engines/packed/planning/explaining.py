"""What a plan looks like to a person: predicates, gates or clauses, assist calls, noise, and what a round costs.

Time is an estimate from the number of operations and what each takes on one core of an ordinary machine (2026); bytes
are computed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding.layout import QuestionLayout, groups
from blindlabel.engines.packed.planning import noise, parameters
from blindlabel.engines.packed.planning.probing import Probe
from blindlabel.engines.packed.planning.setting import Setting, setting_of
from blindlabel.engines.packed.running.session import assist_calls, compile_one, group_size
from blindlabel.engines.packed.seal.parameters import RingParameters
from blindlabel.engines.packed.ways.assisted import inner_products, tallies
from blindlabel.engines.packed.ways.assisted.calls import difference_bits
from blindlabel.engines.packed.ways.assisted.tallies import Gate, Room
from blindlabel.engines.packed.ways.conjunctive import clauses, diagonals
from blindlabel.language.formula import Formula, atoms_of

_PRODUCT, _ROTATION, _REPLY, _LOAD = 0.0006, 0.003, 0.0045, 0.0013
"""Seconds on one core at degree 8192 and three primes: a product with a plaintext, key switching, one ciphertext of an
assist reply (both ends), opening a ciphertext."""


@dataclass(frozen=True)
class Explained:
    """The plan of a question and the cost of a round of such questions."""

    parameters: str
    predicates: list[str]
    gates: list[str]
    clauses: list[list[str]]
    zero_tests: int
    """Probes of one question that become bits."""
    assist_calls: int
    """In a round of all questions."""
    noise_left: dict[str, float]
    """log2 of the old noise beside the rounding noise, for every kind of message that leaves."""
    seconds: float
    bytes: dict[str, int]

    def to_json(self) -> dict[str, object]:
        """As the command prints it."""
        return asdict(self)

    def lines(self) -> list[str]:
        """As a person reads it."""
        found = [f"parameters   {self.parameters}", "predicates"]
        found += [f"  {number}  {predicate}" for number, predicate in enumerate(self.predicates)]
        if self.gates:
            found += ["gates", *(f"  {gate}" for gate in self.gates)]
        for number, clause in enumerate(self.clauses):
            found.append(f"clause {number + 1}: one of")
            found += [f"  {alternative}" for alternative in clause]
        found.append(f"zero tests   {self.zero_tests} a question")
        found.append(f"assist       {self.assist_calls} calls a round")
        found.append("old noise    " + ", ".join(f"{stage} 2^{left:.0f}" for stage, left in self.noise_left.items()))
        found.append(f"a round      about {self.seconds:.1f} s on one core")
        found.append("bytes        " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in self.bytes.items()))
        return found


def functions_of(formula: Formula) -> tuple[str, ...]:
    """The default functions of an agreement and those the formula asks beyond them."""
    return tuple(dict.fromkeys((*Terms(()).functions, *(atom.function for atom in atoms_of(formula)))))


def explain(terms: Terms, formula: Formula) -> Explained:
    """The plan of a question under these terms."""
    setting = setting_of(terms)
    plan = compile_one(setting, formula)
    left = {
        stage: round(value, 1)
        for stage, value in noise.left(terms, setting.chosen, setting.tables, setting.layout).items()
    }
    if isinstance(plan, tallies.Plan):
        room = Room.of(terms)
        calls, seconds, moved = _assisted_cost(setting, room)
        named = [f"{place}: {_gate(gate, room)}" for place, gate in _placed(plan, room)]
        return Explained(
            setting.chosen.name,
            [_probe(p) for p in plan.probes],
            named,
            [],
            room.probes,
            calls,
            left,
            round(seconds, 2),
            _sizes(setting, moved),
        )
    assert isinstance(plan, clauses.ClausePlan)
    probes = sorted({probe for clause in plan.clauses for option in clause for probe in option}, key=_order)
    listed = [
        [" & ".join(_probe(p) for p in sorted(option, key=_order)) or "always" for option in clause]
        for clause in plan.clauses
    ]
    sizes = _sizes(setting, 0)
    return Explained(
        setting.chosen.name, [_probe(p) for p in probes], [], listed, 0, 0, left, round(_alone_cost(setting), 2), sizes
    )


def _order(probe: Probe) -> tuple[int, str]:
    return probe.table.offset, probe.element


def _probe(probe: Probe) -> str:
    return f"{probe.element!r} among {probe.table.family.name} of {probe.table.view}"


def _placed(plan: tallies.Plan, room: Room) -> list[tuple[str, Gate]]:
    inner = [
        (str(room.probes + depth * room.inner_gates + place), gate)
        for depth, level in enumerate(plan.levels)
        for place, gate in enumerate(level)
    ]
    return [*inner, ("answer", plan.final)]


def _gate(gate: Gate, room: Room) -> str:
    terms = [str(gate.constant)] if gate.constant or not gate.weights else []
    terms += [f"{weight}·[{'gate ' if source >= room.probes else ''}{source}]" for source, weight in gate.weights]
    accepted = [str(value) for value, accepts in enumerate(gate.accepts) if accepts]
    return f"{' + '.join(terms)} in {{{', '.join(accepted)}}}"


def _sizes(setting: Setting, assist: int) -> dict[str, int]:
    """Ciphertexts take about the bits of their primes; keys as many polynomials as primes, with a seed for the random
    half.
    """
    layout, ring = setting.layout, setting.chosen.evaluation
    batches, terms = layout.batches(setting.terms.records), setting.terms
    answers = batches * len(groups(terms.records, group_size(setting, terms.records)))
    last = setting.chosen.bits or ring
    return {
        "keys": _key_bytes(setting),
        "records": batches * layout.chunks * 2 * ring.degree * sum(ring.prime_bits[:-1]) // 8,
        "assist": assist,
        "answers": answers * 2 * last.degree * last.prime_bits[0] // 8,
    }


def _key_bytes(setting: Setting) -> int:
    """Public keys have two polynomials over all primes; a switching key has one (and a seed) for every prime of a
    ciphertext.
    """
    layout, bits = setting.layout, setting.chosen.bits
    if bits is None:
        return _ring_key_bytes(setting.chosen.evaluation, len(diagonals.rotations(setting.ring, layout)) + 1)
    folds = QuestionLayout.of(layout, 1, parameters.probes(setting.terms)).folds()
    return _ring_key_bytes(setting.chosen.evaluation, len(inner_products.automorphisms(layout))) + _ring_key_bytes(
        bits, len(folds)
    )


def _ring_key_bytes(ring: RingParameters, switching: int) -> int:
    return (2 + switching * ring.data_primes) * ring.degree * sum(ring.prime_bits) // 8


def _assisted_cost(setting: Setting, room: Room) -> tuple[int, float, int]:
    """Calls, seconds and bytes of the assist in a round of as many questions as records."""
    terms, layout = setting.terms, setting.layout
    questions = QuestionLayout.of(layout, terms.records, room.probes)
    rounds = layout.batches(terms.records) * len(groups(terms.records, questions.questions))
    calls = assist_calls(setting, terms.records, terms.records)
    units, inner = questions.units(room.probes), room.inner_gates * room.inner_levels
    width = difference_bits(setting)
    replies = units * 2 * width + inner * room.inner_weight + room.final_weight
    columns = min(terms.records, questions.questions) * room.probes
    linear_stage = columns * (inner_products.span(layout, setting.tables) * _PRODUCT + _ROTATION + 0.001)
    bits = setting.chosen.bits
    assert bits is not None
    down = bits.degree * sum(bits.prime_bits[:-1]) // 8
    up = 2 * bits.degree * max(bits.prime_bits[0], setting.chosen.evaluation.prime_bits[0]) // 8
    loading = layout.batches(terms.records) * layout.chunks * _LOAD
    return calls, loading + rounds * (linear_stage + replies * _REPLY), rounds * replies * down + calls * up


def _alone_cost(setting: Setting) -> float:
    terms, layout = setting.terms, setting.layout
    size = group_size(setting, terms.records)
    rounds = layout.batches(terms.records) * len(groups(terms.records, size))
    scale = (setting.ring.degree / 8192) * setting.chosen.evaluation.data_primes / 3
    forms = terms.clauses * parameters.alternatives(terms)
    diagonals = forms * size * (layout.chunks * 1.2 * _PRODUCT + _ROTATION + 0.001)
    return scale * (
        layout.batches(terms.records) * layout.chunks * _LOAD + rounds * (diagonals + forms * 4 * _ROTATION)
    )
