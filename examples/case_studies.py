"""The publication's two printed case studies, asked on both engines.

In each, two owners hold a record of the same thing, disagree in the first round and agree in the second. Records and
annotations are those of the publication. (One annotation is printed without its last line, `ret $c`; it is added here,
as the language asks for it.)
"""

import blindlabel as bl


def all_of(*words: str) -> str:
    """An annotation as the publication writes them: a condition for each word, all of which must hold."""
    first, *others = words
    lines = ["$r = lower($r)", f'$c = is_in("{first}", $r)']
    lines += [f'$c = $c & is_in("{word}", $r)' for word in others]
    return "\n".join([*lines, "ret $c"])


CASES = {
    "Amazon and Google": (
        ("cakewalk sonar 6 studio", [all_of("cakewalk", "sonar"), all_of("cakewalk", "sonar")]),
        (
            "cakewalk sonar 6 studio edition software music production software",
            [all_of("cakewalk", "sonar", "6", "studio", "music"), all_of("cakewalk", "sonar")],
        ),
    ),
    "DBLP and ACM": (
        (
            '"Honey, I Shrunk the DBMS": Footprint, Mobility, and Beyond (Panel) | Praveen Seshadri'
            " | SIGMOD Conference | 1999",
            [all_of("honey", "i", "shrunk", "the", "dbms"), all_of("footprint", "mobility", "and", "beyond")],
        ),
        (
            "Honey, I shrunk the database: footprint, mobility, and beyond | Praveen Seshadri"
            " | International Conference on Management of Data | 1999",
            [
                all_of("honey", "shrunk", "the", "footprint,", "mobility,", "and", "beyond"),
                all_of("honey", "shrunk", "the", "footprint", "mobility,", "and", "beyond", "seshadri"),
            ],
        ),
    ),
}


def main() -> None:
    for title, sides in CASES.items():
        names = title.split(" and ")
        first, second = (
            bl.read_table([{"record": record}], name=name) for name, (record, _) in zip(names, sides, strict=True)
        )
        print(title)
        for number in (1, 2):
            for asker, other, (_, annotations) in ((first, second, sides[0]), (second, first, sides[1])):
                answers = {
                    engine: bl.ask(annotations[number - 1], other, engine)[0, 0] for engine in ("plain", "packed")
                }
                assert answers["plain"] == answers["packed"]
                print(
                    f"  round {number}: {asker.name} says {'yes' if answers['packed'] else 'no'} about {other.name}'s"
                )
        writers = tuple(lambda _record, number, asked=asked: asked[number - 1] for _, asked in sides)
        truth = bl.rehearse(first, second, rounds=2, writers=writers)
        (pair,) = truth.pairs
        print(f"  agreed in round {pair.round}: {'a match' if pair.label else 'no match'}")


if __name__ == "__main__":
    main()
