"""What a function of the language is: the kinds of entry in `functions.py`, which has one entry for each function.

No function is named here. Whoever walks over questions (checker, interpreter, rewriting, engines) asks these entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, Union

from blindlabel.language.families import Family
from blindlabel.language.limits import Limits


class Type(Enum):
    """What an expression is. A record can stand wherever a text can; a Boolean wherever a number can."""

    TEXT = "text"
    RECORD = "record"
    BOOLEAN = "Boolean"
    NUMBER = "number"


Clear = Union[str, int, Fraction]
"""A value that the asker knows: what predicates are asked about."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a clear argument, for a diagnostic or a refusal."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    hint: str = ""


NeedleUse = Literal["part", "value", "word", "words"]
"""What a clear text is of the text it is asked of: a part, the whole, one word, or words that are counted."""


class NeedleRecipe(Protocol):
    """What questions need to know about how records were prepared (`records.preparation.Recipe`)."""

    @property
    def lowered(self) -> bool:
        """Whether prepared records are in lower case."""

    def forms(self, attribute: str | None, needle: str, use: NeedleUse) -> frozenset[str]:
        """What a needle looks like in prepared values of an attribute, or in whole records (None)."""


Check = Callable[[Clear, Limits], "Problem | None"]
"""Looks at one value of a clear argument, under the limits of the agreement."""


@dataclass(frozen=True)
class Parameter:
    """One parameter. `clear` means: must not depend on the other record."""

    name: str
    type: Type
    clear: bool = False
    any_type: bool = False
    """Takes every type (the branches of `choose`)."""
    check: Check = lambda _value, _limits: None
    """What a clear argument must satisfy beyond its type."""
    use: NeedleUse = "part"
    """What a clear text is of the text it is asked of."""


@dataclass(frozen=True)
class Function:
    """What every function has: how it is called, and what a person reads about it."""

    name: str
    parameters: tuple[Parameter, ...]
    summary: str
    details: str
    example: str
    result: ClassVar[Type] = Type.TEXT

    @property
    def signature(self) -> str:
        """`name(parameter, …)`, as shown to people."""
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"

    @property
    def text_position(self) -> int:
        """Which parameter is the text of the other record, for a function that looks at one."""
        return next(i for i, parameter in enumerate(self.parameters) if not parameter.clear)

    def problem(self, arguments: tuple[Clear, ...], limits: Limits) -> Problem | None:
        """The first error among the clear arguments of a call, if any."""
        clear = [parameter for parameter in self.parameters if parameter.clear]
        found = (parameter.check(value, limits) for parameter, value in zip(clear, arguments, strict=True))
        return next((one for one in found if one is not None and one.severity == "error"), None)


class CaseRule(Enum):
    """What `lower` and `upper` of the text do to a predicate: what engines may leave out, because it follows."""

    IGNORED = "ignored"
    """The answer is the same for lower(text), upper(text) and the text itself."""
    NEEDLES = "needles"
    """Clear texts are found character by character: one with a capital letter is never found in lower(text), nor one
    with a small letter in upper(text), and a text without small letters is found in upper(text) exactly where its lower
    form is found in lower(text)."""
    ELEMENTS = "elements"
    """As `NEEDLES`, but for the elements of the family, not for the arguments (an edit may replace a letter)."""
    SEPARATE = "separate"
    """Nothing follows: each case is encoded by itself."""


@dataclass(frozen=True)
class Predicate(Function):
    """A function that says yes or no about one text of the other record."""

    result: ClassVar[Type] = Type.BOOLEAN
    meaning: Callable[[str, tuple[Clear, ...]], bool]
    """The definition: (text, clear arguments in order) to the answer."""
    family_of: Callable[[tuple[Clear, ...], Limits], Family]
    """The family that a call with these clear arguments is asked of."""
    asked: Callable[[tuple[Clear, ...]], tuple[str, ...]] = lambda arguments: (str(arguments[0]),)
    """The elements any of which makes the call true; by default the first clear argument. None at all: always false."""
    every_family: Callable[[Limits], tuple[Family, ...]] | None = None
    """The families that calls within the limits can be asked of, where that depends on their arguments."""
    always: Callable[[tuple[Clear, ...]], bool | None] = lambda _: None
    """The answer if the clear arguments alone decide it, else None."""
    case_rule: CaseRule = CaseRule.SEPARATE
    widest: Callable[[Limits], int] = lambda _: 1
    """The most elements that one call within the limits asks for."""

    @property
    def ignores_case(self) -> bool:
        """Whether `lower` and `upper` of the text do not matter."""
        return self.case_rule is CaseRule.IGNORED

    def all_families(self, limits: Limits) -> tuple[Family, ...]:
        """Every family that some call within the limits can be asked of."""
        return (self.family_of((), limits),) if self.every_family is None else self.every_family(limits)


@dataclass(frozen=True)
class Counting(Function):
    """A function that counts: how many of some predicates hold for one text of the other record."""

    result: ClassVar[Type] = Type.NUMBER
    meaning: Callable[[str, tuple[Clear, ...]], int]
    """The definition: (text, clear arguments in order) to the number."""
    each: Callable[[tuple[Clear, ...]], tuple[tuple[str, tuple[Clear, ...]], ...]]
    """The predicates that are counted, by name and clear arguments."""
