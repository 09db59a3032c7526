"""Rows of the table of exceptions: which exception, which rule it breaks, and what to say about it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from jaxaudit.frontends.jaxpr.protocol import Failure, Frame
from jaxaudit.ir.operators import OPERATORS
from jaxaudit.spans import SourceText, Span, span_of

Texts = Callable[[str], SourceText]
"""Gives the text of a file by the path that reports show."""

Shown = Callable[[str], str]
"""Turns a path of the child into the path that reports show."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An exception in the user's terms."""

    rule: str
    message: str
    current: str = "the call stops with an exception"
    expected: str = ""
    suggestion: str = ""
    span: Span | None = None
    """Where the cause is; None for the place where the exception was raised."""
    steps: tuple[tuple[Span, str], ...] = ()


@dataclass(frozen=True)
class Facts:
    """An exception with all that helps to explain it."""

    failure: Failure
    texts: Texts
    shown: Shown
    files: frozenset[str]
    """The user's files, as shown."""

    @property
    def message(self) -> str:
        """The message of the exception."""
        return self.failure.message

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of the user's own files, outermost first."""
        return tuple(frame for frame in self.failure.frames if self._own(frame))

    @cached_property
    def origin(self) -> tuple[Frame, ...]:
        """The user's frames of the operation that JAX was transforming."""
        return tuple(frame for frame in self.failure.origin if self._own(frame))

    @cached_property
    def inner(self) -> tuple[str, ...]:
        """The functions of libraries that were active inside the user's innermost frame."""
        own = [number for number, frame in enumerate(self.failure.frames) if self._own(frame)]
        return tuple(frame.function for frame in self.failure.frames[own[-1] + 1 if own else 0 :])

    @property
    def span(self) -> Span | None:
        """Where the user's code was when the exception was raised."""
        return self.place(self.frames[-1]) if self.frames else None

    @property
    def line(self) -> str:
        """The user's line that was running."""
        return self.texts(self.span.path).line(self.span.line) if self.span else ""

    @cached_property
    def call(self) -> str:
        """The user's own call or operator that was running, as they wrote it; empty where no expression was."""
        return written(self.expression) if self.expression is not None else ""

    @cached_property
    def expression(self) -> ast.expr | None:
        """The expression that was running."""
        span = self.span
        if span is None:
            return None
        nodes = (node for node in ast.walk(self.tree(span.path)) if isinstance(node, ast.expr))
        return next((node for node in nodes if node.lineno == span.line and span_of(node, span.path) == span), None)

    def tree(self, path: str) -> ast.Module:
        """Return the syntax tree of a file of the user's; an empty one where it has none."""
        try:
            return ast.parse(self.texts(path).text)
        except (SyntaxError, ValueError, RecursionError):
            return ast.Module([], [])

    @cached_property
    def given(self) -> dict[str, str]:
        """What the user's call was given: types of arrays and small values by parameter, where that is known."""
        name = self.call.rpartition(".")[2]
        calls = [one for one in self.failure.given if any(_TYPE.search(text) for _, text in one.arguments)]
        named = [one for one in calls if one.function.strip("_") == name] or calls[:1]
        shown: dict[str, str] = {}
        for key, text in named[0].arguments if named else ():
            # A value that comes twice under two names is shown once; two arrays of one type are two.
            if key in _HIDDEN or (text.startswith("a ") and " with " not in text):
                continue
            if text not in _DEFAULTS and (_TYPE.search(text) or text not in shown.values()):
                shown[key] = text
        return shown

    @property
    def told(self) -> str:
        """The same in words: "`x` is float32[3], `y` is float32[4]"."""
        shown = list(self.given.items())[:5]
        parts = {**_PARTS, "argument 1": "the other operand", **self._operands()} if "self" in self.given else {}
        parts = parts or self._written(shown)
        told = [(_MODULE if text.startswith("a ") else parts.get(name, f"`{name}`"), text) for name, text in shown]
        return ", ".join(f"{name} is {text}" for name, text in told if name != f"`{text}`")

    def _written(self, shown: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Name arguments that a library takes without names as the user wrote them in the call."""
        places = [int(name.removeprefix("argument ")) for name, _ in shown if name.startswith("argument ")]
        node = self.expression
        if not places or not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
            return {}
        # A method is handed its object before all others.
        shift = max(0, max(places) - len(node.args))
        texts = {place: ast.unparse(node.args[place - shift - 1]) for place in places if place - shift > 0}
        return {f"argument {place}": f"`{text}`" for place, text in texts.items() if len(text) <= _LONGEST}

    def _operands(self) -> dict[str, str]:
        """Name the operands of an operator as the user wrote them."""
        match self.expression:
            case ast.BinOp(left=one, right=other) | ast.Compare(left=one, comparators=[other]):
                left, right = ast.unparse(one), ast.unparse(other)
                names = {"self": left, "other": right, "argument 1": right}
                return {name: f"`{text}`" for name, text in names.items() if len(text) <= _LONGEST and left != right}
        return {}

    @property
    def why(self) -> str:
        """What a traced value depends on and which function is traced, as far as JAX tells."""
        depends, tracing = DEPENDS.search(self.message), _TRACING.search(self.message)
        where = f" while `{tracing[1]}` is traced for {tracing[4]}" if tracing else ""
        names = re.split(r", and |, | and ", depends[1]) if depends else []
        # Equinox hands JAX the arguments in a structure of its own, which says nothing to the user.
        if not names or any(name.startswith("dynamic_") for name in names):
            doing = f"{where.removeprefix(' while ')}, and " if where else ""
            return f"{doing}the value is known only when the program runs"
        told = " and ".join(f"`{name}`" for name in names)
        return f"it depends on the argument{'s' if len(names) > 1 else ''} {told}{where}"

    @property
    def traced_here(self) -> tuple[tuple[Span, str], ...]:
        """The step that shows which function of the user's is traced."""
        tracing = _TRACING.search(self.message)
        if tracing is None or self.shown(tracing[2]) not in self.files:
            return ()
        line = int(tracing[3])
        return ((Span(self.shown(tracing[2]), line, 0, line, 0), f"`{tracing[1]}` is traced for {tracing[4]} here"),)

    @property
    def subscripted(self) -> str:
        """What the running expression reads a key, an element or a field from, as the user wrote it."""
        node = self.expression
        if isinstance(node, ast.Subscript | ast.Attribute):
            text = ast.unparse(node.value)
            return text if len(text) <= _LONGEST else ""
        return ""

    def leaves(self, *types: str) -> tuple[str, ...]:
        """Name the leaves of the arguments whose type fits one of the patterns, with their types."""
        wanted = [leaf for leaf in self.failure.leaves if any(re.fullmatch(one, leaf.type) for one in types)]
        return tuple(f"`{leaf.path}` ({leaf.type})" for leaf in wanted)

    @property
    def of_library(self) -> bool:
        """Whether the user's call names a function of a library: `jnp.outer`, not a function that they made."""
        root = self.call.partition(".")[0]
        tree = self.tree(self.span.path) if self.span else ast.Module([], [])
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        bound = {(one.asname or one.name).partition(".")[0] for node in imports for one in node.names}
        return "." in self.call and root in bound

    def place(self, frame: Frame) -> Span:
        """Return the span of a frame."""
        return Span(self.shown(frame.path), frame.line, frame.column, frame.end_line, frame.end_column)

    def _own(self, frame: Frame) -> bool:
        return frame.user and self.shown(frame.path) in self.files


DEPENDS = re.compile(r"depends on the values? of the arguments? ([\w\[\]'\", .]+?)\.?(?:\n|$)", re.DOTALL)
_TRACING = re.compile(r"while tracing the function (\S+) at (\S+?):(\d+) for (\w+)")
_TYPE = re.compile(r"\b[a-z]+\d*(?:<\w+>)?\[[\d,]*\]")
_LONGEST = 40
_DEFAULTS = ("False", "True", "'constant'", "'C'", "'auto'")
_HIDDEN = ("custom_message_format_vars", "custom_message", "include_default_kwargs")
"""Parameters that say nothing about what is wrong."""
_MODULE = "the module"
_PARTS = {"self": "the array", "other": "the other operand"}


def written(node: ast.expr) -> str:
    """Name what an expression does in the words of its author: `jnp.clip`, `.reshape`, `jax.vmap`, `+`."""
    match node:
        case ast.Call(func=ast.Call() as inner):
            return written(inner)
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            dotted = re.fullmatch(r"[\w.]+", ast.unparse(value))
            return f"{dotted[0]}.{name}" if dotted else f".{name}"
        case ast.Call(func=ast.Name(id=name)):
            return name
        case ast.BinOp(op=operator) | ast.UnaryOp(op=operator) | ast.Compare(ops=[operator]):
            known = OPERATORS.get(type(operator).__name__)
            return known.sign if known is not None else ""
    return ""


Explain = Callable[[Facts, "re.Match[str]"], Explanation]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of exception."""

    pattern: str
    """A regular expression that the message matches somewhere."""
    explain: Explain
    types: tuple[str, ...] = ()
    """The last parts of type names, one of which the exception or one of its bases has; empty for any."""

    def matches(self, failure: Failure) -> re.Match[str] | None:
        """Return the match when the row speaks about an exception."""
        names = {name.rpartition(".")[2] for name in (failure.type, *failure.bases)}
        if self.types and names.isdisjoint(self.types):
            return None
        return re.search(self.pattern, failure.message, re.DOTALL)


def rows(text: str) -> tuple[Row, ...]:
    """Read rows whose texts only need what the pattern matched.

    A row has a line of the types and the pattern (`any` for every type), a line of the rule and its message, and lines
    of further fields; deeper lines go on, or add a choice to the pattern (`|`). `current` without a row above it holds
    for all rows that follow.
    """
    found: list[Row] = []
    current = "the operation stops with an exception"
    for block in re.split(r"\n(?=\S)", re.sub(r"\n {8}(\|?)", lambda more: more[1] or " ", text).strip()):
        (head, pattern), *fields = (line.strip().partition(":")[::2] for line in block.splitlines())
        if fields:
            (rule, message), *rest = ((name, words.strip()) for name, words in fields)
            types = () if head == "any" else tuple(head.split(", "))
            found.append(
                Row(pattern.strip(), _say(rule, {"message": message, "current": current, **dict(rest)}), types)
            )
        else:
            current = pattern.strip()
    return tuple(found)


def _say(rule: str, texts: Mapping[str, str]) -> Explain:
    """Make the explanation of a row: `{1}` is the first group of its pattern, `{call}` the user's own call or operator.

    Where the call is not known it is the first group; `{why}` is what a traced value depends on, `{said}` the message.
    """

    def explain(facts: Facts, match: re.Match[str]) -> Explanation:
        found = ["", *(first_line(group or "", 200).strip().rstrip(".") for group in match.groups())]
        call = facts.call or found[min(1, len(found) - 1)]
        fills = {**match.groupdict(), "call": call, "why": facts.why, "said": first_line(facts.message, 200)}
        said = {name: text.format(*found, **fills) for name, text in texts.items()}
        return Explanation(rule, said["message"], said["current"], said["expected"], said["suggestion"])

    return explain


def first_line(text: str, most: int = 160) -> str:
    """Return the first line of a message, cut where it gets too long to read."""
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= most else line[: most - 3] + "..."
