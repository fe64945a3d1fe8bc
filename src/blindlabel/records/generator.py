"""Synthetic tables with a known truth: two tables and the pairs that belong together. For demonstrations, tests and
benchmarks.

Persons are made after the manner of Febrl: the same error kinds (typing, scanning, hearing, swapped and missing values)
and the missing rates that the publication's table gives. Everything follows from the seed, on any machine. Nothing here
is secret, so `random` is right.

Errors are made in the rows of both tables, whether or not a row has a partner, and ids are random numbers: neither
gives the truth away.

The two houses write telephones, dates, codes and prices in formats of their own, so labels are good only if the
agreement names types. Formats are applied last and draw nothing at random.

The words that rows are made of are very common names, and invented ones joined from parts; nothing is taken from any
data set. Within a list, earlier words are drawn more often.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from random import Random

from blindlabel.errors import InputError
from blindlabel.records.table_files import write_csv
from blindlabel.records.tables import Table

Fields = dict[str, str]
Formats = Mapping[str, Callable[[str], str]]
"""How a house writes the values of some attributes, unless they are empty; the others stay as they are made."""

PERSON_ATTRIBUTES = ("given_name", "surname", "sex", "age", "title", "address_1", "phone_number")
PRODUCT_ATTRIBUTES = ("name", "brand", "price", "model", "released")
MISSING: Mapping[str, float] = {
    "given_name": 0.018, "surname": 0.013, "sex": 0.212, "age": 0.196, "title": 0.575, "address_1": 0.057,
    "phone_number": 0.056, "brand": 0.30, "price": 0.10,
}  # fmt: skip
"""Share of rows without a value: for persons as in the publication's Febrl table."""

LOST_ON_COPY = 0.2
"""Share of the missing values that are lost in a single row. The others are not known about the person at all, so they
are missing in every row about it.
"""

UNKNOWN_DETAIL = 0.2
"""Share of the products whose model no shop knows, and of those whose date of release no shop knows."""

CHANGES = (0.35, 0.30, 0.17, 0.10, 0.05, 0.03)
"""How often a row has 0, 1, … 5 changes."""

MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Size:
    """How much to make."""

    rows: int
    """Rows of each table."""
    duplicates: int
    """Rows of the second table that match a row of the first."""
    copies: int = 1
    """Rows of the second table that match the same row of the first, at most."""


@dataclass(frozen=True)
class GeneratedTables:
    """Two tables and the truth about them, as pairs of ids."""

    a: Table
    b: Table
    matches: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class EntityKind:
    """What a kind of entity is and how its rows go wrong."""

    attributes: tuple[str, ...]
    make: Callable[[Random, Sequence[Fields]], Fields]
    """A new entity; it may resemble some of those before."""
    damage: Callable[[Random, Fields], None]
    """One change to a row, in place. It never empties a value."""
    formats: tuple[Formats, Formats]
    """How the houses of the two tables write."""
    details: Callable[[Fields], Fields] = lambda _: {}
    """What both tables say about an entity without errors."""


def generate(kind: str, size: Size, seed: int) -> GeneratedTables:
    """Two tables of a kind (`persons` or `products`) and their matches."""
    if kind not in KINDS:
        raise InputError(f"There is no kind {kind!r} to generate; there are {', '.join(KINDS)}.")
    _check(size)
    chosen = KINDS[kind]
    random = Random(f"{kind} {seed}")  # noqa: S311 (nothing secret)
    entities: list[Fields] = []
    for _ in range(2 * size.rows - size.duplicates):
        entities.append(_with_unknowns(random, chosen.make(random, entities)))
    in_a = list(range(size.rows))
    # Every original is listed as often as it may be copied, so a sample of the list keeps to the limit.
    in_b = random.sample([entity for entity in in_a for _ in range(size.copies)], size.duplicates) + list(
        range(size.rows, len(entities))
    )
    random.shuffle(in_a)
    random.shuffle(in_b)
    ids = [f"{number:09d}" for number in random.sample(range(10**9), 2 * size.rows)]
    a = _table("a", ids[: size.rows], [_row(random, chosen, entities[entity]) for entity in in_a], chosen, 0)
    b = _table("b", ids[size.rows :], [_row(random, chosen, entities[entity]) for entity in in_b], chosen, 1)
    id_in_a = dict(zip(in_a, a.ids))
    matches = tuple((id_in_a[entity], id_b) for entity, id_b in zip(in_b, b.ids) if entity in id_in_a)
    return GeneratedTables(a, b, matches)


def write(generated: GeneratedTables, folder: Path, *, replace: bool = False) -> list[Path]:
    """Write a.csv, b.csv and matches.csv; refuses to replace files unless told to."""
    paths = [folder / name for name in ("a.csv", "b.csv", "matches.csv")]
    present = [path for path in paths if path.exists()]
    if present and not replace:
        raise InputError(f"{present[0]} already exists. Choose another folder, or replace it with --force.")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for path, table in zip(paths, (generated.a, generated.b)):
        write_csv(path, ("id", *table.attributes), [(own, *row) for own, row in zip(table.ids, table.rows)])
    write_csv(paths[2], ("id_a", "id_b"), generated.matches)
    return paths


def _check(size: Size) -> None:
    if not 1 <= size.rows <= MOST_ROWS:
        raise InputError(f"Rows must be 1 to {MOST_ROWS:,}, not {size.rows:,}.")
    if size.copies < 1:
        raise InputError("A row can have no fewer than 1 copy at most.")
    if not 0 <= size.duplicates <= size.rows:
        raise InputError(f"Duplicates must be 0 to the number of rows ({size.rows:,}), not {size.duplicates:,}.")


def _table(name: str, ids: Sequence[str], rows: Sequence[Fields], kind: EntityKind, house: int) -> Table:
    formats = kind.formats[house]

    def written(attribute: str, text: str) -> str:
        return formats[attribute](text) if text and attribute in formats else text

    return Table(
        name,
        tuple(ids),
        kind.attributes,
        tuple(tuple(written(attribute, row[attribute]) for attribute in kind.attributes) for row in rows),
    )


def _with_unknowns(random: Random, fields: Fields) -> Fields:
    """The entity without the values that nobody knows. Together with the losses in single rows this gives the missing
    rate.
    """
    for attribute in fields:
        rate = MISSING.get(attribute, 0.0)
        if random.random() < 1 - (1 - rate) / (1 - rate * LOST_ON_COPY):
            fields[attribute] = ""
    return fields


def _row(random: Random, kind: EntityKind, entity: Fields) -> Fields:
    """One table's row about an entity: changed here and there, and some values lost."""
    row = dict(entity)
    for _ in range(random.choices(range(len(CHANGES)), CHANGES)[0]):
        kind.damage(random, row)
    for attribute in row:
        if random.random() < MISSING.get(attribute, 0.0) * LOST_ON_COPY:
            row[attribute] = ""
    return row | kind.details(entity)


def _common(random: Random, words: Sequence[str]) -> str:
    """A word of the list; earlier ones come more often (after Zipf)."""
    return words[min(int(len(words) ** random.random() * 1.2) - 1, len(words) - 1)]


# The words


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split("|"))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, _, other in (pair.partition("=") for pair in text.split()))


FEMALE_NAMES = _words("""
    emma olivia anna sophie maria laura julia sarah emily hannah lisa charlotte grace amelia lucy chloe alice eva clara
    ella lena nina kate jessica rachel rebecca megan zoe ruby isla freya daisy molly elena sofia camila lucia paula
    carmen rosa teresa irene helena martha judith esther naomi leah miriam ruth deborah susan linda karen nancy betty
    helen sandra donna carol sharon michelle amanda melissa stephanie angela nicole heather diane julie joyce victoria
    kelly christina joan evelyn lauren andrea jacqueline gloria kathryn janice doris denise tammy marilyn amber danielle
    brittany diana abigail jane lori alexis tiffany kayla priya fatima aisha yuki mei ling ingrid astrid sigrid katarina
    """)
MALE_NAMES = _words("""
    james john thomas david michael daniel peter paul mark andrew william robert george henry jack oliver noah lucas leo
    max samuel benjamin alexander matthew joseph edward charles arthur oscar felix jonas simon adam nathan jacob luke
    ethan liam logan owen dylan callum connor ryan kevin brian jason scott eric stephen gregory patrick raymond jerry
    dennis walter tyler aaron jose adrian carlos luis miguel pablo diego marco antonio stefan martin frank klaus hans
    lars erik anders sven niels pieter johan tomas pavel ivan dmitri omar ali hassan ahmed yusuf raj arjun vikram kenji
    hiro wei chen phillip vincent russell louis howard eugene harry albert douglas keith gerald roger lawrence terry
    sean christian austin jesse dale glen neil graham stuart
    """)
SURNAMES = _words("""
    smith jones brown taylor wilson davies evans thomas johnson roberts walker wright robinson thompson white hughes
    edwards green hall wood harris lewis martin jackson clarke clark turner hill scott cooper morris ward moore king
    watson baker harrison morgan patel young allen mitchell james anderson phillips lee bell parker davis bennett miller
    cook shaw cox marshall murphy richards carter bailey gray mason reid stevens fisher webb palmer holmes rogers hunt
    knight mills grant barnes chapman pearson butler ellis stone garcia martinez lopez gonzalez rodriguez fernandez
    silva santos pereira costa rossi russo ferrari bianchi mueller schmidt schneider fischer weber meyer wagner becker
    hoffmann koch richter klein wolf neumann schwarz zimmermann nguyen tran kim park chen wang singh khan ali ahmed
    hussain novak kowalski nielsen hansen larsen andersson eriksson dubois laurent moreau lefevre fraser campbell
    stewart macdonald mackenzie macleod cameron douglas ferguson sinclair oconnor obrien kelly ryan sullivan doyle byrne
    walsh gallagher kennedy lynch quinn
    """)
SURNAME_STEMS = _words("""
    ash bram cart den elk fair gar hart ing kil lang mar nor oak pem quar rav sel thorn ul ver wes yar bex cran dun eld
    fen gold hol kes lin mor new pad ros sand tam wick
    """)
SURNAME_ENDS = _words("ton ley ford well worth man son field wood by ham stead bury gate more")

TITLES = {"f": ("ms", "mrs", "miss", "dr"), "m": ("mr", "mr", "mr", "dr")}

STREETS = _words("""
    station church park high mill victoria green school london york king queen albert north south chapel george garden
    bridge castle river lake forest meadow orchard cedar maple willow elm birch rowan hazel ivy rose lily heron robin
    swallow kestrel falcon badger fox stag harbour quarry foundry market college canal spring summer sunset ocean valley
    ridge summit granite marble copper silver amber coral jasper
    """)
STREET_STEMS = _words("""
    ald ban cor dal ever fern glen high kirk lower mont nether old penn red stony tall upper wind yew
    """)
STREET_ENDS = _words("brook dale combe hurst mere moor ridge shaw stone vale view water wick wold")
STREET_KINDS = _words("street road place crescent circuit avenue close court drive lane way terrace")

KEYBOARD = dict(
    _pairs("""
    a=qwsz b=vghn c=xdfv d=serfcx e=wsdr f=drtgvc g=ftyhbv h=gyujnb i=ujko j=huikmn k=jiolm l=kop m=njk n=bhjm o=iklp
    p=ol q=wa r=edft s=awedxz t=rfgy u=yhji v=cfgb w=qase x=zsdc y=tghu z=asx 0=9 1=2 2=13 3=24 4=35 5=46 6=57 7=68 8=79
    9=80
    """)
)
"""Keys that a finger may hit by mistake."""

LOOK_ALIKE = _pairs("""
    o=0 l=1 s=5 z=2 b=8 g=9 g=q m=rn d=cl w=vv i=l e=c h=n u=v n=ri ci=a 6=b 4=a nn=m f=t il=h y=v li=u
    """)
"""What a scanner takes for something else, either way."""

SOUND_ALIKE = _pairs("""
    ph=f ck=k ee=ea ll=l tt=t nn=n ss=s ie=y ey=y ai=ay ow=ou mac=mc sh=sch c=k z=s th=t er=ar or=er gh=g kn=n wr=r x=ks
    ei=ie v=f qu=kw oo=u ia=ya ce=se dge=ge tch=ch ise=ize
    """)
"""What sounds alike, either way."""

BRANDS = _words("""
    novara kestrix lumenor braxon veltano orbitek sunhaven polaris quintex daemar arcovia telmont fjordline mirabelle
    corvane zephyra halcyon tandem northgate alderon pixelon crestwell
    """)
PRODUCTS = _phrases("""
    digital camera| noise cancelling headphones| cordless drill| coffee maker| laser printer| wireless router| portable
    speaker| electric kettle| desk lamp| turntable| microwave oven| vacuum cleaner| hair dryer| memory card| camera
    lens| car stereo| dish washer| steam iron| phone case| external hard drive| alarm clock| air purifier| game
    controller| video projector
    """)
FEATURES = _phrases("""
    black| white| silver| stainless steel| compact| 5 piece| with remote control| bluetooth| usb| 2 year warranty|
    energy saving| high definition| 12 cup| rechargeable| water resistant| with carrying case| dual band| 1000 watt
    """)
ABBREVIATIONS = dict(
    _pairs("""
    black=blk white=wht silver=slv stainless=s/s with=w/ digital=dig wireless=wrls portable=port electric=elec
    external=ext high=hi definition=def warranty=wty piece=pc
    """)
)
"""How shops shorten words."""


# Persons


def _person(random: Random, before: Sequence[Fields]) -> Fields:
    sex = random.choice("fm")
    surname = _invented_or(random, SURNAMES, SURNAME_STEMS, SURNAME_ENDS)
    street = _invented_or(random, STREETS, STREET_STEMS, STREET_ENDS)
    person = {
        "given_name": _common(random, FEMALE_NAMES if sex == "f" else MALE_NAMES),
        "surname": surname,
        "sex": sex,
        "age": str(min(int(random.triangular(0, 99, 35)), 98)),
        "title": random.choice(TITLES[sex]),
        "address_1": f"{street} {_common(random, STREET_KINDS)}",
        "phone_number": f"0{random.choice('23478')} {random.randrange(10**8):08d}",
    }
    if before and random.random() < 0.15:  # households: people who share more than chance would have it
        relative = before[random.randrange(len(before))]
        for shared in ("surname", "address_1", "phone_number")[: random.randint(1, 3)]:
            person[shared] = relative[shared] or person[shared]
    return person


def _invented_or(random: Random, known: Sequence[str], stems: Sequence[str], ends: Sequence[str]) -> str:
    """A known name or, just as often, one that is joined from parts."""
    return random.choice(stems) + random.choice(ends) if random.random() < 0.5 else _common(random, known)


def _with_area_in_brackets(telephone: str) -> str:
    digits = telephone.replace(" ", "")
    return f"({digits[:2]}) {digits[2:6]}-{digits[6:]}"


_DAMAGED = {
    "given_name": 22, "surname": 24, "address_1": 27, "phone_number": 14, "age": 7, "title": 2, "sex": 1, "swap": 3,
}  # fmt: skip


def _damage_person(random: Random, row: Fields) -> None:
    attribute = random.choices(list(_DAMAGED), list(_DAMAGED.values()))[0]
    if attribute == "swap":
        if row["given_name"] and row["surname"]:
            row["given_name"], row["surname"] = row["surname"], row["given_name"]
    elif not row[attribute]:
        return
    elif attribute == "sex":
        row["sex"] = "m" if row["sex"] == "f" else "f"
    elif attribute == "title":
        row["title"] = random.choice(("mr", "ms", "mrs", "dr"))
    elif attribute == "age":
        row["age"] = str(max(0, int(row["age"]) + random.choice((-1, 1, -10, 10))))
    elif attribute == "phone_number":
        row["phone_number"] = typing_error(random, row["phone_number"])
    else:
        errors = (typing_error, scanning_error, hearing_error, spacing_error)
        row[attribute] = random.choices(errors, (4, 2, 3, 1))[0](random, row[attribute])


# Errors. Each gives another text, or the same one if it finds nothing to change; never an empty one.


def typing_error(random: Random, text: str) -> str:
    """A letter left out, doubled, hit beside, or two exchanged."""
    place = random.randrange(len(text))
    before, letter, after = text[:place], text[place], text[place + 1 :]
    how = random.randrange(4)
    if how == 0:
        return before + after if len(text) > 1 else text
    if how == 1:
        return before + letter + random.choice(KEYBOARD.get(letter, letter)) + after
    if how == 2:
        return before + random.choice(KEYBOARD.get(letter, letter)) + after
    return before + after[:1] + letter + after[1:]


def _alike(random: Random, text: str, pairs: Sequence[Sequence[str]]) -> str:
    possible = [(one, other) for pair in pairs for one, other in (pair, pair[::-1]) if one in text]
    if not possible:
        return text
    one, other = random.choice(possible)
    place = random.choice([place for place in range(len(text)) if text.startswith(one, place)])
    return text[:place] + other + text[place + len(one) :]


scanning_error = partial(_alike, pairs=LOOK_ALIKE)
"""A letter taken for one that looks alike."""
hearing_error = partial(_alike, pairs=SOUND_ALIKE)
"""A spelling taken for one that sounds alike."""


def spacing_error(random: Random, text: str) -> str:
    """A space too many or too few, or words in another order."""
    words = text.split()
    if len(words) > 1:
        return "".join(words) if random.random() < 0.5 else " ".join(words[1:] + words[:1])
    place = random.randrange(1, len(text)) if len(text) > 1 else 0
    return f"{text[:place]} {text[place:]}" if place else text


# Products


def _product(random: Random, before: Sequence[Fields]) -> Fields:
    if before and random.random() < 0.2:  # another model of the same thing: one digit apart
        like = before[random.randrange(len(before))]
        if like["brand"]:
            words = like["name"].split()
            words[1] = words[1][:-1] + str((int(words[1][-1]) + random.randint(1, 9)) % 10)
            return {**like, "name": " ".join(words)}
    brand = _common(random, BRANDS)
    letters = "".join(random.choices("abcdefghklmnprstvwx", k=random.randint(1, 3)))
    model = f"{letters}{random.choice(('', '-'))}{random.randrange(10, 10_000)}"
    features = random.sample(FEATURES, random.randint(1, 3))
    price = f"{random.randint(5, 900)}.{random.choice(('00', '50', '95', '99'))}"
    return {"name": " ".join([brand, model, _common(random, PRODUCTS), *features]), "brand": brand, "price": price}


def _damage_product(random: Random, row: Fields) -> None:
    words = row["name"].split()
    place = random.randrange(len(words))
    how = random.choices(("hyphen", "shorten", "drop", "move", "price", "typing"), (3, 3, 3, 2, 2, 1))[0]
    if how == "hyphen":
        words = [word.replace("-", "") if "-" in word else word for word in words]
    elif how == "shorten":
        words = [ABBREVIATIONS.get(word, word) for word in words]
    elif how == "drop" and len(words) > 3:
        del words[random.randrange(2, len(words))]
    elif how == "move":
        words.append(words.pop(place))
    elif how == "price" and row["price"]:
        row["price"] = f"{float(row['price']) * random.uniform(0.8, 1.2):.2f}"
    elif how == "typing":
        words[place] = typing_error(random, words[place])
    row["name"] = " ".join(words)


def _details_of_product(entity: Fields) -> Fields:
    """Model and date of release, if the shops know them. Models of the same thing come out on the same day."""
    brand, model, *others = entity["name"].split()
    own = Random(" ".join((brand, *others)))  # noqa: S311 (nothing secret)
    released = date(2005, 1, 1) + timedelta(days=own.randrange(15 * 365))
    return {
        "model": "" if own.random() < UNKNOWN_DETAIL else model,
        "released": "" if own.random() < UNKNOWN_DETAIL else released.isoformat(),
    }


def _letters_and_number(between: str) -> Callable[[str], str]:
    def written(model: str) -> str:
        number = model.lstrip(string.ascii_lowercase).lstrip("-")
        return model.removesuffix(number).rstrip("-") + between + number

    return written


def _day_first(iso: str) -> str:
    return ".".join(reversed(iso.split("-")))


def _with_comma(price: str) -> str:
    return price.removesuffix(".00").replace(".", ",")


KINDS: Mapping[str, EntityKind] = {
    "persons": EntityKind(PERSON_ATTRIBUTES, _person, _damage_person, ({}, {"phone_number": _with_area_in_brackets})),
    "products": EntityKind(
        PRODUCT_ATTRIBUTES,
        _product,
        _damage_product,
        (
            {"model": _letters_and_number("-"), "price": lambda price: f"{float(price):,.2f}"},
            {"model": _letters_and_number(" "), "price": _with_comma, "released": _day_first},
        ),
        _details_of_product,
    ),
}
"""What can be generated."""
