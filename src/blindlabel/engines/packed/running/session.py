"""One batch of records and the questions of a round: both ways of evaluation behind one session, and the reading of
answers.

For every batch of records: open its ciphertexts ("prepare"), then for every group of questions the *units* (probes with
the assist, linear forms without), which are independent of each other and may run in other processes, and then what
joins them. Memory is bounded by one batch and one group. Numbers of an answers parcel: batch, group, questions in all,
records in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Union

import numpy as np

from blindlabel.engines.interface import Answers, Assist, EngineError, ParcelError, QuestionError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.encrypting import Batch
from blindlabel.engines.packed.encoding.layout import QuestionLayout, groups
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.keys import Public, Secret
from blindlabel.engines.packed.planning.setting import Setting
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.engines.packed.ways.assisted import evaluating as assisted
from blindlabel.engines.packed.ways.assisted import tallies
from blindlabel.engines.packed.ways.conjunctive import clauses, diagonals, many_records
from blindlabel.engines.packed.ways.conjunctive import evaluating as conjunctive
from blindlabel.language.formula import Formula

AnyPlan = Union[tallies.Plan, clauses.ClausePlan]


def compile_one(setting: Setting, formula: Formula) -> AnyPlan:
    """The plan of a question, or `QuestionError`."""
    if setting.chosen.bits is not None:
        return tallies.compile_question(setting.terms, setting.tables, formula)
    return clauses.compile_question(setting.terms, setting.tables, formula)


def compile_all(setting: Setting, questions: Sequence[Formula]) -> list[AnyPlan]:
    """The plans of all questions; an error says which question it is about."""
    plans = []
    for position, question in enumerate(questions):
        try:
            plans.append(compile_one(setting, question))
        except QuestionError as problem:
            raise QuestionError(f"Question {position + 1}: {problem}") from problem
    return plans


def group_size(setting: Setting, questions: int) -> int:
    """Questions evaluated together."""
    if setting.chosen.bits is not None:
        return QuestionLayout.of(setting.layout, questions, tallies.Room.of(setting.terms).probes).questions
    return setting.layout.stride if setting.chosen.wide else diagonals.group_size(setting.layout, questions)


def assist_calls(setting: Setting, questions: int, records: int) -> int:
    """How often a round calls the assist: public, and what a coordinator may hold an owner to."""
    if setting.chosen.bits is None:
        return 0
    room = tallies.Room.of(setting.terms)
    layout = QuestionLayout.of(setting.layout, questions, room.probes)
    each = 2 * layout.units(room.probes) + room.inner_gates * room.inner_levels + 1
    return setting.layout.batches(records) * len(groups(questions, layout.questions)) * each


class Session:
    """One batch, opened, and the questions of a round: makes units one by one and joins those of a group."""

    def __init__(self, public: Public, plans: Sequence[AnyPlan], records: int, items: Sequence[bytes]) -> None:
        self.public = public
        self.plans = plans
        self.records = records
        ring = public.setting.ring
        self.wide: many_records.Opened | None = None
        self.chunks: list[Cipher] = []
        if public.setting.chosen.wide and items:
            self.wide = many_records.opened(ring, items)
        else:
            self.chunks = [ring.to_ntt(ring.load_cipher(item)) for item in items]
        self.size = group_size(public.setting, len(plans))
        self.groups = groups(len(plans), self.size)

    def units(self) -> int:
        """Units of one group."""
        if self.public.setting.chosen.bits is None:
            return conjunctive.form_count(self.public.setting)
        return self._layout().units(tallies.Room.of(self.public.setting.terms).probes)

    def unit(self, group: int, unit: int, assist: Assist) -> Cipher:
        """One unit of a group."""
        if self.public.setting.chosen.bits is None:
            return conjunctive.form(self.public, self.chunks, self._clauses(group), unit, self.size)
        return assisted.unit_bits(self._group(group), self.chunks, unit, assist)

    def joined(self, group: int, units: Sequence[Cipher], assist: Assist) -> bytes:
        """The answers of a group, sanitised."""
        if self.public.setting.chosen.bits is None:
            made = conjunctive.answers(self.public, units, len(self.groups[group]), self.records)
        else:
            made = assisted.gates(self._group(group), units, assist)
        return self.public.setting.answer_ring.sent(made)

    def together(self, wanted: Sequence[int]) -> Iterator[bytes]:
        """The answers of several groups of the wide layout, which are made together."""
        assert self.wide is not None
        for group, made in zip(
            wanted, conjunctive.wide_forms(self.public, self.wide, [self._clauses(group) for group in wanted])
        ):
            yield self.joined(group, made, _never)

    def _layout(self) -> QuestionLayout:
        setting = self.public.setting
        return QuestionLayout.of(setting.layout, len(self.plans), tallies.Room.of(setting.terms).probes)

    def _group(self, group: int) -> assisted.Group:
        plans = [self.plans[i] for i in self.groups[group]]
        wanted = [plan for plan in plans if isinstance(plan, tallies.Plan)]
        return assisted.Group(
            self.public, tallies.Room.of(self.public.setting.terms), wanted, self._layout(), self.records
        )

    def _clauses(self, group: int) -> list[clauses.ClausePlan]:
        plans = [self.plans[i] for i in self.groups[group]]
        return [plan for plan in plans if isinstance(plan, clauses.ClausePlan)]


def _never(_: bytes) -> bytes:
    """The assist of agreements without one."""
    raise EngineError("This agreement never calls the assist.")


def share(batch: Batch, group: int, part: float, all_groups: int) -> float:
    """How much of the evaluation is done."""
    return (batch.index + (group + part) / all_groups) / batch.batches


def answer_parcel(public: Public, batch: Batch, group: int, questions: int, answer: bytes) -> bytes:
    """Sanitised answers, ready to leave."""
    return parcels.write(Parcel(Kind.ANSWERS, public.study, (batch.index, group, questions, batch.total), (answer,)))


def decrypt(secret: Secret, contents: Iterable[bytes], questions: int, records: int) -> Answers:
    """The answers as a matrix. Every pair must be there exactly once."""
    setting = secret.setting
    size = group_size(setting, questions)
    wanted = {(b, g) for b in range(setting.layout.batches(records)) for g in range(len(groups(questions, size)))}
    answers: Answers = np.zeros((questions, records), dtype=np.bool_)
    for content in contents:
        limit = setting.answer_ring.form(1).length
        parcel = parcels.read(content, (Kind.ANSWERS,), secret.study, most_items=1, most_bytes=limit)
        batch, group, asked, total = parcel.numbers[:4]
        if (asked, total) != (questions, records):
            raise ParcelError("These answers have another shape than was asked for.")
        if (batch, group) not in wanted:
            raise ParcelError("These answers came twice, or belong to other questions or records.")
        wanted.discard((batch, group))
        _read_answers(secret, parcel.items[0], answers, batch, range(group * size, min(questions, (group + 1) * size)))
    if wanted:
        raise ParcelError("Answers are missing.")
    return answers


def _read_answers(secret: Secret, content: bytes, answers: Answers, batch: int, asked: range) -> None:
    setting = secret.setting
    layout = setting.layout
    first = batch * layout.block
    count = min(layout.block, answers.shape[1] - first)
    if setting.chosen.bits is None:
        values = setting.ring.read_slots(secret.holder.decrypt(setting.ring.load_cipher(content, 1)))
        by_question = (
            many_records.from_slots(layout, values).T
            if setting.chosen.wide
            else values.reshape(layout.stride, layout.block)
        )
    else:
        ring, holder = setting.bit_ring, secret.bit_holder
        assert holder is not None
        size = group_size(setting, answers.shape[0])
        values = ring.read_slots(holder.decrypt(ring.load_cipher(content, 1)))
        by_question = values[: layout.block * size].reshape(layout.block, size).T
    answers[asked.start : asked.stop, first : first + count] = by_question[: len(asked), :count] == 0
