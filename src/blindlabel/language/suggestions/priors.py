"""Every number of the method that was chosen and not computed, in one place. The same for every table.

What was tuned on what, and what was kept apart, is written in docs/experiments.md ("How the suggestions were made").
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Priors:
    """How probably a true partner has something, and how much of it is enough."""

    # How probably a true partner has a thing of the record, before its attribute is looked at.
    word: float = 0.85
    single_word: float = 0.75
    """A word that no other own row has: it may be a misspelling."""
    identifier: float = 0.85
    number: float = 0.80
    initial: float = 0.30
    year: float = 0.95
    amount: float = 0.15
    """A price, a quantity, an age: two tables seldom state the same one."""
    most: float = 0.97

    # How far an attribute can be relied on.
    usual_words: float = 12.0
    """Up to this many words on average an attribute is a name, title or address; beyond it is text, told differently
    by everybody."""
    text_power: float = 2.0
    repeated: float = 0.2
    """What is left of an attribute whose values are all the same few (a category): tables name them differently."""
    filled: float = 0.5
    """How much missing values in the own table lower the chance that the other has one."""
    codes_usual: float = 0.6
    """Where this share of rows has an identifier, identifiers are how the table names things."""
    longer: float = 0.5
    """A record that says more than others says things its partner does not."""

    # Neighbours.
    neighbours: int = 12
    smoothing: float = 2.0
    """Rows that the rarity in the whole table counts for, beside the neighbours."""
    rarest: float = 0.01
    """Nothing is rarer than this among what could be mistaken for the record."""
    most_bits: float = 6.0
    duplicate: float = 0.75
    """An own row that shares this much, and differs in no number or identifier, may be about the same thing."""

    # Points and bars.
    conditions: int = 8
    bits_a_point: float = 2.0
    below: tuple[float, ...] = (1.0, 2.0, 2.0)
    """By round: how many standard deviations below the points that a true partner should get the bar lies."""
    missing_share: float = 0.7
    """What a missing year is worth, as a share of the right one."""
