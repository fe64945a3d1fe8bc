"""Every number of the method that was chosen and not computed, in one place. The same for every table.

What was tuned on what, and what was kept apart, is written in docs/laboratory/experiments.md ("How the suggestions were
made").
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Priors:
    """How probably a true partner has something, and how much of it is enough."""

    # How probably a true partner has a thing of the record, before its attribute is looked at.
    word: float = 0.87
    single_word: float = 0.62
    """A word that no other row of the table has, where many such words look misspelt."""
    singles_misspelt: float = 0.15
    """Where this share of them does, they are many; the fewer do, the more such a word is a word like any other."""
    identifier: float = 0.85
    piece: float = 0.80
    number: float = 0.95
    initial: float = 0.5
    run_together: float = 0.4
    """What is left of a word of two letters where names have initials: it may be two of them ("hv" for "h v")."""
    initials_usual: float = 0.2
    """Where this share of an attribute's words are single letters, its names have initials."""
    unusual_number: float = 0.4
    """What is left of a number in an attribute that has none elsewhere: a page, a leftover of the copying."""
    numbers_usual: float = 0.3
    """Where this share of an attribute's values have a number, numbers are how things are named."""
    year: float = 0.87
    amount: float = 0.45
    """A price: two tables seldom state the same one."""
    count: float = 0.75
    """A whole number: an age, a quantity, a size."""
    most: float = 0.97

    # How far an attribute can be relied on.
    usual_words: float = 11.5
    """Up to this many words on average an attribute is a name, title or address; beyond it is text, told differently
    by everybody."""
    text_power: float = 1.5
    repeated: float = 0.5
    """What is left of an attribute whose values are all the same few (a category): tables name them differently."""
    filled: float = 0.47
    """How much missing values in the owner's table lower the chance that the other has one."""
    stray_code: float = 0.15
    """What is left of an identifier in an attribute that has none elsewhere: a stock number of the owner's table."""
    codes_usual: float = 0.6
    """Where this share of rows has an identifier, identifiers are how the table names things."""
    usual_length: float = 2.0
    longer: float = 1.0
    """A record that says more than others says things its partner does not."""
    later: float = 0.2
    """How much less probable the last words of a long text are than its first."""

    misspelt: float = 8.0
    """How much each misspelt word of the table beyond the usual lowers the chance of any word."""
    usual_misspelt: float = 0.015
    coded: float = 0.13
    """How much less plain words count where things are named by identifiers."""
    digits: float = 0.94
    """How far identifiers of digits alone can be relied on, compared with those of letters and digits."""

    # What could be mistaken for the record. Nothing is rarer than this among it: the other table holds things of the
    # same family that the owner's table does not.
    neighbours: int = 12
    smoothing: float = 2.7
    """Rows that the rarity in the whole table counts for, beside the neighbours."""
    rarest_word: float = 0.19
    rarest_number: float = 0.06
    rarest_identifier: float = 0.004
    rarest_beside_identifier: float = 0.38
    """Words of a record that has an identifier: they name the family, and the identifier its member."""
    most_bits: float = 5.8
    duplicate: float = 0.9
    """A row of the table that shares this much, and differs in no number or identifier, may be about the same thing."""

    of_family: float = 0.5
    """Where words are often misspelt and the nearest rows of the table are no siblings: how far what could be mistaken
    for the record is taken for a sibling all the same.
    """
    of_household: float = 0.25
    """The same where the criteria speak of one person, however words are spelt."""
    far: float = 0.3
    """Where words are often misspelt: how much telling a record from any other counts, beside telling it from its like.
    Any one word may be damaged, so a question must rest on more of them."""
    often_misspelt: float = 0.25
    """Spelling lowered by this much is misspelt often."""

    # Points and bars.
    conditions: int = 7
    """Conditions at most; one more for a record that says more than half of the others."""
    small_conditions: int = 5
    small_of_one_text: int = 4
    """Conditions worth one point, at most: more of them only repeat what the others say; all the more where a record is
    one text and nothing else."""
    bits_a_point: float = 2.0
    single_attribute: float = 0.6
    """Where a record is one text and nothing else, this share of what would be enough otherwise: there is no second
    attribute to confirm what the wording hides."""
    usually_had: float = 0.45
    """What a partner has less probably than this is worth fewer points, in proportion."""
    others: tuple[float, float] = (50.0, 1000.0)
    """Pairs for each match: up to the first number, as in samples around matches and in small tables, look-alikes are
    too few to be asked about; from the second on they are as many as in whole tables. What follows is for the one
    and, `crowded`, for the other."""
    enough: float = 0.69
    more_crowded: float = 1.0
    """In round 1: the share of the points that a true partner should get which is enough, and points more."""
    again: float = 0.4
    """The same when the first conditions are asked for again; in whole tables, as in round 1."""
    otherwise: float = 0.5
    otherwise_crowded: float = 0.7
    """When the rarest words are asked for: the share of their points that is enough. Where a record is one text and
    nothing else, any points are, around matches, that are more than one condition has."""
    least_likely: float = 0.3
    commonest: float = 0.06
    """What a partner has less probably than this is not asked for then, nor what a larger share of the table's rows
    has, but where too little is left.
    """
    rare_rows: tuple[int, int] = (2, 20)
    """Own rows up to which such a word is worth 3 points, and 2."""
    above_neighbours: float = 1.15
    above_misspelt: float = 0.9
    above_later: float = 0.55
    """Up to which share of them the bar is raised above the likest other row of the table: in round 1, in round 1 if
    words are often misspelt (a true partner may lack any of them), and in later rounds.
    """
    above_others: float = 0.8
    """In every round: up to which share of them it is raised above other rows of the table that no exclusion keeps out.
    """
    above_siblings: float = 0.9
    above_household: float = 1.15
    """In every round: up to which share of them it is raised above what a sibling in the other table should get; and a
    member of the household, where the criteria speak of one person."""
