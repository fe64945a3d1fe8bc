"""A formula as a JSON document, and back: what goes to another process, and what a question is known by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from blindlabel.errors import OutsideError
from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation, fold
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Case, View
from blindlabel.language.signatures import Clear


def _clear_document(value: Clear) -> Any:
    return {"fraction": [value.numerator, value.denominator]} if isinstance(value, Fraction) else value


def _read_clear(document: Any) -> Clear:
    if isinstance(document, dict):
        return Fraction(*document["fraction"])
    if isinstance(document, int):
        return document
    return str(document)


class _Nodes:
    """The algebra that lists nodes as JSON; a node comes to its place in the list."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []

    def _put(self, kind: str, **content: Any) -> int:
        self.listed.append({"kind": kind, **content})
        return len(self.listed) - 1

    def constant(self, value: bool) -> int:
        return self._put("constant", value=value)

    def atom(self, atom: Atom) -> int:
        view = {"attribute": atom.view.attribute, "case": atom.view.case}
        arguments = [_clear_document(argument) for argument in atom.arguments]
        return self._put("atom", function=atom.function, arguments=arguments, view=view)

    def negation(self, part: int) -> int:
        return self._put("not", parts=[part])

    def conjunction(self, parts: Sequence[int]) -> int:
        return self._put(Conjunction.__name__, parts=list(parts))

    def disjunction(self, parts: Sequence[int]) -> int:
        return self._put(Disjunction.__name__, parts=list(parts))

    def count(self, count: Count, parts: Sequence[int]) -> int:
        bounds = {"weights": list(count.weights), "low": count.low, "high": count.high}
        return self._put(Count.__name__, parts=list(parts), **bounds)


def formula_document(formula: Formula) -> list[dict[str, Any]]:
    """A formula as the list of its nodes, parts before wholes, parts by their place in the list; the last is the
    formula.
    """
    nodes = _Nodes()
    fold(formula, nodes)
    return nodes.listed


def read_formula(documents: Sequence[Mapping[str, Any]]) -> Formula:
    """The reverse."""
    nodes: list[Formula] = []
    for document in documents:
        kind = document["kind"]
        parts = tuple(nodes[place] for place in document.get("parts", ()))
        if kind == "constant":
            nodes.append(Constant(bool(document["value"])))
        elif kind == "atom":
            if document["function"] not in PREDICATES:
                raise OutsideError(f"There is no predicate {document['function']} here.")
            seen: Case = document["view"]["case"]
            arguments = tuple(_read_clear(argument) for argument in document["arguments"])
            nodes.append(Atom(document["function"], arguments, View(document["view"]["attribute"], seen)))
        elif kind == "not":
            nodes.append(Negation(parts[0]))
        elif kind == "Conjunction":
            nodes.append(Conjunction(parts))
        elif kind == "Disjunction":
            nodes.append(Disjunction(parts))
        else:
            nodes.append(Count(tuple(document["weights"]), parts, document["low"], document["high"]))
    return nodes[-1]
