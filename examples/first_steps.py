"""Two small tables, a question written by hand, suggested questions, and their answers without and with encryption."""

import blindlabel as bl

SHOP = [
    {"id": "s1", "name": "Sony turntable PSLX350H", "price": 149.0},
    {"id": "s2", "name": "Canon EF 24-70mm f/2.8L USM", "price": 1299.0},
    {"id": "s3", "name": "Sanus VM400S silver TV mount", "price": 79.99},
]
DEALER = [
    {"id": "d1", "name": "Canon 2470 lens", "price": None},
    {"id": "d2", "name": "SANUS wall mount, silver, VM400S", "price": 82},
    {"id": "d3", "name": "Sony PS-LX350H belt-drive turntable", "price": 150},
]


def main() -> None:
    shop, dealer = bl.read_table(SHOP, name="shop"), bl.read_table(DEALER, name="dealer")

    question = bl.Question('ret is_in("canon", lower($r)) & (is_in("24-70", $r) | is_in("2470", $r))')
    print(question.explain())
    print("by hand:", [row["name"] for row in dealer if question(row)])

    wrong = bl.Question('ret is_inn("canon", $r)')
    print("wrong:", wrong.problems[0].message, wrong.problems[0].hint)

    questions = bl.suggest(shop)
    clear, encrypted = bl.ask(questions, dealer, "plain"), bl.ask(questions, dealer, "packed")
    assert (clear == encrypted).all()
    for own, answers in zip(shop.ids, encrypted, strict=True):
        print(f"{own}:", [other for other, yes in zip(dealer.ids, answers, strict=True) if yes])


if __name__ == "__main__":
    main()
