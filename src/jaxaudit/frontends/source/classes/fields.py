"""What becomes of each field of an object when JAX takes it apart: leaves, or a part of the structure.

Read from field declarations, lists of data and meta fields, and flatten functions, of the class or of its bases.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from jaxaudit.frontends.source.classes.flattening import Flattening, FunctionNode, Part, read_flattening, strings
from jaxaudit.frontends.source.classes.members import ancestry, library_bases
from jaxaudit.frontends.source.classes.registration import last_name, registered_names, registers_all_fields
from jaxaudit.frontends.source.interpret.syntax import landmarks
from jaxaudit.frontends.source.values.callables import ClassValue, PartialValue
from jaxaudit.frontends.source.values.model import Const
from jaxaudit.libraries.classes import STATIC_FIELDS
from jaxaudit.spans import Span, span_of

_METHODS = ("tree_flatten", "tree_flatten_with_keys")
_STATIC_MAKERS = frozenset("static_field static".split())
_NEVER_LEAVES = "jax.tree_util.register_static"


def role(cls: ClassValue, name: str) -> str:
    """Return `data` for a field that becomes leaves, `structure` for one that does not, nothing where it is open."""
    return _roles(cls).get(name) or _other(cls, name)


def static_fields(cls: ClassValue) -> Mapping[str, Span]:
    """Return the fields that become structure as they are, each with the place that says so."""
    return _static(cls)


@lru_cache(maxsize=1024)
def _static(cls: ClassValue) -> Mapping[str, Span]:
    found: dict[str, Span] = {}
    for current in ancestry(cls):
        if current.node is not None:
            path = current.frame.module.path
            found.update((name, span_of(node, path)) for name, node in _fixed(current))
    taken = flattening_of(cls)
    if taken is not None:
        owner, flattening = taken
        path = owner.frame.module.path
        exact = flattening.structure.exact.items()
        found.update((name, span_of(node, path)) for name, node in exact if flattening.role(name) == "structure")
    return found


@lru_cache(maxsize=1024)
def _roles(cls: ClassValue) -> Mapping[str, str]:
    """Return the roles of fields that declarations tell."""
    inherited = (name for base in library_bases(cls) for name in STATIC_FIELDS.get(base, ()))
    return dict.fromkeys((*inherited, *(name for one in ancestry(cls) for name, _ in _fixed(one))), "structure")


def _fixed(cls: ClassValue) -> tuple[tuple[str, ast.stmt], ...]:
    """Return the fields that a class itself declares to be structure, also by a name of its own for such fields."""
    if cls.node is None:
        return ()
    return (*_declared(cls.node), *((name, node) for name, node in annotated(cls.node) if _by_own_name(cls, node)))


def _by_own_name(cls: ClassValue, field: ast.AnnAssign) -> bool:
    """Whether a field is made by a `partial` that says it is structure: `fixed = partial(field, static=True)`."""
    if not isinstance(field.value, ast.Call) or not isinstance(field.value.func, ast.Name):
        return False
    maker = cls.frame.module.member(field.value.func.id)
    if not isinstance(maker, PartialValue):
        return False
    given = {word: value.value for word, value in maker.kwargs.items() if isinstance(value, Const)}
    return given.get("pytree_node") is False or given.get("static") is True


def _other(cls: ClassValue, name: str) -> str:
    if _NEVER_LEAVES in cls.decorators:
        return "structure"
    found = flattening_of(cls)
    if found is not None:
        return found[1].role(name)
    return "data" if registers_all_fields(cls) else ""


@lru_cache(maxsize=1024)
def flattening_of(cls: ClassValue) -> tuple[ClassValue, Flattening] | None:
    """Return how a class says that it is taken apart, with the class that says so."""
    for current in ancestry(cls):
        if current.node is None:
            continue
        found = own_flattening(current, cls)
        if found is not None:
            return current, found
    return None


def own_flattening(cls: ClassValue, heir: ClassValue) -> Flattening | None:
    """Read how a class itself takes its heirs apart."""
    node, tree = cls.node, cls.frame.module.tree
    if node is None:
        return None
    listed = _listed(node, tree)
    if listed is not None:
        return listed
    function = flatten_function(node, tree)
    above = [one for one in ancestry(heir) if one is not cls][:8]
    return None if function is None else _read(function, node, tree, tuple(above))


def _read(
    function: FunctionNode, node: ast.ClassDef, tree: ast.Module, above: tuple[ClassValue, ...]
) -> Flattening | None:
    def inherited() -> Flattening | None:
        for at, one in enumerate(above):
            base = None if one.node is None else flatten_function(one.node, one.frame.module.tree)
            if base is not None and base is not function and one.node is not None:
                return _read(base, one.node, one.frame.module.tree, above[at + 1 :])
        return None

    return read_flattening(function, inherited, {**_lists(tree), **_lists(node)})


@lru_cache(maxsize=4096)
def _lists(node: ast.ClassDef | ast.Module) -> Mapping[str, tuple[str, ...]]:
    """Return the tuples of text that a class or a module keeps."""
    found: dict[str, tuple[str, ...]] = {}
    for one in node.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (texts := strings(value)) is not None:
                found[name] = texts
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if (texts := strings(value)) is not None:
                    found[name] = texts
    return found


@lru_cache(maxsize=4096)
def flatten_function(node: ast.ClassDef, tree: ast.Module) -> FunctionNode | None:
    """Find the function that takes instances of a class apart."""
    for call in registrations(node, tree):
        if _takes_functions(call) and (found := _function(call.args[1], node, tree)) is not None:
            return found
    return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in _METHODS), None)


def _takes_functions(call: ast.Call) -> bool:
    return len(call.args) > 2 and last_name(call.func).startswith("register_pytree")


@lru_cache(maxsize=4096)
def rebuild_function(node: ast.ClassDef, tree: ast.Module) -> FunctionNode | None:
    """Find the function that puts instances of a class together again."""
    for call in registrations(node, tree):
        if _takes_functions(call) and (found := _function(call.args[2], node, tree)) is not None:
            return found
    return _named("tree_unflatten", node)


def _function(given: ast.expr, node: ast.ClassDef, tree: ast.Module) -> FunctionNode | None:
    match given:
        case ast.Lambda(body=ast.Call(func=ast.Attribute(value=ast.Name(), attr=name), args=[])):
            return _named(name, node)
        case ast.Lambda():
            return given
        case ast.Name(id=name):
            return _named(name, tree)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            holders = (one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == owner)
            return _named(name, next(holders, node))
    return None


def _named(name: str, node: ast.ClassDef | ast.Module) -> ast.FunctionDef | None:
    return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def registrations(node: ast.ClassDef, tree: ast.Module) -> Iterator[ast.Call]:
    """Return the calls that register a class: as a decorator, in its own methods, or beside it."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and "register_dataclass" in last_name(decorator):
            yield decorator
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name in ("__init_subclass__", "__new__"):
            inner = [call for call in ast.walk(one) if isinstance(call, ast.Call)]
            yield from (call for call in inner if last_name(call.func).startswith("register_pytree"))
    if node.name in registered_names(tree):
        for call in landmarks(tree).calls:
            if last_name(call.func).startswith("register_") and call.args and last_name(call.args[0]) == node.name:
                yield call


@lru_cache(maxsize=4096)
def _listed(node: ast.ClassDef, tree: ast.Module) -> Flattening | None:
    """Read the lists of data and meta fields that `register_dataclass` is given."""
    for call in registrations(node, tree):
        if last_name(call.func).split(" ")[0] == "register_static":
            return Flattening(Part(), Part(others=frozenset()))
        if "register_dataclass" not in last_name(call):
            continue
        data, meta = _fields_of(call, "data_fields", 1), _fields_of(call, "meta_fields", 2)
        if data is not None and meta is not None:
            return Flattening(Part(data), Part(meta), _option(call, "data_fields", 1))
        if meta is not None or (len(call.args) == 1 and not call.keywords):
            return Flattening(Part(others=frozenset(meta or ())), Part(meta or {}))
    return None


def _option(call: ast.Call, name: str, position: int) -> ast.expr | None:
    words = [word.value for word in call.keywords if word.arg == name]
    return words[0] if words else call.args[position] if position < len(call.args) else None


def _fields_of(call: ast.Call, name: str, position: int) -> Mapping[str, ast.expr] | None:
    given = _option(call, name, position)
    if not isinstance(given, ast.List | ast.Tuple):
        return None
    items = [one for one in given.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return {str(one.value): one for one in items} if len(items) == len(given.elts) else None


@lru_cache(maxsize=4096)
def _declared(node: ast.ClassDef) -> tuple[tuple[str, ast.stmt], ...]:
    return tuple((name, one) for name, one in annotated(node) if _says_static(one))


@lru_cache(maxsize=4096)
def annotated(node: ast.ClassDef) -> tuple[tuple[str, ast.AnnAssign], ...]:
    """Return the fields that a class declares, each with its declaration."""
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return tuple((one.target.id, one) for one in fields if isinstance(one.target, ast.Name))


def _says_static(field: ast.AnnAssign) -> bool:
    if isinstance(field.annotation, ast.Subscript) and last_name(field.annotation.value) == "Static":
        return True
    if not isinstance(field.value, ast.Call):
        return False
    if last_name(field.value.func) in _STATIC_MAKERS:
        return True
    return any(_is_static(word.arg, word.value) for word in field.value.keywords)


def _is_static(word: str | None, value: ast.expr) -> bool:
    match word, value:
        case "static", ast.Constant(value=True):
            return True
        case "pytree_node", ast.Constant(value=False):
            return True
        case "metadata", ast.Dict(keys=keys, values=values):
            named = [(getattr(key, "value", None), one) for key, one in zip(keys, values, strict=True)]
            return any(_is_static(key, one) for key, one in named if isinstance(key, str))
        case "metadata", ast.Call(func=ast.Name(id="dict"), keywords=words):
            return any(_is_static(one.arg, one.value) for one in words)
    return False
