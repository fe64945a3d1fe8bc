"""The suggester: built once from a table, then asked for one record and round at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from math import ceil, inf, log2
from statistics import median

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
    holds,
    set_apart,
    weigh_all,
)
from blindlabel.language.suggestions.imagined import Imagination, Imagined
from blindlabel.language.suggestions.judgement import Level, Verdict, own_rows, verdict
from blindlabel.language.suggestions.needles import (
    Asking,
    Found,
    Needle,
    Texts,
    kind_of,
    needles_of,
    numbers_and_identifiers,
)
from blindlabel.language.suggestions.own_table import REMEMBERED, OwnTable
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.profiles import (
    LIKE,
    MOST_ROWS,
    Neighbour,
    Patterns,
    length_of,
    misspelt,
    nearest,
    profiles_of,
    telling_apart,
    units_of,
)
from blindlabel.language.suggestions.suggestion import Reason, Suggestion
from blindlabel.language.suggestions.weighing import Weighed, bar, by_rarity, looser, stricter, weigh
from blindlabel.language.words import words_in_order


@dataclass(frozen=True)
class JudgedRecord:
    """A record's conditions and its neighbours."""

    weighed: tuple[Weighed, ...]
    rarest: tuple[Weighed, ...]
    """Other conditions, for when both sides have disagreed over these."""
    near: Sequence[Texts]
    """The nearest rows of the table that are other things, the most similar first."""
    speaking: Callable[[int], tuple[list[Found], list[Found]]]
    """What names each of them, by its place, and not the record (nothing if it may be about the same thing); and
    what sets it apart, where nothing names it.
    """

    @cached_property
    def scores(self) -> tuple[int, ...]:
        """The points that each of the nearest rows gets."""
        asked = [(one.points, one.evidence.found.needle) for one in self.weighed]
        return tuple(sum(points for points, needle in asked if holds(needle, row)) for row in self.near)


NEVER = Chain((), 1)
OTHERWISE = 2
"""In this round a record is asked for by other conditions: both sides have disagreed over the first."""


class Suggester:
    """Proposes questions about the records of one table.

    `records` is the whole own table, prepared; `lowered` says that preparation made it lower case; `functions` are the
    predicates that the agreement encodes; `exclusions`, `places` and the two views say what else it allows. A question
    that fits more other rows of the table than `most_others` would be too loose for the study: more points are asked
    for. `personal` are the attributes that members of a household do not share, where the criteria speak of one person:
    imagined relatives differ in the most telling of them. Without a date of birth among them (`born`) suggestions do
    not rest on them, for then a misspelt given name would keep the partner out. `matching` is how large a share of all
    pairs that are asked about is expected to match; without it, as in whole tables where each row has one partner.
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
        born: bool = True,
        matching: float | None = None,
        priors: Priors | None = None,
    ) -> None:
        self.attributes = tuple(attributes)
        self.limits = limits or Limits()
        self.lowered = lowered
        self.exclusions = exclusions
        self.places = tuple(places)[: self.limits.predicates]
        self.most_others = most_others
        self.table = OwnTable([self.own(one) for one in records], self.attributes)
        self.level = Level()
        """Of verdicts, where known pairs have set it."""
        self._priors = priors or Priors()
        self._case: Case = "exact" if lowered else "lower"
        self._column = self.table.column(View(None, self._case))
        self._typed, self._personal = frozenset(typed), frozenset(personal)
        self._judged = lru_cache(REMEMBERED)(self._judge)
        self._imagined = lru_cache(REMEMBERED)(self._imagine)
        rows = max(1, len(self.table.different))
        share, (few, many) = min(0.5, matching or 1 / rows), self._priors.others
        self._needed = log2((1 - share) / share)
        self._crowded = min(1.0, max(0.0, log2(1 / share / few) / log2(many / few)))
        self._names = self._by_content()
        looked_at = [self._texts_at(row) for row in range(0, rows, -(-rows // MOST_ROWS)) if len(records)]
        self._patterns = Patterns(looked_at)
        self._usual_length = median(map(length_of, looked_at or [{}]))
        relied_on = self._personal if born else frozenset[str]()
        self._given = self._seen_in(looked_at, rows, relied_on)
        self._well_spelt = self._given.spelt == 1
        asked, units = frozenset(DEFAULT_FUNCTIONS if functions is None else functions), units_of(looked_at)
        self._asking = Asking(asked, self.limits, whole, single_attributes, units, halves=not self._well_spelt)
        kinds = {name: profile.kind for name, profile in self._given.profiles.items()}
        self._numeric = frozenset(name for name, kind in kinds.items() if kind != "text")
        telling = relied_on
        if not telling and not self._well_spelt:  # else near rows and exclusions tell siblings apart better than this
            telling = telling_apart(looked_at, self._sibling_of)
        years = frozenset(name for name, kind in kinds.items() if kind == "year")
        self._naming = Naming(self._asking, years, self._well_spelt, telling)

    def _seen_in(self, looked_at: Sequence[Texts], rows: int, personal: Collection[str]) -> Circumstances:
        """What is the same for all records."""
        priors, (wrong, of_single) = self._priors, misspelt(looked_at)
        spelt = max(0.5, 1 - priors.misspelt * max(0.0, wrong - priors.usual_misspelt))
        household = frozenset(self._names).difference(personal) if personal else frozenset[str]()
        return Circumstances(rows, profiles_of(looked_at, self._names), priors, spelt, of_single, household)

    def _by_content(self) -> list[str]:
        """The attributes in an order that neither their names nor their places decide."""
        texts = {name: self.table.column(View(name, "exact")).texts for name in self.attributes}
        return sorted(self.attributes, key=lambda name: (len(set(texts[name])), sum(map(len, texts[name]))))

    def _sibling_of(self, texts: Texts) -> Texts | None:
        """The most similar row that is another thing of the same family."""
        like = (self._texts_at(one.row) for one in self._nearest(texts) if LIKE <= one.likeness < self._priors.nearly)
        return next(like, None)

    # -- what others build on

    def suggest(
        self, record: Record, round: int = 1, previous: Sequence[str] = (), *, loose: bool = False
    ) -> Suggestion:
        """A question about the partner of this record. `previous` are those asked in earlier rounds: one of them may be
        suggested again, for a pair that stays in doubt had better be discarded than labelled wrong; but not where the
        last was too `loose`. Nor is one suggested that fits more than `most_others`, as far as more points help.
        """
        asked, judged = 1 if loose else round, self.judge(record)
        if self._asks_otherwise(asked):
            judged = replace(judged, weighed=judged.rarest)
        enough = self.enough(judged, asked)
        while shared := self._shared(judged, enough):
            judged = replace(judged, weighed=tuple(one for one in judged.weighed if one is not shared))
            enough = self.enough(judged, asked)
        made = self._suggestion(record, self._points(judged, enough), judged, round)
        while made.own.others > self.most_others or (loose and made.text in previous):
            changed = stricter(made.chain, ())
            if changed is None:
                break
            made = self._suggestion(record, changed, judged, round)
        return replace(made, again=made.text in previous, otherwise=self._asks_otherwise(asked))

    def stricter(self, question: Formula | Chain, record: Record, round: int = 1) -> Suggestion | None:
        """A question a little stricter than this one, which a person may have written; None if there is none, or if it
        is not a chain.
        """
        judged, points = self.judge(record), _as_points(question)
        changed = points and stricter(points, self._points(judged, 1).conditions)
        return None if changed is None else self._suggestion(record, changed, judged, round)

    def looser(self, question: Formula | Chain, record: Record, round: int = 1) -> Suggestion | None:
        """A question a little looser than this one; None if there is none, if one condition that is no identifier of
        its own would then be enough, or if it is not a chain.
        """
        judged, points = self.judge(record), _as_points(question)
        known = self._known(judged)
        changed = points and looser(points, lambda one: all(self._decides(atom, known) for atom in one.atoms))
        return None if changed is None else self._suggestion(record, changed, judged, round)

    def verdict(self, question: Question, record: Record) -> Verdict:
        """What is to be thought of any question, suggested or not, that was written for this record."""
        own = self.own(record)
        return verdict(question, own, self.table, self._imagined(tuple(own.attributes.items())), self.level)

    def rarity(self, word: str) -> int:
        """In how many rows of the table a word stands, whatever its case."""
        return len(self._column.rows_of_word(words.lower(word)))

    # -- the steps

    def enough(self, judged: JudgedRecord, round: int) -> int:
        """The bar of a round: higher the rarer matches are, and where more neighbours pass than can be excluded."""
        priors, otherwise = self._priors, self._asks_otherwise(round)
        most = sum(one.points for one in judged.weighed)
        # Where a record is one text and nothing else, no other attribute confirms what the wording hides.
        partner = sum(one.points * one.evidence.partner for one in judged.weighed)
        partner *= 1.0 if self._confirming else priors.single_attribute
        if otherwise:
            share = self._by_crowd(priors.later if self._confirming else 0.0, priors.enough)
            enough = bar(judged.weighed, share * most, (), 0.0, self._needed)
        else:
            share, above = priors.enough, priors.above if self._well_spelt else priors.nearly
            if round > 1:
                share, above = self._by_crowd(priors.later, share), self._by_crowd(priors.later, above)
            more = self._crowded if round == 1 else 0.0
            enough = bar(judged.weighed, share * partner + more, judged.scores, above * partner, self._needed)
        excluded = [one.needle for one in self.excluded(judged, enough)]
        left = [
            score
            for place, (row, score) in enumerate(zip(judged.near, judged.scores, strict=True))
            if score >= enough and judged.speaking(place)[0] and not any(holds(needle, row) for needle in excluded)
        ]
        # Conditions that were not chosen to tell the record from its like must not let one pass at all; but where a
        # record is one text and nothing else, too little would be left.
        up_to = most if otherwise and self._confirming else priors.above_others * partner
        return min(most, max(enough, min(max(left) + 1, ceil(up_to - 1e-9)))) if left else enough

    def _shared(self, judged: JudgedRecord, enough: int) -> Weighed | None:
        """The least of the conditions that a household shares, where they are enough together and others are left."""
        shared = [one for one in judged.weighed if not self._given.household.isdisjoint(one.evidence.found.attributes)]
        alone = sum(one.points for one in shared) >= enough and len(shared) < len(judged.weighed)
        return min(shared, key=lambda one: one.points) if alone else None

    def _by_crowd(self, around_matches: float, in_whole_tables: float) -> float:
        """Between two values, by how many look-alikes there are for each match."""
        return around_matches + self._crowded * max(0.0, in_whole_tables - around_matches)

    def _asks_otherwise(self, round: int) -> bool:
        """Whether the rarest words are asked for. Where words are often misspelt, the rarest are the misspelt ones."""
        return round == OTHERWISE and self._well_spelt

    @property
    def _confirming(self) -> bool:
        """Whether one attribute can confirm what the wording of another hides."""
        return len(self.attributes) > 1

    def excluded(self, judged: JudgedRecord, enough: int) -> list[Found]:
        """What speaks for a neighbour that the points would let pass."""
        chosen: dict[Needle, Found] = {}
        passing = [place for place, score in enumerate(judged.scores) if score >= enough]
        for way in (0, 1):  # first what names them, then what sets them apart
            for row, speaking in ((judged.near[place], judged.speaking(place)[way]) for place in passing):
                if len(chosen) < self.exclusions and speaking and not any(holds(needle, row) for needle in chosen):
                    chosen[speaking[0].needle] = speaking[0]
        return list(chosen.values())

    def own(self, record: Record) -> Record:
        """A record as the table has it: whatever else it holds is not looked at."""
        return Record.of({name: record.attributes.get(name, "") for name in self.attributes})

    def _texts_of(self, record: Record) -> Texts:
        return {name: words.lower(record.attributes.get(name, "")) for name in self._names}

    def _texts_at(self, row: int) -> Texts:
        """What one of the table's different rows says."""
        return self._texts_of(self.table.records[self.table.different[row]])

    def judge(self, record: Record) -> JudgedRecord:
        """The record's conditions and what its neighbours get: the same in all rounds, so kept."""
        return self._judged(tuple(self._texts_of(record).items()))

    def _judge(self, items: tuple[tuple[str, str], ...]) -> JudgedRecord:
        priors, texts = self._priors, dict(items)
        near = [self._texts_at(one.row) for one in self._others(texts)]
        found = needles_of(texts, self._numeric, self._asking)
        identified = any(one.kind in IDENTIFYING for one in found)
        given = self._circumstances(texts, near)
        evidence = weigh_all([(one, self._rows_having(one)) for one in found], given)
        most = priors.conditions + (length_of(texts) > self._usual_length)
        # Where a record is one text and nothing else, too many true partners would be kept out.
        by_words = self._well_spelt and self._confirming

        @cache
        def speaking(place: int) -> tuple[list[Found], list[Found]]:
            named = self._naming.otherwise(texts, near[place], identified=identified)
            if named or not by_words:
                return named, []
            return [], set_apart(texts, near[place], self.rarity, given, self._asking)

        weighed, rarest = (way(evidence, most, priors, self.places) for way in (weigh, by_rarity))
        return JudgedRecord(weighed, rarest, near, speaking)

    def _circumstances(self, texts: Texts, near: Sequence[Texts]) -> Circumstances:
        lengths = {name: len(words_in_order(text)) for name, text in texts.items()}
        presence = self._patterns.presence(texts, self._given.profiles, self._priors)
        return replace(self._given, near=near, lengths=lengths, presence=presence)

    def imagined(self, record: Record) -> Imagined:
        """Plausible partners of the record, and impostors: the same whenever it is opened."""
        texts = self._texts_of(record)
        near = [self.table.records[self.table.different[one.row]].attributes for one in self._others(texts)]
        return self._imagination.of(self.own(record).attributes, near, self._circumstances(texts, ()), self.rarity)

    @cached_property
    def _imagination(self) -> Imagination:
        rows = [one.attributes for one in self.table.records]
        return Imagination(rows, self.attributes, self._typed, self._personal)

    def _imagine(self, items: tuple[tuple[str, str], ...]) -> tuple[Imagined, OwnTable]:
        made = self.imagined(Record.of(dict(items)))
        return made, OwnTable([*made.partners, *made.impostors], self.attributes)

    def _others(self, texts: Texts) -> list[Neighbour]:
        """The nearest rows of the table that are not about the same thing, as far as what is written tells."""
        own = numbers_and_identifiers(texts.values())
        return [
            one
            for one in self._nearest(texts)
            if one.likeness < self._priors.nearly or own != numbers_and_identifiers(self._texts_at(one.row).values())
        ]

    def _nearest(self, texts: Texts) -> list[Neighbour]:
        reliance: dict[str, float] = {}
        for name, text in texts.items():
            worth = self._given.profiles[name].reliance(self._priors)
            for word in words_in_order(text):
                reliance[word] = max(worth, reliance.get(word, 0.0))
        itself, most = sorted(texts.values()), self._priors.neighbours
        near = nearest(self._column, reliance, most + 1)
        return [one for one in near if sorted(self._texts_at(one.row).values()) != itself][:most]

    def _rows_having(self, found: Found) -> int:
        """Rows with the word. Where it stands in no other row, an identifier is counted inside other words too,
        where it would be found.
        """
        atom = found.needle.atom(self._case)
        rows = len(self.table.column(atom.view).rows_of_word(found.needle.text))
        if found.kind in IDENTIFYING and rows <= 1:
            rows = len(self.table.rows_with(atom))
        return max(1, rows)

    def _known(self, judged: JudgedRecord) -> dict[str, Evidence]:
        evidence = (one.evidence for one in judged.weighed)
        return {call_of(one.found.needle.atom(self._case), plain=True): one for one in evidence}

    def _decides(self, atom: Atom, known: Mapping[str, Evidence]) -> bool:
        """Whether a predicate, perhaps a person's, may be enough by itself: an identifier that only one row has."""
        one = known.get(call_of(atom, plain=True))
        if one is not None:
            return one.unique
        asked = [word for text in atom.arguments if isinstance(text, str) for word in words_in_order(words.lower(text))]
        named = any(kind_of(word, self._asking.units) == "identifier" for word in asked)
        return named and atom.view.attribute not in self._numeric and len(self.table.rows_with(atom)) <= 1

    def _points(self, judged: JudgedRecord, enough: int) -> Chain:
        if not judged.weighed:
            return NEVER
        conditions = [Condition(((one.evidence.found.needle.atom(self._case),),), one.points) for one in judged.weighed]
        excluded = [(one.needle.atom(self._case),) for one in self.excluded(judged, enough)]
        return Chain(tuple(conditions), enough, tuple(excluded))

    def _suggestion(self, record: Record, points: Chain, judged: JudgedRecord, round: int) -> Suggestion:
        if points.total > self.limits.total_weight or len(points.atoms) > self.limits.predicates:
            points = NEVER
        known, near, reasons = self._known(judged), len(judged.near), []
        for condition in points.conditions:
            atom, alone = condition.any_of[0][0], condition.points >= points.bar
            text, rows = call_of(atom, plain=True), self.table.count(atom)
            reason = Reason(text, condition.points, "word", rows, 0, 0, alone)
            if text in known:
                one = known[text]
                reason = replace(reason, kind=one.found.kind, apart=one.apart, nearest=near, half=one.found.half)
            reasons.append(reason)
        for term in points.exclusions:
            having = min(map(self.table.count, term))
            reasons.append(Reason(term_text(term, plain=True), 0, "exclusion", having, having, near))
        text, own = text_of(points, lowered=self.lowered), own_rows(points, self.table, self.own(record))
        return Suggestion(text, points, tuple(reasons), own, round)


def _as_points(question: Formula | Chain) -> Chain | None:
    return question if isinstance(question, Chain) else chain_of(question)
