"""The checker: names, types, and what a question may ask, reported as diagnostics.

What it lets through, the interpreter can run and `rewriting` can turn into a formula. It knows the attributes of the
agreement (None: any attribute is accepted) and how records are prepared. Needles are prepared here, like the values
they are compared with, and nowhere else: later stages see them as they will be looked for. A needle that no prepared
record can contain is reported at once, even if it excludes. The checker goes through all statements, also those after a
`ret`, and reports everything it finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

from blindlabel.language import tree, words
from blindlabel.language.diagnostics import Diagnostic, error, nearest, warning
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.limits import Limits
from blindlabel.language.record import TextSource, View, cased
from blindlabel.language.signatures import CaseRule, Clear, Function, NeedleRecipe, NeedleUse, Predicate, Type

_ADVICE_ON_NUMBERS = 'Texts are compared with equals("value", text), numbers in texts with between(text, low, high).'
_ADVICE = {
    (Type.TEXT, Type.BOOLEAN): 'Ask something about it, for example is_in("word", text).',
    (Type.RECORD, Type.BOOLEAN): 'Ask something about it, for example is_in("word", $r).',
    (Type.NUMBER, Type.BOOLEAN): "Compare it with a number, for example >= 2.",
    (Type.TEXT, Type.NUMBER): _ADVICE_ON_NUMBERS,
    (Type.RECORD, Type.NUMBER): _ADVICE_ON_NUMBERS,
    (Type.TEXT, Type.RECORD): "Only $r and lower($r) have attributes.",
}


_OTHER_NAMES = {"contains": "is_in", "includes": "is_in", "has": "has_word", "word": "has_word", "is": "equals"}
"""What people may call functions that have another name here."""


@dataclass(frozen=True)
class ValueKind:
    """What the checker knows about a value: its type; where a text may come from; the value of a constant."""

    type: Type
    leaves: frozenset[TextSource] = frozenset()
    constant: Fraction | None = None


@dataclass
class _Variable:
    kind: ValueKind | None
    assigned: tree.Assign | None
    read: bool = False


@dataclass
class _Check:
    attributes: Sequence[str] | None
    limits: Limits
    recipe: NeedleRecipe | None
    variables: dict[str, _Variable] = field(
        default_factory=lambda: {"r": _Variable(ValueKind(Type.RECORD, frozenset([View()])), None, True)}
    )
    found: list[Diagnostic] = field(default_factory=list)
    needles: dict[tuple[int, int], str] = field(default_factory=dict)
    """Needles that are looked for in another form than they were written, by call (its `id`) and argument."""

    def error(self, code: str, message: str, span: tree.Span, hint: str = "") -> None:
        self.found.append(error(code, message, span, hint))

    def warning(self, code: str, message: str, span: tree.Span, hint: str) -> None:
        self.found.append(warning(code, message, span, hint))

    # -- statements

    def question(self, question: tree.Tree) -> None:
        returned: tree.Return | None = None
        unreachable: tree.Statement | None = None
        past: list[_Variable] = []
        for statement in question.statements:
            if returned and not unreachable:
                unreachable = statement
            kind = self.kind(statement.value)
            if isinstance(statement, tree.Return):
                returned = returned or statement
                reason = "ret gives the answer, which is a Boolean"
                self.expect(kind, Type.BOOLEAN, statement.value, reason, "ret-not-boolean")
                continue
            if statement.name in self.variables:
                past.append(self.variables[statement.name])
            self.variables[statement.name] = _Variable(kind, statement)
        if returned is None:
            end = question.statements[-1].span if question.statements else tree.NOWHERE
            message = "The question has no ret, so it never gives an answer."
            self.error("no-ret", message, end, "End it with ret and the condition.")
        elif unreachable is not None:
            message = "This is never reached, because the ret before it ends the question."
            self.warning("unreachable", message, unreachable.span, "Remove it, or the earlier ret.")
        for variable in [*past, *self.variables.values()]:
            if not variable.read and variable.assigned is not None:
                message = f"${variable.assigned.name} is set here, but never used after."
                hint = "Use it, or remove the statement."
                self.warning("unused-variable", message, variable.assigned.name_span, hint)

    # -- expressions: None means that an error has been reported already

    def kind(self, node: tree.Expression) -> ValueKind | None:
        if isinstance(node, tree.Text):
            return ValueKind(Type.TEXT, frozenset([node.value]))
        if isinstance(node, tree.Number):
            return ValueKind(Type.NUMBER, constant=node.value)
        if isinstance(node, tree.Boolean):
            return ValueKind(Type.BOOLEAN, constant=Fraction(int(node.value)))
        if isinstance(node, tree.Variable):
            return self.variable(node)
        if isinstance(node, tree.Attribute):
            return self.attribute(node)
        if isinstance(node, tree.Not):
            kind = self.expect(self.kind(node.operand), Type.BOOLEAN, node.operand, "! turns a Boolean around")
            return kind and ValueKind(Type.BOOLEAN, constant=None if kind.constant is None else 1 - kind.constant)
        if isinstance(node, tree.Operation):
            return self.chain(node)
        if isinstance(node, tree.Compare):
            return self.compare(node)
        return self.call(node)

    def variable(self, node: tree.Variable) -> ValueKind | None:
        known = self.variables.get(node.name)
        if known is not None:
            known.read = True
            return known.kind
        close = nearest(node.name, self.variables)
        hint = f"Did you mean ${close}?" if close else "Set it in a line above, or use $r, the other record."
        if self.attributes and node.name in self.attributes:
            hint = f"Did you mean $r.{node.name}, the attribute of the other record?"
        self.error("unknown-variable", f"There is no variable ${node.name}.", node.span, hint)
        return None

    def attribute(self, node: tree.Attribute) -> ValueKind | None:
        kind = self.kind(node.record)
        if self.attributes is not None and node.name not in self.attributes:
            close = nearest(node.name, self.attributes)
            hint = f"Did you mean {close}? " if close else ""
            message = f"Records have no attribute {node.name}."
            self.error("unknown-attribute", message, node.name_span, hint + f"There are: {', '.join(self.attributes)}.")
            return None
        if kind is None:
            return None
        if kind.type is not Type.RECORD:
            message = f"A {kind.type.value} has no attributes."
            self.error("wrong-type", message, node.record.span, "Only $r and lower($r) have attributes.")
            return None
        views = frozenset(View(node.name, leaf.case) for leaf in kind.leaves if isinstance(leaf, View))
        return ValueKind(Type.TEXT, views)

    def chain(self, node: tree.Operation) -> ValueKind | None:
        wanted = Type.BOOLEAN if node.operator in "&|" else Type.NUMBER
        does = {"+": "adds numbers and", "*": "multiplies numbers and"}.get(node.operator, "joins")
        reason = f"{node.operator} {does} Booleans"
        kinds = [self.expect(self.kind(operand), wanted, operand, reason) for operand in node.operands]
        if any(kind is None for kind in kinds):
            return None
        constants = [kind.constant for kind in kinds if kind is not None]
        if node.operator == "*" and constants.count(None) > 1:
            message = "A product may hold only one part that depends on the other record."
            self.error("not-a-constant", message, node.span, "To ask for both, join them with &.")
            return None
        known = [constant for constant in constants if constant is not None]
        return ValueKind(wanted, constant=_folded(node.operator, known) if len(known) == len(constants) else None)

    def compare(self, node: tree.Compare) -> ValueKind | None:
        reason = f"{node.operator} compares numbers"
        left = self.expect(self.kind(node.left), Type.NUMBER, node.left, reason)
        right = self.expect(self.kind(node.right), Type.NUMBER, node.right, reason)
        if left is None or right is None:
            return None
        if left.constant is None and right.constant is None:
            message = "One side of a comparison must be a plain number."
            self.error("not-a-constant", message, node.span, "Compare a count with a number, for example >= 2.")
            return None
        return ValueKind(Type.BOOLEAN)

    # -- calls

    def call(self, node: tree.Call) -> ValueKind | None:
        function = FUNCTIONS.get(node.function)
        kinds = [self.kind(argument) for argument in node.arguments]
        if function is None:
            close = _OTHER_NAMES.get(node.function) or nearest(node.function, FUNCTIONS)
            hint = f"Did you mean {FUNCTIONS[close].signature}?" if close else f"There are: {', '.join(FUNCTIONS)}."
            self.error("unknown-function", f"There is no function {node.function}.", node.name_span, hint)
            return None
        if len(kinds) != len(function.parameters):
            wanted = len(function.parameters)
            message = f"{function.name} takes {wanted} argument{'s' * (wanted != 1)}, not {len(kinds)}."
            self.error("wrong-number-of-arguments", message, node.span, f"Write {function.signature}.")
            return None
        if function.name == "choose":
            return self.choose(node, kinds)
        checked = [
            self.expect(kind, one.type, argument, f"{one.name} of {function.signature} is a {one.type.value}")
            for kind, one, argument in zip(kinds, function.parameters, node.arguments)
        ]
        known = [kind for kind in checked if kind]
        if len(known) < len(checked) or not self.clear_arguments(function, node, known):
            return None
        if function.name in ("lower", "upper"):
            given = kinds[0]
            assert given is not None
            return ValueKind(given.type, frozenset(cased(leaf, function.name) for leaf in given.leaves))
        self.arguments(function, node, known)
        return ValueKind(function.result)

    def choose(self, node: tree.Call, kinds: list[ValueKind | None]) -> ValueKind | None:
        reason = "condition of choose(condition, a, b) is a Boolean"
        condition = self.expect(kinds[0], Type.BOOLEAN, node.arguments[0], reason)
        first, second = kinds[1], kinds[2]
        if condition is None or first is None or second is None:
            return None
        types = {first.type, second.type}
        if types <= {Type.TEXT, Type.RECORD}:
            result = Type.RECORD if types == {Type.RECORD} else Type.TEXT
            return ValueKind(result, first.leaves | second.leaves)
        if types <= {Type.BOOLEAN, Type.NUMBER}:
            return ValueKind(Type.BOOLEAN if types == {Type.BOOLEAN} else Type.NUMBER)
        message = f"choose cannot mix a {first.type.value} and a {second.type.value}."
        self.error("wrong-type", message, node.span, "Give it two Booleans, two numbers or two texts.")
        return None

    def clear_arguments(self, function: Function, node: tree.Call, kinds: list[ValueKind]) -> bool:
        """Whether everything that the asker must know is known."""
        good = True
        for kind, parameter, argument in zip(kinds, function.parameters, node.arguments):
            if not parameter.clear:
                continue
            if parameter.type is Type.TEXT and any(isinstance(leaf, View) for leaf in kind.leaves):
                never = "must not come from the other record, which you cannot see."
                message = f"{parameter.name} of {function.signature} {never}"
                hint = "Write it as a text in double quotes; the other record is the text that is searched."
                self.error("needle-from-record", message, argument.span, hint)
                good = False
            elif parameter.type is Type.NUMBER and kind.constant is None:
                message = f"{parameter.name} of {function.signature} must be a plain number."
                self.error("not-a-constant", message, argument.span)
                good = False
        return good

    def arguments(self, function: Function, node: tree.Call, kinds: list[ValueKind]) -> None:
        """Report what the function says about each value that a clear argument can have."""
        for place, (kind, parameter, argument) in enumerate(zip(kinds, function.parameters, node.arguments)):
            if not parameter.clear:
                continue
            needles = sorted(leaf for leaf in kind.leaves if isinstance(leaf, str))
            if needles:
                needles = self.prepared(node, place, needles, kinds[function.text_position], parameter.use)
            values: list[Clear] = [*needles] if kind.constant is None else [kind.constant]
            for problem in (parameter.check(value, self.limits) for value in values):
                if problem is not None:
                    finding = Diagnostic(problem.code, problem.severity, problem.message, argument.span, problem.hint)
                    self.found.append(finding)
            if isinstance(function, Predicate) and function.case_rule is CaseRule.NEEDLES:
                self.impossible(function, needles, kinds[function.text_position], argument.span)

    def prepared(self, node: tree.Call, place: int, needles: list[str], text: ValueKind, use: NeedleUse) -> list[str]:
        """The needles of an argument as they look in prepared records. One that is written differently is replaced if
        there is exactly one way to write it; otherwise it can never be found.
        """
        views = [leaf for leaf in text.leaves if isinstance(leaf, View)]
        if self.recipe is None or len(views) < len(text.leaves):
            return needles
        span, found = node.arguments[place].span, []
        for needle in needles:
            forms = {form for view in views for form in _forms(self.recipe, view, needle, use)}
            if use == "words" and any(words.words_of(form) == words.words_of(needle) for form in forms):
                forms = {needle}
            found.append(min(forms) if len(forms) == 1 and len(needles) == 1 else needle)
            if needle in forms:
                continue
            if found[-1] != needle:
                self.needles[id(node), place] = found[-1]
                message = f"{_quoted(needle)} is looked for as {_quoted(found[-1])}, as records are prepared."
                self.warning("prepared-needle", message, span, f"Write {_quoted(found[-1])} if that is meant.")
            else:
                message = f"No prepared record contains {_quoted(needle)}, so {node.function} is never true."
                written = " or ".join(map(_quoted, sorted(forms)))
                hint = f"Records have {written} instead." if forms else "Preparation leaves nothing of it."
                self.warning("impossible-needle", message, span, hint)
        return found

    def impossible(self, predicate: Predicate, needles: list[str], text: ValueKind, span: tree.Span) -> None:
        """Report needles in a case that no searched text can have."""
        lowered = self.recipe is not None and self.recipe.lowered
        cases = {leaf.case for leaf in text.leaves if isinstance(leaf, View)}
        if not cases or any(isinstance(leaf, str) for leaf in text.leaves):
            return
        wrong = {"lower": ("capital", words.lower), "upper": ("small", words.upper)}
        for case, (letters, changed) in wrong.items():
            for needle in needles if cases == {case} and not (case == "upper" and lowered) else ():
                if (meant := changed(needle)) != needle:
                    never = f"but the text is in {case} case, so {predicate.name} is never true."
                    message = f"{_quoted(needle)} has {letters} letters, {never}"
                    self.warning("impossible-needle", message, span, f"Write {_quoted(meant)}.")

    def expect(
        self, kind: ValueKind | None, wanted: Type, node: tree.Expression, reason: str, code: str = "wrong-type"
    ) -> ValueKind | None:
        """The kind if it is what is wanted; otherwise a diagnostic, and None."""
        if kind is None or kind.type is wanted:
            return kind
        if wanted is Type.TEXT and kind.type is Type.RECORD:
            return ValueKind(Type.TEXT, kind.leaves)
        if wanted is Type.NUMBER and kind.type is Type.BOOLEAN:
            return ValueKind(Type.NUMBER, constant=kind.constant)
        hint = _ADVICE.get((kind.type, wanted), "")
        if kind.type is Type.NUMBER and wanted is Type.TEXT:
            hint = "Put it in double quotes."
        self.error(code, f"{reason}; this is a {kind.type.value}.", node.span, hint)
        return None


def _folded(operator: tree.Operator, constants: list[Fraction]) -> Fraction:
    if operator == "+":
        return sum(constants, Fraction(0))
    if operator == "|":
        return max(constants)
    return prod(constants, start=Fraction(1))


def _quoted(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return f'"{shown}"'


def _forms(recipe: NeedleRecipe, view: View, needle: str, use: NeedleUse) -> frozenset[str]:
    """What a needle looks like in a view of prepared records."""
    forms = recipe.forms(view.attribute, needle, use)
    return frozenset(map(words.upper, forms)) if view.case == "upper" and recipe.lowered else forms


def _with_needles(node: tree.Expression, needles: Mapping[tuple[int, int], str]) -> tree.Expression:
    """The expression with the needles as they are looked for."""
    if isinstance(node, tree.Call):
        arguments = [_with_needles(one, needles) for one in node.arguments]
        for place, one in enumerate(node.arguments):
            if (id(node), place) in needles:
                arguments[place] = tree.Text(needles[id(node), place], span=one.span)
        return replace(node, arguments=tuple(arguments))
    if isinstance(node, tree.Operation):
        return replace(node, operands=tuple(_with_needles(one, needles) for one in node.operands))
    if isinstance(node, tree.Not):
        return replace(node, operand=_with_needles(node.operand, needles))
    if isinstance(node, tree.Compare):
        return replace(node, left=_with_needles(node.left, needles), right=_with_needles(node.right, needles))
    return node


def check(
    question: tree.Tree, attributes: Sequence[str] | None, limits: Limits, recipe: NeedleRecipe | None
) -> tuple[tree.Tree, list[Diagnostic]]:
    """A parsed question with its needles prepared, and all findings about it, in the order of their places."""
    checking = _Check(attributes, limits, recipe)
    checking.question(question)
    if checking.needles:
        statements = (replace(one, value=_with_needles(one.value, checking.needles)) for one in question.statements)
        question = replace(question, statements=tuple(statements))
    return question, sorted(checking.found, key=lambda finding: (finding.span.start, finding.severity))
