"""The suggester: built once from a table, then asked for one record and round at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Literal

from blindlabel.language import Question, words
from blindlabel.language.chain import Chain, Condition, call_of, chain_of, term_text, text_of
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.limits import DEFAULT_FUNCTIONS, DEFAULT_PROFILE, Limits
from blindlabel.language.record import Case, Record, View
from blindlabel.language.suggestions.evidence import (
    IDENTIFYING,
    Circumstances,
    Evidence,
    Naming,
    exclusions_of,
    holds,
    set_apart,
    weigh_all,
)
from blindlabel.language.suggestions.imagined import Imagination, Imagined
from blindlabel.language.suggestions.judgement import Level, Verdict, own_rows, verdict
from blindlabel.language.suggestions.needles import (
    Asking,
    Found,
    Texts,
    far_from,
    kind_of,
    needles_of,
    numbers_and_identifiers,
    phrases_of,
)
from blindlabel.language.suggestions.own_table import OwnTable
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.profiles import (
    Duplicates,
    Neighbour,
    Neighbourhood,
    Siblings,
    length_of,
    misspelt,
    profiles_of,
    units_of,
    usual_length,
)
from blindlabel.language.suggestions.suggestion import Reason, Suggestion
from blindlabel.language.suggestions.weighing import (
    Weighed,
    bar,
    evened,
    expected,
    looser,
    plain_bar,
    plainly,
    raised,
    scores_of,
    share_of,
    stricter,
    up_to,
    weigh,
)
from blindlabel.language.words import words_in_order


@dataclass(frozen=True)
class JudgedRecord:
    """A record's conditions and its neighbours."""

    texts: Texts
    weighed: tuple[Weighed, ...]
    near: tuple[Texts, ...]
    """The nearest own rows that are other things, the likest first."""
    scores: tuple[int, ...]
    """The points of each of them."""
    named: tuple[tuple[Found, ...], ...]
    """What names each of them, and not the record; nothing where it may be about the same thing."""
    apart: tuple[tuple[Found, ...], ...]
    """What sets those of them apart that nothing names."""
    looked_at: int
    """How many nearest own rows the conditions were weighed against."""
    sibling: int = 0
    """Where hardly one of them is a sibling: the points of one that may stand in the other table."""
    rarest: tuple[Weighed, ...] = ()
    """Other conditions, for when both sides have disagreed over these."""
    far: tuple[Found, ...] = ()
    """Amounts so far from the record's own that they speak against another record."""


NEVER = Chain((), 1)
WELL_SPELT = 0.95
"""From here on spelling is taken to be right, so that what differs by a letter is another thing."""
ENOUGH_ROWS = 100
"""Fewer rows do not tell how well a table is spelt."""
MOSTLY = 0.75
"""With this share of nearest own rows that are no siblings, siblings stand in the other table rather."""
OTHERWISE = 2
"""In this round a record is asked for by other conditions: both sides have disagreed over the first."""
_KEPT, _KEPT_IMAGINED = 4096, 64


class Suggester:
    """Proposes questions about the records of one table.

    `records` is the whole own table, prepared; `lowered` says that preparation made it lower case; `functions` are the
    predicates that the agreement encodes; `exclusions`, `places` and the two views say what else it allows. A question
    that fits more other own rows than `most_others` would be too loose for the study: more points are asked for.
    """

    def __init__(
        self,
        records: Sequence[Record],
        attributes: Sequence[str],
        *,
        limits: Limits | None = None,
        lowered: bool = False,
        functions: Collection[str] | None = None,
        exclusions: int = 2,
        places: Sequence[int] = DEFAULT_PROFILE,
        whole: bool = True,
        single_attributes: bool = True,
        most_others: float = inf,
        typed: Collection[str] = (),
        personal: Collection[str] = (),
        priors: Priors | None = None,
    ) -> None:
        self._typed = frozenset(typed)
        self.attributes = tuple(attributes)
        self.limits = limits or Limits()
        self.lowered = lowered
        self.exclusions = exclusions
        self.places = tuple(places)[: self.limits.predicates]
        self.most_others = most_others
        own = [self._own(one) for one in records]
        self.table = OwnTable(own, self.attributes)
        self._priors = priors or Priors()
        self._case: Case = "exact" if lowered else "lower"
        self._texts = [self._texts_of(record) for record in own]
        self._profiles = profiles_of(self._texts, self.attributes)
        self._usual_length = usual_length(self._texts)
        wrong = misspelt(self._texts)
        self._singles_misspelt = wrong.of_single
        self._spelt = max(0.5, 1 - self._priors.misspelt * max(0.0, wrong.of_all - self._priors.usual_misspelt))
        self._asking = Asking(
            frozenset(DEFAULT_FUNCTIONS if functions is None else functions),
            self.limits,
            whole,
            single_attributes,
            units_of(self._texts),
            halves=not self._well_spelt,
        )
        self._numeric = frozenset(name for name, profile in self._profiles.items() if profile.kind != "text")
        self._amounts = tuple(name for name, profile in self._profiles.items() if profile.kind == "amount")
        self._tied = self._ties_words()
        self._column = self.table.column(View(None, self._case))
        self._neighbourhood = Neighbourhood(self._column)
        self._same: dict[str, list[int]] = {}
        for row, text in enumerate(self._column.texts):
            self._same.setdefault(text, []).append(row)
        self._judged: dict[tuple[str, ...], JudgedRecord] = {}
        self._imagined: dict[str, tuple[Imagined, OwnTable]] = {}
        self.level = Level()
        """Of verdicts, where known pairs have set it."""
        self._alike = Duplicates(self._profiles, self._rarity_of_shared)
        self.duplicates = self._alike.share(self._texts, self._nearest)
        """The share of own rows that have another which looks like the same thing."""
        self._siblings = self._siblings_of(personal)

    def _siblings_of(self, personal: Collection[str]) -> Siblings:
        if personal:
            return Siblings.of_persons(self.attributes, personal)
        # Where words are spelt right, the nearest own rows and exclusions tell siblings apart better than this.
        return Siblings() if self._well_spelt else Siblings.of(self._texts, self._nearest, self._alike.alike)

    @cached_property
    def _naming(self) -> Naming:
        years = frozenset(name for name, profile in self._profiles.items() if profile.kind == "year")
        return Naming(self._asking, years, self._well_spelt, self._siblings.telling)

    # -- what others build on

    def suggest(
        self, record: Record, round: int = 1, previous: Sequence[str] = (), *, loose: bool = False
    ) -> Suggestion:
        """A question about the partner of this record. `previous` are those asked in earlier rounds: one of them may be
        suggested again, for a pair that stays in doubt had better be discarded than labelled wrong; but not where the
        last was too `loose`. Nor is one suggested that fits more than `most_others`, as far as more points help.
        """
        asked = 1 if loose else round
        judged = self.in_round(self.judge(record), asked)
        enough = self.enough(judged, asked)
        made = self._suggestion(record, self._points(judged, enough), judged, round)
        while made.own.others > self.most_others or (loose and made.text in previous):
            changed = stricter(made.chain, ())
            if changed is None:
                break
            made = self._suggestion(record, changed, judged, round)
        return replace(made, again=made.text in previous, otherwise=self._asks_otherwise(asked))

    def stricter(self, question: Formula | Chain, record: Record, round: int = 1) -> Suggestion | None:
        """A question a little stricter than this one, which a person may have written; None where there is none, or
        where it is no chain.
        """
        points = question if isinstance(question, Chain) else chain_of(question)
        judged = self.judge(record)
        more = self._points(judged, 1).conditions
        changed = None if points is None else stricter(points, more)
        return None if changed is None else self._suggestion(record, changed, judged, round)

    def looser(self, question: Formula | Chain, record: Record, round: int = 1) -> Suggestion | None:
        """A question a little looser than this one; None where there is none, where one condition would be enough that
        is no identifier of its own, or where it is no chain.
        """
        points = question if isinstance(question, Chain) else chain_of(question)
        judged = self.judge(record)
        own = self._known(judged)
        changed = None if points is None else looser(points, lambda one: all(self._decides(a, own) for a in one.atoms))
        return None if changed is None else self._suggestion(record, changed, judged, round)

    def verdict(self, question: Question, record: Record) -> Verdict:
        """What is to be thought of any question, suggested or not, that was written for this record."""
        own = self._own(record)
        if own.whole not in self._imagined:
            if len(self._imagined) >= _KEPT_IMAGINED:
                self._imagined.clear()
            made = self.imagined(own)
            self._imagined[own.whole] = made, OwnTable([*made.partners, *made.impostors], self.attributes)
        return verdict(question, own, self.table, self._imagined[own.whole], self.level)

    def rarity(self, word: str) -> int:
        """In how many own rows a word stands, whatever its case."""
        return len(self._column.rows_of_word(words.lower(word)))

    # -- the steps

    def in_round(self, judged: JudgedRecord, round: int) -> JudgedRecord:
        """What is asked in a round. From round 2 on fewer points are enough, so an amount that is far off speaks
        against a record. Round 2 asks for other conditions, where it may. Where the first are asked for again, none
        outweighs the others if any one may be missing in a true partner: in a table of one attribute, and where words
        are often misspelt.
        """
        if round <= 1 or not judged.weighed:
            return judged
        judged = replace(judged, far=tuple(far_from(judged.texts, self._amounts, self._asking)))
        if self._asks_otherwise(round):
            weighed = judged.rarest
        elif self._confirming and self._well_spelt:
            return judged
        else:
            weighed = evened(judged.weighed, share_of(self._partner(judged), round, self._priors))
        sibling = self._sibling(weighed) if judged.sibling else 0
        return replace(judged, weighed=weighed, scores=scores_of(weighed, judged.near), sibling=sibling)

    def enough(self, judged: JudgedRecord, round: int) -> int:
        """The bar of a round: higher where more neighbours would pass than can be excluded, or a sibling would."""
        priors, partner = self._priors, self._partner(judged)
        sibling = [judged.sibling] if judged.sibling else []
        if self._asks_otherwise(round):
            enough = plain_bar(judged.weighed, priors.otherwise if self._confirming else 0.0)
        else:
            above = up_to(partner, round, priors, spelt=self._well_spelt)
            enough = bar(judged.weighed, share_of(partner, round, priors), [*judged.scores, *sibling], above)
        excluded = [one.needle for one in self.excluded(judged, enough)]
        left = [
            score
            for row, score, named in zip(judged.near, judged.scores, judged.named, strict=True)
            if score >= enough and named and not any(holds(needle, row) for needle in excluded)
        ]
        most = sum(one.points for one in judged.weighed)
        # Conditions that were not chosen to tell the record from its like must not let one pass at all; but where a
        # record is one text and nothing else, too little would be left.
        strictly = self._asks_otherwise(round) and self._confirming
        enough = raised(enough, left, most if strictly else priors.above_others * partner, most)
        above = priors.above_household if self._siblings.expected else priors.above_siblings
        return raised(enough, sibling, above * partner, most)

    def _asks_otherwise(self, round: int) -> bool:
        """Whether the rarest words are asked for. Where words are often misspelt, the rarest are the misspelt ones."""
        return round == OTHERWISE and self._well_spelt

    def _partner(self, judged: JudgedRecord) -> float:
        """The points that a true partner should get, fewer where a record is one text and nothing else."""
        return expected(judged.weighed) * (1.0 if self._confirming else self._priors.single_attribute)

    @property
    def _well_spelt(self) -> bool:
        """Whether spelling is taken to be right."""
        return self._spelt >= WELL_SPELT

    @property
    def _confirming(self) -> bool:
        """Whether one attribute can confirm what the wording of another hides."""
        return len(self.attributes) > 1

    def excluded(self, judged: JudgedRecord, enough: int) -> list[Found]:
        """What speaks for a neighbour that the points would let pass."""
        passing = [place for place, score in enumerate(judged.scores) if score >= enough]
        named, apart = (
            [(judged.near[place], speaking[place]) for place in passing] for speaking in (judged.named, judged.apart)
        )
        return exclusions_of(named, judged.far, apart, self.exclusions)

    def _ties_words(self) -> bool:
        """Whether two words side by side are asked for as one. One lost loses both: where a record is one text, nothing
        makes up for that; where identifiers name things, words name the family only; and where words are often
        misspelt, or a table is too small to tell, one is often lost.
        """
        coded = max((profile.identifiers for profile in self._profiles.values()), default=0.0)
        spelt = self._well_spelt and len(self._texts) >= ENOUGH_ROWS
        return len(self.attributes) > 1 and coded < self._priors.codes_usual and spelt

    def _own(self, record: Record) -> Record:
        """A record as the table has it: whatever else it holds is not looked at."""
        return Record.of({name: record.attributes.get(name, "") for name in self.attributes})

    def _texts_of(self, record: Record) -> Texts:
        return {name: words.lower(record.attributes.get(name, "")) for name in self.attributes}

    def judge(self, record: Record) -> JudgedRecord:
        """The record's conditions and what its neighbours get: the same in all rounds, so kept."""
        texts = self._texts_of(record)
        key = tuple(texts.values())
        known = self._judged.get(key)
        if known is None:
            if len(self._judged) >= _KEPT:
                self._judged.clear()
            known = self._judged[key] = self._judge_texts(texts)
        return known

    def _judge_texts(self, texts: Texts) -> JudgedRecord:
        priors = self._priors
        itself = self._same.get(" | ".join(texts.values()), [])
        nearest = self._nearest(texts)
        near, others = self._others(texts, nearest)
        found = needles_of(texts, self._numeric, self._asking)
        identified = any(one.kind in IDENTIFYING for one in found)
        lonely = self._siblings.lonely(nearest)
        given = self._circumstances(texts, near, lonely)
        asked = [*found, *(phrases_of(texts, self._numeric, self._asking) if self._tied and not identified else ())]
        evidence = weigh_all([(one, self._rows_having(one, len(itself))) for one in asked], given)
        most = priors.conditions + (length_of(texts) > self._usual_length)
        most_small = priors.small_conditions if self._confirming else priors.small_of_one_text
        conditions = weigh(evidence, most, most_small, priors, self.places)
        named = [tuple(self._naming.otherwise(texts, row, identified=identified)) for row in others]
        # Where a record is one text and nothing else, too many true partners would be kept out.
        by_words = self._well_spelt and self._confirming and self.duplicates < priors.usual_duplicates
        apart = [
            tuple(set_apart(texts, row, self.rarity, len(self.table), self._asking)) if by_words and not names else ()
            for row, names in zip(others, named, strict=True)
        ]
        sibling = self._sibling(conditions) if lonely >= MOSTLY else 0
        scores = scores_of(conditions, others)
        rarest = tuple(plainly(evidence, most, priors, self.places))
        return JudgedRecord(
            texts, tuple(conditions), tuple(others), scores, tuple(named), tuple(apart), len(near), sibling, rarest
        )

    def _circumstances(self, texts: Texts, near: Sequence[Texts], lonely: float) -> Circumstances:
        return Circumstances(
            len(self.table),
            near,
            self._profiles,
            {name: len(words_in_order(text)) for name, text in texts.items()},
            self._spelt,
            self._singles_misspelt,
            self._priors,
            self._siblings,
            lonely,
        )

    def imagined(self, record: Record) -> Imagined:
        """Plausible partners of the record, and impostors: the same whenever it is opened."""
        texts = self._texts_of(record)
        others = [one.row for one in self._nearest(texts) if not self._alike.alike(texts, self._texts[one.row])]
        near = [self.table.records[row].attributes for row in others]
        return self._imagination.of(
            self._own(record).attributes, near, self._circumstances(texts, (), 0.0), self.rarity
        )

    @cached_property
    def _imagination(self) -> Imagination:
        return Imagination([one.attributes for one in self.table.records], self.attributes, self._typed)

    def _sibling(self, conditions: Sequence[Weighed]) -> int:
        return sum(one.points for one in conditions if self._siblings.has(one.evidence.found))

    def _nearest(self, texts: Texts) -> list[Neighbour]:
        reliance: dict[str, float] = {}
        for name, text in texts.items():
            worth = self._profiles[name].reliance(self._priors)
            for word in words_in_order(text):
                reliance[word] = max(worth, reliance.get(word, 0.0))
        itself = self._same.get(" | ".join(texts.values()), [])
        return self._neighbourhood.nearest(reliance, itself, self._priors.neighbours)

    def _rarity_of_shared(self, word: str) -> float:
        rows = len(self._column.rows_of_word(word))
        return self._neighbourhood.rarity(rows) if rows > 1 else 0.0

    def _others(self, texts: Texts, nearest: Sequence[Neighbour]) -> tuple[list[Texts], list[Texts]]:
        """Of the nearest own rows those that are like the record and not about the same thing, as far as what is
        written tells: what its words are weighed against. And of them those that are surely other things, also where
        the table has duplicates: only they must not get as many points as are asked for.
        """
        own = numbers_and_identifiers(texts.values())
        near = [
            self._texts[one.row]
            for one in nearest
            if one.likeness < self._priors.duplicate or numbers_and_identifiers(self._texts[one.row].values()) != own
        ]
        if self.duplicates < self._priors.usual_duplicates:
            return near, near
        return near, [row for row in near if not self._alike.alike(texts, row)]

    def _rows_having(self, found: Found, itself: int) -> int:
        """Own rows with the word; rows that say the very same as the record count once. Where the word stands in no
        other row, an identifier is counted inside other words too, where it would be found.
        """
        atom = found.needle.atom(self._case)
        if found.kind == "phrase":
            return max(1, len(self.table.column(atom.view).rows_of_words(found.needle.text)) - max(0, itself - 1))
        rows = len(self.table.column(atom.view).rows_of_word(found.needle.text))
        if found.kind in IDENTIFYING and rows <= 1:
            rows = len(self.table.rows_with(atom))
        return max(1, rows - max(0, itself - 1))

    def _known(self, judged: JudgedRecord) -> dict[tuple[object, ...], Evidence]:
        return {self._key(one.evidence.found.needle.atom(self._case)): one.evidence for one in judged.weighed}

    def _decides(self, atom: Atom, known: Mapping[tuple[object, ...], Evidence]) -> bool:
        """Whether a predicate, perhaps a person's, may be enough by itself: an identifier that one own row has."""
        if self._key(atom) in known:
            return known[self._key(atom)].unique
        texts = [words.lower(text) for text in atom.arguments if isinstance(text, str)]
        named = any(
            kind_of(word, self._asking.units) == "identifier" for text in texts for word in words_in_order(text)
        )
        return named and atom.view.attribute not in self._numeric and len(self.table.rows_with(atom)) <= 1

    def _points(self, judged: JudgedRecord, enough: int) -> Chain:
        if not judged.weighed:
            return NEVER
        conditions = [Condition(((one.evidence.found.needle.atom(self._case),),), one.points) for one in judged.weighed]
        excluded = [(one.needle.atom(self._case),) for one in self.excluded(judged, enough)]
        return Chain(tuple(conditions), enough, tuple(excluded))

    def _suggestion(self, record: Record, points: Chain, judged: JudgedRecord, round: int) -> Suggestion:
        text = text_of(points, lowered=self.lowered)
        read = Question(text, attributes=self.attributes, limits=self.limits)
        if read.formula is None:
            points, text = NEVER, text_of(NEVER, lowered=self.lowered)
            read = Question(text, attributes=self.attributes, limits=self.limits)
        assert read.formula is not None
        known = self._known(judged)
        reasons = [
            self._reason(condition.any_of[0][0], condition.points, known, judged.looked_at, points.bar)
            for condition in points.conditions
        ]
        for term in points.exclusions:
            having = min(len(self.table.rows_with(atom)) for atom in term)
            kind: Literal["exclusion", "far"] = "far" if term[0].function == "far_from" else "exclusion"
            reasons.append(Reason(term_text(term, plain=True), 0, kind, having, having, judged.looked_at))
        return Suggestion(text, points, tuple(reasons), own_rows(read.formula, self.table, self._own(record)), round)

    def _reason(
        self, atom: Atom, points: int, known: Mapping[tuple[object, ...], Evidence], near: int, enough: int
    ) -> Reason:
        rows, text = len(self.table.rows_with(atom)), call_of(atom, plain=True)
        one, alone = known.get(self._key(atom)), points >= enough
        if one is None:
            return Reason(text, points, "word", rows, 0, 0, alone)
        return Reason(text, points, one.kind, rows, one.apart, near, alone, one.half)

    @staticmethod
    def _key(atom: Atom) -> tuple[object, ...]:
        return atom.function, atom.arguments, atom.view.attribute
