"""The agreement: everything that the parties of a study settle beforehand, as one TOML file that a person can read.

1. It is complete: two parties with the same agreement prepare, encode, ask and count in the same way.
2. Its hash is taken over its values, not over its text: comments, order and spacing do not matter. Every message names
   the hash.
3. Nothing in it is secret. The salt is random and makes every study's hash its own.
4. Everything that is wrong with it is reported at once, each point with its place in the file.
5. A setting is declared once, in its section (see `settings`). A new setting is a new field there; the file, its
   comments, the engines' terms and the table in `docs/reference/settings.md` follow from it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import secrets
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Annotated, Any, Literal

from pydantic import StringConstraints, ValidationError

from blindlabel.engines.interface import Encoded, Terms
from blindlabel.errors import InputError
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.protocol import account
from blindlabel.protocol.labels import MOST_ROUNDS, pairings
from blindlabel.protocol.sampling import Sampling
from blindlabel.protocol.shape import COORDINATOR, Label, Name, Shape, canonical
from blindlabel.records import preparation as preparing
from blindlabel.records.preparation import Recipe
from blindlabel.records.types import TYPES, Conventions
from blindlabel.settings import Declared, Setting, declared, taken

VERSION = 2
LARGEST_FILE = 4 * 2**20
DEFAULT_CRITERIA = "Two records match when they are about the same real-world entity."

Prose = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


@dataclass(frozen=True, kw_only=True)
class Preparation(Conventions):
    """What is done to every value before anything else."""

    version: Annotated[int, Setting("The version of what steps and types mean.")] = preparing.VERSION
    steps: Annotated[tuple[Label, ...], Setting(f"Applied to every value, in order: {', '.join(preparing.STEPS)}.")] = (
        preparing.DEFAULT_STEPS
    )
    types: Annotated[
        dict[Label, Label],
        Setting(f"Types of attributes: {', '.join(TYPES)} (where none is named).", example='telephone = "telephone"'),
    ] = field(default_factory=dict)
    too_long: Annotated[
        Literal["refuse", "cut"], Setting('A text beyond the lengths below is refused ("refuse") or shortened ("cut").')
    ] = "refuse"


@dataclass(frozen=True, kw_only=True)
class Encoding(Encoded):
    """What is encrypted of a record, and so what can be asked about it."""

    engine: Annotated[
        Label,
        Setting('"packed" (the default), "plain" (NO protection: for rehearsals only), or one that is installed.'),
    ] = "packed"


class Budget(Shape):
    """What the study may reveal at most, counted by the coordinator and refused beyond."""

    records_asked: Annotated[
        int | None, Setting("Questions of one owner over all rounds; absent: rounds times records.", 1, 10**9)
    ] = None
    most_yes: Annotated[
        int, Setting("Records of one owner that one question may say yes to; beyond, it is too loose.", 1, 10**9)
    ] = 5


class Agreement(Shape):
    """What the parties of a study agreed on."""

    version: Annotated[int, Setting("The version of this file's form.")] = VERSION
    name: Annotated[Label, Setting("What the study is called.")]
    criteria: Annotated[
        Prose, Setting("When are two records a match? In words, for the people who write the questions.")
    ]
    owners: Annotated[
        tuple[Name, ...],
        Setting("The organisations that hold a table, two or more: small letters, digits and hyphens."),
    ]
    attributes: Annotated[
        tuple[Label, ...], Setting("What questions can name, in order. Each owner maps its own columns to these.")
    ]
    rounds: Annotated[
        int,
        Setting(
            "How often a record is asked at most; pairs without agreement after that are discarded.", 1, MOST_ROUNDS
        ),
    ] = 3
    deadline: Annotated[
        str,
        StringConstraints(pattern=r"^(\d{4}-\d{2}-\d{2})?$"),
        Setting('The day the study shall be done, as "2030-01-31"; empty: none.'),
    ] = ""
    release: Annotated[
        Literal["matches", "labels", "none"],
        Setting("What owners get at the end: agreed matches, all agreed labels (says more of the others), or nothing."),
    ] = "matches"
    salt: Annotated[
        str,
        StringConstraints(pattern=r"^[0-9a-f]{32}$"),
        Setting("Random, new for every study; hashing is salted with it. Not secret."),
    ]
    preparation: Preparation = Preparation()
    sampling: Sampling = Sampling()
    encoding: Encoding = Encoding()
    limits: Limits = Limits()
    budget: Budget = Budget()

    @property
    def hash(self) -> str:
        """What every message names: BLAKE2b of the canonical text of all values, in hexadecimal."""
        return hashlib.blake2b(canonical(_values(self)), digest_size=32, person=b"bl-agreement").hexdigest()

    @property
    def pairings(self) -> list[tuple[str, str]]:
        """Every two owners."""
        return pairings(self.owners)

    @property
    def records_asked(self) -> int:
        """Questions that one owner may ask over all rounds."""
        return self.budget.records_asked or self.rounds * self.sampling.records

    def peers(self, owner: str) -> list[str]:
        """The other owners, sorted."""
        return sorted(other for other in self.owners if other != owner)

    @property
    def recipe(self) -> Recipe:
        """How values are prepared."""
        agreed = self.preparation
        return Recipe.of(agreed.steps, agreed.types, taken(Conventions, agreed))

    def lengths(self) -> preparing.Lengths:
        """The part that preparation needs."""
        return taken(preparing.Lengths, self.preparation, self.encoding)

    def terms(self) -> Terms:
        """The part that engines need."""
        return taken(
            Terms,
            self.encoding,
            self.sampling,
            attributes=self.attributes,
            agreement_hash=bytes.fromhex(self.hash),
            salt=bytes.fromhex(self.salt),
            case="lower" if self.recipe.lowered else "both",
            limits=self.limits,
            key_bits=account.key_must_bear(self.exposure),
        )

    @property
    def exposure(self) -> account.Exposure:
        """The part that the account of bits needs, but for what the engine says (`parties.accounting`)."""
        return account.Exposure(
            records=self.sampling.records,
            owners=len(self.owners),
            rounds=self.rounds,
            most_yes=self.budget.most_yes,
            release=self.release,
            offers=account.OFFERS_PER_RECORD * self.sampling.records if self.sampling.by_keys else 0,
            chosen=int(self.sampling.share * self.sampling.records) if self.sampling.by_keys else 0,
            named=self.sampling.named_bits,
            named_to="coordinator, by row numbers" if self.sampling.by_row else "everybody, from the agreement",
            shown=self.sampling.most_shown,
            shown_bits=self.encoding.record_length * log2(sys.maxunicode + 1) if self.sampling.most_shown else 0.0,
            listed=max(self.sampling.tables.values(), default=0) if self.sampling.by_list else 0,
        )


def new(name: str, owners: Sequence[str], attributes: Sequence[str], **other: Any) -> Agreement:
    """A new agreement with its own salt; `other` sets any other field. Wrong values are reported as for a file."""
    values = {
        "name": name,
        "owners": list(owners),
        "attributes": list(attributes),
        "salt": secrets.token_hex(16),
    } | other
    values.setdefault("criteria", DEFAULT_CRITERIA)
    return _from_values(values, "The agreement")


def from_text(text: str, *, source: str = "The agreement") -> Agreement:
    """Read an agreement from TOML; an `InputError` names everything that is wrong with it."""
    if len(text) > LARGEST_FILE:
        raise InputError(f"{source} is larger than {LARGEST_FILE // 2**20} MB.")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source} is not valid TOML: {error}.") from error
    return _from_values(values, source)


def _from_values(values: dict[str, Any], source: str) -> Agreement:
    version = values.get("version", VERSION)
    if isinstance(version, int) and version < VERSION:
        raise InputError(
            f"{source} is of an older version ({version}; this program speaks {VERSION}): make a new one with"
            " `blindlabel coordinator new`."
        )
    try:
        agreement = Agreement.model_validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        raise _wrong(source, [_sentence(problem) for problem in error.errors(include_url=False)]) from error
    problems = list(_contradictions(agreement))
    if problems:
        raise _wrong(source, problems)
    return agreement


def _wrong(source: str, problems: Sequence[str]) -> InputError:
    listed = "\n".join(f"  - {problem}" for problem in problems)
    return InputError(f"{source} cannot be used:\n{listed}")


def _sentence(problem: Any) -> str:
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"{place} is missing"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{place} is not a setting of an agreement"
    if problem["type"] == "string_pattern_mismatch":
        return f"{place}: {problem['input']!r} is not of the form that `blindlabel help settings` gives"
    return f"{place}: {str(problem['msg'])[:1].lower()}{str(problem['msg'])[1:]}"


def _contradictions(agreement: Agreement) -> Iterator[str]:
    """Everything wrong that the shape alone does not refuse."""
    if agreement.version != VERSION:
        yield f"version is {agreement.version}, and this program speaks version {VERSION}"
    if agreement.preparation.version != preparing.VERSION:
        yield (
            f"preparation.version is {agreement.preparation.version}, and this program prepares by version"
            f" {preparing.VERSION}"
        )
    if len(agreement.owners) < 2:
        yield "owners: at least two are needed"
    if len(set(agreement.owners)) != len(agreement.owners):
        yield "owners: a name stands twice"
    if COORDINATOR in agreement.owners:
        yield f"owners: no owner can be called {COORDINATOR!r}"
    if not agreement.attributes:
        yield "attributes: at least one is needed"
    if len(set(agreement.attributes)) != len(agreement.attributes):
        yield "attributes: a name stands twice"
    if agreement.deadline:
        try:
            datetime.date.fromisoformat(agreement.deadline)
        except ValueError:
            yield f"deadline: there is no day {agreement.deadline}"
    yield from _contradictions_of_preparation(agreement)
    yield from _contradictions_of_sampling(agreement)
    yield from _contradictions_of_encoding(agreement)


def _contradictions_of_preparation(agreement: Agreement) -> Iterator[str]:
    try:
        agreement.recipe  # noqa: B018 (made to be checked)
    except InputError as error:
        yield f"preparation: {error}"
    for attribute in agreement.preparation.types:
        if attribute not in agreement.attributes:
            yield f"preparation.types: {attribute!r} is not one of the attributes"
    country = agreement.preparation.country
    if country and not (country.isascii() and country.isdigit() and len(country) <= 3):
        yield f"preparation.country: {country!r} is not a country code; it has one to three digits, as 1 or 49"


def _contradictions_of_sampling(agreement: Agreement) -> Iterator[str]:
    sampling = agreement.sampling
    yield from sampling.contradictions(agreement.owners, agreement.attributes)
    if sampling.by_list and agreement.release == "labels":
        yield 'release: "labels" would tell owners which pairs of the list were drawn, and so its partners'
    if agreement.records_asked < sampling.records:
        yield (
            f"budget.records_asked: {agreement.records_asked} questions do not suffice for one round of"
            f" {sampling.records} records"
        )


def _contradictions_of_encoding(agreement: Agreement) -> Iterator[str]:
    encoding = agreement.encoding
    if not encoding.encode_whole and not encoding.encode_attributes:
        yield "encoding: whole and attributes are both off, so nothing could be asked"
    if not encoding.functions:
        yield "encoding.functions: at least one is needed"
    for function in encoding.functions:
        if function not in PREDICATES:
            yield f"encoding.functions: there is no {function!r}; there are {', '.join(sorted(PREDICATES))}"
    if encoding.attribute_length is not None and encoding.attribute_length > encoding.record_length:
        yield "encoding.attribute_length is larger than encoding.record_length"


def compare(first: Agreement, second: Agreement) -> list[str]:
    """What differs between two agreements, one sentence each; empty if they are the same."""
    return [
        f"{place}: {_shown(one)} here, {_shown(other)} there"
        for place, one, other in _differences("", _values(first), _values(second))
    ]


def _values(agreement: Agreement) -> dict[str, Any]:
    """All values, under the names that the file uses."""
    return agreement.model_dump(mode="json", by_alias=True)


def _differences(place: str, first: Any, second: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            yield from _differences(f"{place}.{key}" if place else key, first.get(key), second.get(key))
    elif first != second:
        yield place, first, second


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."


_HEAD = """\
# An agreement of a blindlabel study. All parties read it, and all use exactly this one: its hash stands in every
# message. Change what you need, then send it round with `blindlabel coordinator invite`. Nothing in it is secret.
"""


def to_text(agreement: Agreement) -> str:
    """The agreement as TOML with a comment beside every setting."""
    parts = [_HEAD + _lines(agreement, "")]
    parts += [f"[{name}]\n{_lines(getattr(agreement, name), name)}" for name in _sections()]
    return "\n".join(parts)


def _sections() -> dict[str, Any]:
    """The agreement's sections: those of its fields that are not settings themselves."""
    own = {found.field for found in declared(Agreement)}
    return {name: field.annotation for name, field in Agreement.model_fields.items() if name not in own}


def _lines(section: Any, place: str) -> str:
    """The settings of a section; a table of its own (positions by owner) comes last."""
    lines, tables = [], []
    for found in declared(type(section)):
        value = getattr(section, found.field)
        if isinstance(value, dict):
            tables += list(_table(f"{place}.{found.name}", found, value))
            continue
        lines.append(f"# {found.setting.sentence}")
        # TOML has no "none": an absent setting is shown as a comment.
        lines.append(f"# {found.name} = " if value is None else f"{found.name} = {_value(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _table(place: str, found: Declared, values: dict[str, Any]) -> Iterator[str]:
    yield f"# {found.setting.sentence}"
    if values:
        yield f"[{place}]"
        yield from (f"{_key(name)} = {_value(value)}" for name, value in sorted(values.items()))
    else:  # an example, as a comment: a real table needs the names of owners or attributes
        yield from (f"# [{place}]", *(f"# {line}" for line in found.setting.example.splitlines()))


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    """A TOML value. JSON text is TOML for strings without control characters beyond the escapes both know, numbers,
    and lists of them.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def advice(agreement: Agreement, today: datetime.date) -> Iterator[str]:
    """What is worth a second look in an agreement, one sentence for each point."""
    if agreement.criteria.strip() == DEFAULT_CRITERIA:
        yield (
            "The criteria are the ones that stand there by default. Owners will judge by them: say when two records of"
            " these tables match."
        )
    if is_overdue(agreement, today):
        yield f"The deadline {agreement.deadline} has passed already."
    if agreement.encoding.engine == "plain":
        yield "The plain engine encrypts nothing. It is for rehearsals only."
    if agreement.preparation.too_long == "cut":
        yield "What is too long is cut, and a match can be lost that way; `owner check` says how many rows that meets."
    if agreement.release == "labels":
        yield 'Owners get all labels (release = "labels"), which say more about the other table than matches do.'


def is_overdue(agreement: Agreement, today: datetime.date) -> bool:
    """Whether the day of the deadline has passed."""
    return bool(agreement.deadline) and today > datetime.date.fromisoformat(agreement.deadline)
