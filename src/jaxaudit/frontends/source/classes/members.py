"""Members of classes: looking a name up along the bases, methods left to subclasses, and what takes the hash away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue, Library
from jaxaudit.frontends.source.values.model import Abstract
from jaxaudit.libraries import classes

_GENERATED_INIT = classes.decorators("init")
_FROZEN = classes.decorators("frozen")
_IMMUTABLE = classes.bases("immutable")
_RENAMING = classes.decorators("renamed")


@lru_cache(maxsize=8192)
def ancestry(cls: ClassValue) -> tuple[ClassValue, ...]:
    """Return a class and its bases of the audited code, nearest first, each once."""
    found = [cls]
    for current in found:
        for base in current.bases:
            if isinstance(base, ClassValue) and base not in found:
                found.append(base)
    return tuple(found)


def resolution_order(cls: ClassValue) -> list[Abstract]:
    """Return a class and all its bases in the order in which Python looks names up; empty where it has none."""
    chains = [resolution_order(base) if isinstance(base, ClassValue) else [base] for base in cls.bases]
    chains = [*chains, list(cls.bases)]
    order: list[Abstract] = [cls]
    while chains := [chain for chain in chains if chain]:
        head = next((one[0] for one in chains if not any(one[0] in chain[1:] for chain in chains)), None)
        if head is None:
            return []
        order.append(head)
        chains = [chain[1:] if chain[0] == head else chain for chain in chains]
    return order


def find_in_class(cls: ClassValue, name: str) -> Abstract | None:
    """Return a member of a class or of its bases of the audited code."""
    if name in cls.namespace:
        return cls.namespace[name]
    return next((one.namespace[name] for one in ancestry(cls) if name in one.namespace), None)


def constructor(cls: ClassValue) -> Abstract | None:
    """Return the `__init__` that is written for a class; None where a decorator makes it, or nothing does."""
    for one in ancestry(cls):
        if "__init__" in one.namespace:
            return one.namespace["__init__"]
        if any(map(makes_constructor, one.decorators)) and _options(one).get("init") is not False:
            return None
    return None


def is_remade(cls: ClassValue) -> bool:
    """Whether code that Python runs for each class may have made something else of it, such as a dataclass."""
    return any(
        "__init_subclass__" in one.namespace or "" in one.decorators or (one.node is not None and one.node.keywords)
        for one in ancestry(cls)
    )


def makes_constructor(decorator: str) -> bool:
    """Whether a decorator gives a class a constructor that takes its fields."""
    return decorator in _GENERATED_INIT


def renames_fields(cls: ClassValue) -> bool:
    """Whether the constructor of a class names its parameters without the underscores in front of its fields."""
    return any(not _RENAMING.isdisjoint(one.decorators) for one in ancestry(cls))


def parameter_of(cls: ClassValue, field: str) -> str:
    """Return the parameter of a generated constructor that a field is given by."""
    return field.lstrip("_") if renames_fields(cls) else field


def setter_of(name: str) -> str:
    """Return the name under which a class keeps what sets a property; the blank keeps it apart from its members."""
    return f"{name} setter"


def library_bases(cls: ClassValue) -> Iterator[str]:
    """Return the qualified names of the library classes a class inherits from."""
    for current in ancestry(cls):
        for base in current.bases:
            if isinstance(base, Library):
                yield base.name


def has_unknown_base(cls: ClassValue) -> bool:
    """Whether some base is neither of the audited code nor a named library class."""
    return any(not isinstance(base, ClassValue | Library) for current in ancestry(cls) for base in current.bases)


def metaclass(cls: ClassValue) -> str:
    """Return the metaclass that makes the objects of a class, by its name in the source; empty for Python's own."""
    nodes = [one.node for one in ancestry(cls) if isinstance(one.node, ast.ClassDef)]
    found = (_name(word.value) for node in nodes for word in node.keywords if word.arg == "metaclass")
    return next((name for name in found if name not in ("ABCMeta", "type")), "")


def is_abstract(function: FunctionValue) -> bool:
    """Whether other code than this body runs when the method is called."""
    return function.owner is not None and _is_placeholder(function.node)


@lru_cache(maxsize=8192)
def _is_placeholder(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    if isinstance(node, ast.Lambda):
        return False
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], ast.Raise):
        return _name(body[0].exc) == "NotImplementedError"
    if not body or (len(body) == 1 and isinstance(body[0], ast.Pass)):
        declared = any(_name(one).startswith("abstract") for one in node.decorator_list)
        return declared or _promises(node.returns)
    return False


def _promises(returns: ast.expr | None) -> bool:
    """Whether a body without statements is said to give something back."""
    return returns is not None and not (isinstance(returns, ast.Constant) and returns.value is None)


def _name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


UNHASHABLE = "unhashable "
"""What comes before the name of a class whose instances cannot be hashed."""
_PLAIN = frozenset("builtins.object abc.ABC typing.Generic typing.Protocol typing_extensions.Protocol".split())
_DATACLASS = "dataclasses.dataclass"


def is_unhashable(cls: ClassValue) -> bool:
    """Whether Python takes the hash from instances of a class for sure.

    It does so where a class says when instances are equal, but not how they are hashed.
    """
    if has_unknown_base(cls) or not _PLAIN.issuperset(library_bases(cls)) or cls.kind not in ("plain", "dataclass"):
        return False
    for current in ancestry(cls):
        if "__hash__" in current.namespace or any(name != _DATACLASS for name in current.decorators):
            return False
        options = _options(current) if current.decorators else {"eq": False}
        if options.get("eq") is not False:
            return not options.get("frozen") and not options.get("unsafe_hash")
        if "__eq__" in current.namespace:
            return True
    return False


def is_immutable(cls: ClassValue) -> bool:
    """Whether setting an attribute of an instance raises for sure."""
    changed = (name in one.namespace for one in ancestry(cls) for name in ("__setattr__", "__slots__"))
    if has_unknown_base(cls) or any(changed):
        return False
    refusing = any(name in _IMMUTABLE for name in library_bases(cls))
    return refusing or any(_FROZEN & {*one.decorators} or _is_frozen(one) for one in ancestry(cls))


def _is_frozen(cls: ClassValue) -> bool:
    """Whether a class is made a dataclass that is frozen in so many words."""
    words = [word for one in _calls(cls) for word in one.keywords if word.arg == "frozen"]
    says = any(isinstance(word.value, ast.Constant) and word.value.value is True for word in words)
    return says and any(map(makes_constructor, cls.decorators))


def is_one_of_a_kind(cls: ClassValue) -> bool:
    """Whether no two instances of a class are equal for sure: nothing says when they are."""
    plain = not has_unknown_base(cls) and _PLAIN.issuperset(library_bases(cls)) and cls.kind == "plain"
    return plain and not any(current.decorators or "__eq__" in current.namespace for current in ancestry(cls))


def _options(cls: ClassValue) -> dict[str | None, object]:
    """Return the options of the dataclass decorator; where some are not constants, it may be frozen."""
    words = [word for one in _calls(cls) for word in one.keywords]
    if not all(isinstance(word.value, ast.Constant) and word.arg for word in words):
        return {"frozen": True}
    return {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}


def _calls(cls: ClassValue) -> Iterator[ast.Call]:
    decorators = cls.node.decorator_list if cls.node is not None else ()
    yield from (one for one in decorators if isinstance(one, ast.Call))
