"""Argument specs: `f32[batch=32,time=128]`, `key[8]`, `{'x': f32[b,3], 'n': 4}` as trees of types and constants.

A named axis without a size gets one that no other axis has, and that the divisors people use divide: two axes that
must not be mixed up are never equal by accident.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

DTYPES = {
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"c{bits}": f"complex{bits}" for bits in (64, 128)},
    "bf16": "bfloat16",
    "bool": "bool",
}
KEY, RAW_KEY = "key", "rawkey"

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
_EIGHT = 8
"""Every chosen size is a multiple of it, so that heads, minibatches and devices divide."""


class SpecError(Exception):
    """A spec that cannot be understood, told in one sentence."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array by dtype and dimensions: numbers, names, or expressions of both."""

    dtype: str
    dims: tuple[str, ...]
    split: tuple[str, ...] = ()
    """The axes of the mesh that each dimension is split over, as in `batch@data`; none at all where nothing is said."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python value that stays as it is: an option, a count, a name."""

    value: object


@dataclass(frozen=True, slots=True)
class Expression:
    """Python code in the target's module, evaluated abstractly: `=init_state(key)`."""

    code: str


Spec = ArraySpec | Constant | Expression | tuple["Spec", ...] | list["Spec"] | dict[str, "Spec"]


def parse_spec(text: str) -> Spec:
    """Read one spec."""
    text = text.strip()
    if text.startswith("="):
        return Expression(text[1:].strip())
    reader = _Reader(text)
    spec = reader.spec()
    reader.expect_end()
    return spec


def array_specs(spec: Spec) -> Iterator[ArraySpec]:
    """Return every array in a spec."""
    if isinstance(spec, ArraySpec):
        yield spec
    elif isinstance(spec, dict):
        for part in spec.values():
            yield from array_specs(part)
    elif not isinstance(spec, Constant | Expression):
        for part in spec:
            yield from array_specs(part)


def splits(array: ArraySpec) -> Iterator[tuple[str, ...]]:
    """Return the axes of the mesh that each dimension is split over: `batch@data+fsdp` has two."""
    for text in array.split:
        yield tuple(text.split("+")) if text else ()


def choose_sizes(specs: Iterable[Spec], given: Mapping[str, int]) -> dict[str, int]:
    """Return every named axis a size: its own, the one the user gave it, or one that nothing else has."""
    arrays = [array for spec in specs for array in array_specs(spec)]
    sizes = dict(given)
    for dim in (dim for array in arrays for dim in array.dims):
        name, equals, size = dim.partition("=")
        if equals:
            if sizes.get(name, int(size)) != int(size):
                raise SpecError(f"the axis `{name}` has two sizes: {sizes[name]} and {size}")
            sizes[name] = int(size)
    taken = {*sizes.values(), *(int(dim) for array in arrays for dim in array.dims if dim.isdigit())}
    fresh = (size for size in (_EIGHT * prime for prime in _PRIMES) if size not in taken)
    for name in dict.fromkeys(name for array in arrays for dim in array.dims for name in names_in(dim)):
        if name not in sizes:
            sizes[name] = next(fresh)
    return sizes


def size_of(dim: str, sizes: Mapping[str, int]) -> int:
    """Compute one dimension: a number, a name, or an expression of both."""
    text = dim.partition("=")[0]
    try:
        size = _compute(ast.parse(text, mode="eval").body, sizes)
    except (SyntaxError, KeyError, ZeroDivisionError) as error:
        raise SpecError(f"`{dim}` is no size") from error
    if size < 0:
        raise SpecError(f"the size `{dim}` is {size}, which is negative")
    return size


def names_in(dim: str) -> list[str]:
    """Return the axis names in a dimension."""
    return re.findall(r"[A-Za-z_]\w*", dim.partition("=")[0])


def axis_name(dim: str) -> str:
    """Return the name of a dimension; empty when it is a plain number."""
    text = dim.partition("=")[0].strip()
    return "" if text.isdigit() else text


def _compute(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _compute(left, sizes) + _compute(right, sizes)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _compute(left, sizes) - _compute(right, sizes)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _compute(left, sizes) * _compute(right, sizes)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _compute(left, sizes) // _compute(right, sizes)
    raise SyntaxError


_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(-?\d+\.?\d*(?:e-?\d+)?)|('[^']*'|\"[^\"]*\")|(.))")
_WORDS = {"True": True, "False": False, "None": None}


class _Reader:
    """Reads a spec from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: Sequence[str] = [match.group().strip() for match in _TOKEN.finditer(text) if match.group().strip()]
        self.at = 0

    def spec(self) -> Spec:
        token = self.take()
        if token == "{":
            return self.table()
        if token in ("(", "["):
            items = self.items(")" if token == "(" else "]")
            return tuple(items) if token == "(" else items
        if token in _WORDS:
            return Constant(_WORDS[token])
        if token[:1] in "'\"" or re.fullmatch(r"-?\d.*", token):
            return Constant(ast.literal_eval(token))
        return self.array(token)

    def array(self, word: str) -> Spec:
        dtype = DTYPES.get(word, word)
        if dtype not in (*DTYPES.values(), KEY, RAW_KEY):
            known = ", ".join(sorted(DTYPES))
            raise SpecError(f"`{word}` in the spec `{self.text}` is no dtype; use {known}, key, or Python constants")
        written = [dim.partition("@") for dim in (self.dims() if self.peek() == "[" else ())]
        split = tuple(axes for _, _, axes in written)
        return ArraySpec(dtype, tuple(dim for dim, _, _ in written), split if any(split) else ())

    def dims(self) -> list[str]:
        self.take("[")
        dims: list[str] = []
        while self.peek() != "]":
            part = ""
            while self.peek() not in (",", "]", ""):
                part += self.take()
            dims.append(part)
            if self.peek() == ",":
                self.take()
            elif self.peek() == "":
                self.fail("]")
        self.take("]")
        return dims

    def items(self, end: str) -> list[Spec]:
        found: list[Spec] = []
        while self.peek() != end:
            found.append(self.spec())
            if self.peek() != end:
                self.take(",")
        self.take(end)
        return found

    def table(self) -> dict[str, Spec]:
        found: dict[str, Spec] = {}
        while self.peek() != "}":
            name = self.take().strip("'\"")
            self.take(":")
            found[name] = self.spec()
            if self.peek() != "}":
                self.take(",")
        self.take("}")
        return found

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            self.fail(wanted)
        self.at += 1
        return token

    def fail(self, wanted: str) -> None:
        after = f" instead of `{self.peek()}`" if self.peek() else " at its end"
        raise SpecError(f"the spec `{self.text}` needs {f'`{wanted}`' if wanted else 'more'}{after}")

    def expect_end(self) -> None:
        if self.peek():
            raise SpecError(f"the spec `{self.text}` has `{self.peek()}` after its end")
