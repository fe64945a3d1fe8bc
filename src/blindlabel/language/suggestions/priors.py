"""Every number of the method that was chosen and not computed, in one place. The same for every table.

What was tuned on what, and what was kept apart, is written in docs/laboratory/suggestions.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Priors:
    """How probably a true partner has something, and how much of it is enough."""

    # How probably a true partner has a thing of the record, before its attribute is looked at.
    word: float = 0.87
    """A word, a year, an identifier."""
    single_word: float = 0.62
    """A word that no other row of the table has, where many such words look misspelt."""
    singles_misspelt: float = 0.15
    """Where this share of them does, they are many; the fewer do, the more such a word is a word like any other."""
    piece: float = 0.8
    """A piece of an identifier; a whole number: an age, a quantity, a size."""
    most: float = 0.97
    """A number in a text, and anything at most."""
    half: float = 0.5
    """An initial; a price, which two tables rarely state alike. What is left of a value that is always one of a few,
    and of a number where none is usual. How much missing values in the owner's table lower the chance that the other
    has one. What a partner has less probably than this is worth fewer points."""

    usual: float = 0.25
    """What this share of words, values or rows have or are is usual there: initials, numbers, identifiers, misspelt
    words. What is less probable is not asked for as the rarest. How often what could be mistaken for a person is of its
    household, where the criteria speak of one; and what telling it from any other record counts, where words are often
    misspelt (any one may be damaged, so a question must rest on more of them)."""
    usual_words: float = 12.0
    """Up to this many words on average an attribute is a name, title or address; beyond it is text, told differently
    by everybody."""
    text_power: float = 1.5
    usual_codes: float = 0.6
    """Where this share of rows has an identifier, identifiers are how the table names things."""
    stray_code: float = 0.15
    """What is left of an identifier where none is usual: a stock number of the owner's table. How much less plain words
    count where things are named by identifiers."""
    usual_length: float = 2.0
    """A record that says more than this many times what others say has things that its partner does not."""
    late: float = 0.2
    """How much less probable the last words of a long text are than its first."""
    misspelt: float = 8.0
    """How much each misspelt word of the table beyond the usual lowers the chance of any word. Up to the usual,
    spelling is taken to be right, so that what differs by a letter is another thing."""
    usual_misspelt: float = 0.02
    digits: float = 0.94
    """How far identifiers of digits alone can be relied on, compared with those of letters and digits."""

    # What could be mistaken for the record. Nothing is rarer than this among it: the other table holds things of the
    # same family that the owner's table does not.
    neighbours: int = 12
    smoothing: float = 2.7
    """Rows that the rarity in the whole table counts for, beside the neighbours."""
    rarest_word: float = 0.19
    """Twice that beside an identifier: words name the family then, and the identifier its member."""
    rarest_number: float = 0.06
    rarest_identifier: float = 0.004
    most_bits: float = 5.8
    commonest: float = 0.1
    """A word of a larger share of rows may stand in any record: it is not asked for as the rarest, nor excluded."""

    # Points and bars.
    conditions: int = 7
    """Conditions at most; one more for a record that says more than half of the others."""
    small: int = 4
    """Conditions worth one point, at most: more of them only repeat what the others say."""
    bits_a_point: float = 2.0
    single_attribute: float = 0.6
    """Where a record is one text and nothing else, this share of what would be enough otherwise: there is no second
    attribute to confirm what the wording hides."""
    others: tuple[float, float] = (50.0, 1000.0)
    """Pairs for each match: up to the first number, as in samples around matches and in small tables, look-alikes are
    too few to be asked about; from the second on they are as many as in whole tables."""
    enough: float = 0.7
    """The share of the points that a true partner should get which is enough; in whole tables, a point more in round 1.
    """
    later: float = 0.45
    """The same in later rounds, around matches."""
    rare_rows: tuple[int, int] = (2, 20)
    """Rows up to which a word is worth 3 points, and 2, when the rarest are asked for."""
    above: float = 1.15
    """Up to which share of what a true partner should get the bar is raised above the most similar other row. A
    condition that a partner has only so much more probably than others is idle."""
    nearly: float = 0.9
    """The same where words are often misspelt: a true partner may lack any of them. Rows that share this much, and
    differ in no number or identifier, may be about the same thing."""
    above_others: float = 0.8
    """The same above other rows of the table that no exclusion keeps out."""
