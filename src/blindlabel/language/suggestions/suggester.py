"""The suggester: built once from a table, then asked for one record and round at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import inf, log2

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
from blindlabel.language.suggestions.needles import Asking, Found, Texts, kind_of, needles_of, numbers_and_identifiers
from blindlabel.language.suggestions.own_table import OwnTable
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.profiles import (
    LIKE,
    Neighbour,
    Neighbourhood,
    Patterns,
    Profile,
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
    expected,
    looser,
    plainly,
    raised,
    scores_of,
    stricter,
    weigh,
)
from blindlabel.language.words import words_in_order


@dataclass(frozen=True)
class JudgedRecord:
    """A record's conditions and its neighbours."""

    texts: Texts
    weighed: tuple[Weighed, ...]
    near: tuple[Texts, ...]
    """The nearest rows of the table that are other things, the likest first."""
    scores: tuple[int, ...]
    """The points of each of them."""
    speaking: Callable[[int], tuple[list[Found], list[Found]]]
    """What names each of them, by its place, and not the record (nothing where it may be about the same thing); and
    what sets it apart, where nothing names it.
    """
    rarest: tuple[Weighed, ...] = ()
    """Other conditions, for when both sides have disagreed over these."""
    lonely: bool = False
    """Whether hardly one of them is a sibling, so that one may stand in the other table alone."""


NEVER = Chain((), 1)
WELL_SPELT = 0.95
"""From here on spelling is taken to be right, so that what differs by a letter is another thing."""
MOSTLY = 0.75
"""With this share of nearest rows of the table that are no siblings, siblings stand in the other table rather."""
OTHERWISE = 2
"""In this round a record is asked for by other conditions: both sides have disagreed over the first."""
MOST_ROWS = 20_000
"""Rows that the table is judged by, evenly spread."""
_KEPT, _KEPT_IMAGINED = 4096, 64


class Suggester:
    """Proposes questions about the records of one table.

    `records` is the whole own table, prepared; `lowered` says that preparation made it lower case; `functions` are the
    predicates that the agreement encodes; `exclusions`, `places` and the two views say what else it allows. A question
    that fits more other rows of the table than `most_others` would be too loose for the study: more points are asked
    for. `matching` is how large a share of all pairs that are asked about is expected to match; without it, as in whole
    tables where each row has one partner.
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
        matching: float | None = None,
        priors: Priors | None = None,
    ) -> None:
        self._typed = frozenset(typed)
        self._profiles: dict[str, Profile] = {}
        self.attributes = tuple(attributes)
        self.limits = limits or Limits()
        self.lowered = lowered
        self.exclusions = exclusions
        self.places = tuple(places)[: self.limits.predicates]
        self.most_others = most_others
        self.table = OwnTable([self._own(one) for one in records], self.attributes)
        self._priors = priors or Priors()
        self._case: Case = "exact" if lowered else "lower"
        self._rows = max(1, len(self.table.different))
        share = min(0.5, matching or 1 / self._rows)
        self._needed = log2((1 - share) / share)
        few, many = self._priors.others
        self._crowded = min(1.0, max(0.0, log2(1 / share / few) / log2(many / few)))
        looked_at = [self._texts_at(row) for row in range(0, self._rows, -(-self._rows // MOST_ROWS)) if len(records)]
        self._profiles = profiles_of(looked_at, self._by_content())
        looked_at = [{name: row[name] for name in self._profiles} for row in looked_at]
        self._patterns = Patterns(looked_at, self._profiles)
        self._usual_length = usual_length(looked_at)
        wrong = misspelt(looked_at)
        self._singles_misspelt = wrong.of_single
        self._spelt = max(0.5, 1 - self._priors.misspelt * max(0.0, wrong.of_all - self._priors.usual_misspelt))
        self._asking = Asking(
            frozenset(DEFAULT_FUNCTIONS if functions is None else functions),
            self.limits,
            whole,
            single_attributes,
            units_of(looked_at),
            halves=not self._well_spelt,
        )
        self._numeric = frozenset(name for name, profile in self._profiles.items() if profile.kind != "text")
        self._column = self.table.column(View(None, self._case))
        self._neighbourhood = Neighbourhood(self._column)
        self._judged: dict[tuple[str, ...], JudgedRecord] = {}
        self._imagined: dict[str, tuple[Imagined, OwnTable]] = {}
        self.level = Level()
        """Of verdicts, where known pairs have set it."""
        # Where words are spelt right, near rows and exclusions tell siblings apart better than this.
        persons = Siblings.of_persons(self._profiles, personal) if personal else None
        self._siblings = persons or (Siblings() if self._well_spelt else Siblings.of(looked_at, self._sibling_of))

    def _by_content(self) -> list[str]:
        """The attributes in an order that neither their names nor their places decide."""
        texts = {name: self.table.column(View(name, "exact")).texts for name in self.attributes}
        return sorted(self.attributes, key=lambda name: (len(set(texts[name])), sum(map(len, texts[name]))))

    def _sibling_of(self, texts: Texts) -> Texts | None:
        """The likest own row that is another thing of the same family."""
        like = [one for one in self._nearest(texts) if LIKE <= one.likeness < self._priors.duplicate]
        return self._texts_at(like[0].row) if like else None

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
        """A question a little stricter than this one, which a person may have written, or None if there is none, or
        where it is no chain.
        """
        points = question if isinstance(question, Chain) else chain_of(question)
        judged = self.judge(record)
        more = self._points(judged, 1).conditions
        changed = None if points is None else stricter(points, more)
        return None if changed is None else self._suggestion(record, changed, judged, round)

    def looser(self, question: Formula | Chain, record: Record, round: int = 1) -> Suggestion | None:
        """A question a little looser than this one, or None if there is none, where one condition would be enough that
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
        """In how many rows of the table a word stands, whatever its case."""
        return len(self._column.rows_of_word(words.lower(word)))

    # -- the steps

    def in_round(self, judged: JudgedRecord, round: int) -> JudgedRecord:
        """What is asked in a round: round 2 asks for other conditions, where it may."""
        if not self._asks_otherwise(round):
            return judged
        return replace(judged, weighed=judged.rarest, scores=scores_of(judged.rarest, judged.near))

    def enough(self, judged: JudgedRecord, round: int) -> int:
        """The bar of a round: higher the rarer matches are, where more neighbours would pass than can be excluded, or
        a sibling would.
        """
        priors, partner = self._priors, self._partner(judged)
        most = sum(one.points for one in judged.weighed)
        sibling = [self._sibling(judged.weighed)] if judged.lonely else []
        if self._asks_otherwise(round):
            share = self._by_crowd(priors.otherwise if self._confirming else 0.0, priors.otherwise_crowded)
            enough = bar(judged.weighed, share * most, (), 0.0, self._needed)
        else:
            first = priors.above_neighbours if self._well_spelt else priors.above_misspelt
            share, above = priors.enough, first
            if round > 1:
                share, above = (self._by_crowd(*one) for one in ((priors.again, share), (priors.above_later, first)))
            more = self._by_crowd(0.0, priors.more_crowded) if round == 1 else 0.0
            others = [*judged.scores, *sibling]
            enough = bar(judged.weighed, share * partner + more, others, above * partner, self._needed)
        excluded = [one.needle for one in self.excluded(judged, enough)]
        left = [
            score
            for place, (row, score) in enumerate(zip(judged.near, judged.scores, strict=True))
            if score >= enough and judged.speaking(place)[0] and not any(holds(needle, row) for needle in excluded)
        ]
        # Conditions that were not chosen to tell the record from its like must not let one pass at all; but where a
        # record is one text and nothing else, too little would be left.
        strictly = self._asks_otherwise(round) and self._confirming
        enough = raised(enough, left, most if strictly else priors.above_others * partner, most)
        above = priors.above_household if self._siblings.expected else priors.above_siblings
        return raised(enough, sibling, above * partner, most)

    def _by_crowd(self, around_matches: float, in_whole_tables: float) -> float:
        """Between two values, by how many look-alikes there are for each match."""
        return around_matches + self._crowded * max(0.0, in_whole_tables - around_matches)

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
        named, apart = ([(judged.near[place], judged.speaking(place)[way]) for place in passing] for way in (0, 1))
        return exclusions_of(named, apart, self.exclusions)

    def _own(self, record: Record) -> Record:
        """A record as the table has it: whatever else it holds is not looked at."""
        return Record.of({name: record.attributes.get(name, "") for name in self.attributes})

    def _texts_of(self, record: Record) -> Texts:
        return {name: words.lower(record.attributes.get(name, "")) for name in self._profiles or self.attributes}

    def _texts_at(self, row: int) -> Texts:
        """What one of the table's different rows says."""
        return self._texts_of(self.table.records[self.table.different[row]])

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
        nearest = self._nearest(texts)
        near = [self._texts_at(one.row) for one in nearest if self._is_other(texts, one)]
        found = needles_of(texts, self._numeric, self._asking)
        identified = any(one.kind in IDENTIFYING for one in found)
        lonely = self._siblings.lonely(nearest)
        given = self._circumstances(texts, near, lonely)
        evidence = weigh_all([(one, self._rows_having(one)) for one in found], given)
        most = priors.conditions + (length_of(texts) > self._usual_length)
        most_small = priors.small_conditions if self._confirming else priors.small_of_one_text
        conditions = weigh(evidence, most, most_small, priors, self.places)
        # Where a record is one text and nothing else, too many true partners would be kept out.
        by_words = self._well_spelt and self._confirming

        @cache
        def speaking(place: int) -> tuple[list[Found], list[Found]]:
            named = self._naming.otherwise(texts, near[place], identified=identified)
            if named or not by_words:
                return named, []
            return [], set_apart(texts, near[place], self.rarity, self._rows, given.doubtful, self._asking)

        scores, rarest = scores_of(conditions, near), tuple(plainly(evidence, most, priors, self.places))
        return JudgedRecord(texts, tuple(conditions), tuple(near), scores, speaking, rarest, lonely >= MOSTLY)

    def _is_other(self, texts: Texts, near: Neighbour) -> bool:
        """Whether a row of the table is not about the same thing as the record, as far as what is written tells."""
        if near.likeness < self._priors.duplicate:
            return True
        own, others = (numbers_and_identifiers(one.values()) for one in (texts, self._texts_at(near.row)))
        return own != others

    def _circumstances(self, texts: Texts, near: Sequence[Texts], lonely: float) -> Circumstances:
        return Circumstances(
            self._rows,
            near,
            self._profiles,
            {name: len(words_in_order(text)) for name, text in texts.items()},
            self._spelt,
            self._singles_misspelt,
            self._patterns.presence(texts, self._priors),
            self._priors,
            self._siblings,
            lonely,
        )

    def imagined(self, record: Record) -> Imagined:
        """Plausible partners of the record, and impostors: the same whenever it is opened."""
        texts = self._texts_of(record)
        others = [one.row for one in self._nearest(texts) if self._is_other(texts, one)]
        near = [self.table.records[self.table.different[row]].attributes for row in others]
        return self._imagination.of(
            self._own(record).attributes, near, self._circumstances(texts, (), 0.0), self.rarity
        )

    @cached_property
    def _imagination(self) -> Imagination:
        return Imagination([one.attributes for one in self.table.records], self.attributes, self._typed)

    def _sibling(self, conditions: Sequence[Weighed]) -> int:
        """The points of a sibling that has what is shared more often than not."""
        return sum(one.points for one in conditions if self._siblings.share(one.evidence.found) >= 0.5)

    def _nearest(self, texts: Texts) -> list[Neighbour]:
        reliance: dict[str, float] = {}
        for name, text in texts.items():
            worth = self._profiles[name].reliance(self._priors)
            for word in words_in_order(text):
                reliance[word] = max(worth, reliance.get(word, 0.0))
        itself = self._same.get(" ".join(sorted(texts.values())), [])
        return self._neighbourhood.nearest(reliance, itself, self._priors.neighbours)

    @cached_property
    def _same(self) -> dict[str, list[int]]:
        """Rows that say the same, whatever their case."""
        found: dict[str, list[int]] = {}
        for row in range(len(self.table.different)):
            found.setdefault(" ".join(sorted(self._texts_at(row).values())), []).append(row)
        return found

    def _rows_having(self, found: Found) -> int:
        """Own rows with the word. Where it stands in no other row, an identifier is counted inside other words too,
        where it would be found.
        """
        atom = found.needle.atom(self._case)
        rows = len(self.table.column(atom.view).rows_of_word(found.needle.text))
        if found.kind in IDENTIFYING and rows <= 1:
            rows = len(self.table.rows_with(atom))
        return max(1, rows)

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
        if points.total > self.limits.total_weight or len(points.atoms) > self.limits.predicates:
            points = NEVER
        known = self._known(judged)
        reasons = [
            self._reason(condition.any_of[0][0], condition.points, known, len(judged.near), points.bar)
            for condition in points.conditions
        ]
        for term in points.exclusions:
            having = min(self.table.count(atom) for atom in term)
            reasons.append(Reason(term_text(term, plain=True), 0, "exclusion", having, having, len(judged.near)))
        text, own = text_of(points, lowered=self.lowered), own_rows(points, self.table, self._own(record))
        return Suggestion(text, points, tuple(reasons), own, round)

    def _reason(
        self, atom: Atom, points: int, known: Mapping[tuple[object, ...], Evidence], near: int, enough: int
    ) -> Reason:
        rows, text = self.table.count(atom), call_of(atom, plain=True)
        one, alone = known.get(self._key(atom)), points >= enough
        if one is None:
            return Reason(text, points, "word", rows, 0, 0, alone)
        return Reason(text, points, one.kind, rows, one.apart, near, alone, one.half)

    @staticmethod
    def _key(atom: Atom) -> tuple[object, ...]:
        return atom.function, atom.arguments, atom.view.attribute
