"""Small random questions and records for the gates engine: few letters, so that needles hit, and edges (case, blanks,
foreign letters).
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation
from blindlabel.language.record import Record, View

ATTRIBUTES = ("name", "year")

texts = st.one_of(
    st.text(alphabet="abAB1 ", max_size=8),
    st.text(alphabet="ab9.-| \t\x00", max_size=8),
    st.sampled_from(["canon", "Canon A1", "1999", "-2.5", "a 12", "", "|", "ba b", "24-70", "Jonson", "4560488"]),
)
telephones = st.sampled_from(["456-0488", "+1 310/456-0488", "0488"])
dates = st.sampled_from(["1980-05-17", "2001-02-03", "2001-03-02", "2001-02-13", "no"])
needles = st.one_of(
    st.text(alphabet="abAB1 ", max_size=4), st.sampled_from(["a", "é", "canon", "A1", "\x00", "19", "b b", "café"])
)
records = st.builds(lambda name, year: Record.of({"name": name, "year": year}), texts, texts)
views = st.builds(View, st.sampled_from([None, *ATTRIBUTES]), st.sampled_from(["exact", "lower", "upper"]))
numbers = st.sampled_from([Fraction(n) for n in (-3, 0, 1, 9, 12, 1999, 10**12)] + [Fraction(-5, 2), Fraction(99, 10)])

atoms: st.SearchStrategy[Formula] = st.one_of(
    st.builds(
        lambda function, needle, view: Atom(function, (needle,), view),
        st.sampled_from(["is_in", "starts_with", "ends_with", "equals", "has_word", "sounds_like"]),
        needles,
        views,
    ),
    st.builds(lambda view: Atom("is_empty", (), view), views),
    st.builds(
        lambda word, distance, view: Atom("similar", (word, distance), view), needles, st.sampled_from([1, 2]), views
    ),
    st.builds(lambda low, high, view: Atom("between", (low, high), view), numbers, numbers, views),
    st.builds(lambda number, view: Atom("far_from", (number,), view), numbers, views),
    st.builds(lambda year, view: Atom("near_year", (year,), view), st.sampled_from([1000, 1998, 2001, 2999]), views),
    st.builds(lambda telephone, view: Atom("same_telephone", (telephone,), view), telephones, views),
    st.builds(lambda date, view: Atom("near_date", (date,), view), dates, views),
)


@st.composite
def counts(draw: st.DrawFn, parts: st.SearchStrategy[Formula]) -> Formula:
    chosen = tuple(draw(st.lists(parts, min_size=1, max_size=5)))
    weights = tuple(draw(st.lists(st.integers(1, 6), min_size=len(chosen), max_size=len(chosen))))
    low = draw(st.integers(0, sum(weights)))
    return Count(weights, chosen, low, draw(st.integers(low, sum(weights))))


def _larger(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Negation, parts), st.builds(Conjunction, several), st.builds(Disjunction, several), counts(parts)
    )


questions: st.SearchStrategy[Formula] = st.recursive(
    st.one_of(atoms, st.builds(Constant, st.booleans())), _larger, max_leaves=5
)
