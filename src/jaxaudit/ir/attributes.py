"""The attributes of ops, typed: one row for everything a front end may note about an op besides its operands.

A front end hands attributes to the builder by key; everybody else reads them here, by name and type. An op that lacks
an attribute, or that keeps something of another type under the key, has the default. `ir.ops.VOCABULARY` says which
op has which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar, overload

from jaxaudit.ir.trees import Border, Tree
from jaxaudit.spans import Span

T = TypeVar("T")


class _Same(Enum):
    SAME = "same"


class _Noted(Protocol):
    attrs: Mapping[str, object]


class Attribute(Generic[T]):
    """Reads one key of an op's attributes as values of one type."""

    __slots__ = ("default", "key", "kinds", "otherwise")

    def __init__(self, key: str, kinds: Any, default: T, otherwise: T | _Same = _Same.SAME) -> None:
        self.key = key
        self.kinds = kinds
        self.default = default
        self.otherwise = default if otherwise is _Same.SAME else otherwise
        """What an op has that keeps something of another type: an option that is computed is not known."""

    @overload
    def __get__(self, op: None, owner: object = None) -> Attribute[T]: ...

    @overload
    def __get__(self, op: _Noted, owner: object = None) -> T: ...

    def __get__(self, op: _Noted | None, owner: object = None) -> T | Attribute[T]:
        """Return the attribute of an op; of the class itself, what `Program.having` is asked with."""
        if op is None:
            return self
        value = op.attrs.get(self.key)
        if value is None:
            return self.default
        return value if isinstance(value, self.kinds) else self.otherwise  # type: ignore[return-value]


def _text(key: str) -> Attribute[str]:
    return Attribute(key, str, "")


def _flag(key: str) -> Attribute[bool]:
    return Attribute(key, bool, False)


def _number(key: str) -> Attribute[int | None]:
    return Attribute(key, int, None)


def _items(key: str) -> Attribute[tuple[Any, ...] | None]:
    return Attribute(key, tuple, None)


def _table(key: str) -> Attribute[Mapping[str, Any] | None]:
    return Attribute(key, dict, None)


def _border(key: str) -> Attribute[Border | None]:
    return Attribute(key, Border, None)


def _tree(key: str) -> Attribute[Tree | None]:
    return Attribute(key, Tree, None)


def _span(key: str) -> Attribute[Span | None]:
    return Attribute(key, Span, None)


def _anything(key: str) -> Attribute[object]:
    return Attribute(key, object, None)


class Attributes:
    """Every attribute that an op may have. Only `Op` is made of it."""

    __slots__ = ()
    attrs: Mapping[str, object]

    # what the op is a call of, besides `Op.qualified` and `Op.function`
    spelling = _text("spelling")
    """The transformation as it is spelled: `jax.value_and_grad`, `equinox.filter_jit`."""
    api = _text("api")
    """The function of JAX that the user called, where a trace shows its inside."""
    library = _text("library")
    caller = _text("caller")
    callee = _text("callee")
    """What could not be followed, as it is written."""
    reason = _text("reason")
    """Why something is unknown."""
    options = _table("options")
    """The options of a transformation, by keyword."""
    prefixes = _table("prefixes")
    """The trees of the options that speak of arguments or results leaf by leaf."""
    named = _table("named")
    """The values given by keyword to a function that has no row."""
    placed = _items("placed")
    """The values that each positional argument of an unknown method holds; none where each is one of its operands."""
    loss = _flag("loss")
    """Whether a library function is one that gives the error between its arguments."""
    typed = _flag("typed")
    """Whether a seed makes a typed key."""
    folds = _flag("folds")
    """Whether a draw folds the path of the module into its key."""
    module = _text("module")
    says_mode = _flag("mode")
    """Whether a gather or scatter says what it does with indices that are out of range."""
    is_operator = _flag("operator")
    """Whether an elementwise op is written as an operator."""
    operator = _text("operator")
    """The operator on Python values: `in`, `is`, `not`, `isinstance`."""
    own = _anything("own")
    first = _text("first")
    """What kind of thing the first argument is, where it is none of an array."""

    tighter = _text("tighter")
    """Where precedence may have been mistaken: how the operands are really grouped."""

    # Python's acts
    subject = _anything("name")
    """What an act is about: the name of an attribute, a variable, a global, or an index."""
    label = _text("name")
    """The name that an act is about: of an attribute, a variable, a global."""
    kind = _text("kind")
    construct = _text("construct")
    constant = _anything("value")
    """The value of a constant, or of a global as its module left it."""
    extent = _anything("extent")
    method = _text("method")
    """The method that changes a list or makes a copy."""
    augmented = _flag("augmented")
    refuses = _text("refuses")
    """The decorator or base of a class that refuses arrays as defaults."""
    is_anew = _flag("anew")
    """Whether a function gives the default of a field to each instance."""
    guarded = _flag("guarded")
    """Whether a `try` around it goes on after an exception of JAX."""
    questioned = _items("questioned")
    """The conditions around it that ask what it is given: where they are open, it may be meant for other values."""
    is_open = _flag("open")
    is_last = _flag("last")
    spec = _text("spec")
    """How a value is formatted as text."""
    listed = _flag("listed")
    cached = _flag("cached")
    once = _flag("once")
    """Whether an object keeps what its property was once computed to be."""
    yields = _flag("yields")
    owner = _anything("owner")
    """Whose variable it is: a module by name, a frame by number."""
    object_id = _number("object")
    """The object that is changed, by number."""
    is_private = _flag("private")
    """Whether the function that made a container only ever writes into it: those inside it alone read it."""
    stored_object = _number("stored_object")
    """The object that is stored in an attribute, by number."""
    bases = _items("bases")
    role = _text("role")
    star = _number("star")
    """The position of the starred target of an unpacking."""
    target_count = _number("count")
    record = _text("record")
    direct = _flag("direct")
    of = _text("of")

    # notes
    values = _items("values")
    """The leaves of what a note is about."""
    made_at = _span("made")
    born = _number("born")
    """The youngest value when an iterator was made."""
    renews = _flag("renews")
    renewed = _items("renewed")
    """Of a call: each field of a record that it takes, with that of the record that it gives, as its body has them."""
    in_place = _flag("in_place")
    """Of a call whose body stands where it is called: its results are the values that the body itself makes."""
    made_of = _table("made_of")
    """The leaves of what a noted value was made from, by name."""
    alike = _items("alike")
    """Those of these names that hold a record of its class."""
    settings = _items("settings")
    """The attributes that a noted value was made from, which the project sets and reads nowhere else."""
    parts = _items("parts")
    """The names of the fields or entries of a noted value, where it is a record or a mapping of known ones."""
    position = _number("position")
    read_count = _number("read")
    is_method = _flag("method")
    may_override = _flag("overrides")
    """Whether a method is one of a class with bases in the program, whose methods it may have to be like."""
    is_stub = _flag("stub")
    is_optional = _flag("optional")
    is_chosen = _flag("chosen")
    is_handed_on = _flag("handed_on")
    """Whether a function is given to other code, which calls it with what it has."""
    is_module_level = _flag("module")
    replaced = _table("given")
    """The fields of a copy that are new, with their values."""
    restored = _table("again")
    written = _items("written")
    had = _items("had")
    kinds = _items("kinds")
    packed = _items("packed")
    given_twice = _items("twice")
    parameters = _items("params")
    tree = _tree("tree")
    class_name = _text("class")
    field = _text("field")
    problem = _text("problem")
    asked = _items("asked")
    where = _span("where")
    defined = _span("defined")
    """Where what is called is defined."""
    given_names = Attribute[frozenset[str] | None]("given", frozenset, None)
    stored = _items("stored")
    lost = _items("lost")
    """Of a store into a field that JAX drops with every rebuild: the class, what leaves it out, and its declaration."""
    flattened = _items("handed")
    left = _number("left")
    right = _number("right")

    # borders of regions
    border = _border("border")
    """The trees that cross into a transformed function."""
    handed = _border("handed")
    """The trees that a body takes, where they differ from those of the call."""
    returned = _tree("returned")
    """The tree that a transformed function returns."""
    wrapper_id = _number("made")
    """The object that a transformation made, by number: one that is made once is compiled once."""
    wrapped = _span("wrapped")
    other_half = _span("other")
    """Where what a class is taken apart into is put together again, or the other way round."""
    option_places = _table("places")
    """Where the options of a transformation are written, by keyword."""
    captured = _items("captured")
    static = _items("static")
    """For each argument, whether it is static."""
    identities = _items("identities")
    by_default = _items("by_default")
    """For each operand whether it is one that a caller may leave out: only where it is given is it traced."""
    """The arguments that equal nothing but themselves: name, youngest value and object when made, and where."""
    equal_by = _items("equal_by")
    """The static objects whose class says when they are equal: number, class, what is compared, what is not, where."""
    given = _items("given")
    """What each argument of a transformed function is: `array`, `numpy`, `number`, ..."""
    misfits = _items("misfits")
    structure = _items("structure")
    entered = _items("entered")
    """For each parameter of the region, what it was outside."""
    arrived = _number("arrived")
    """The youngest object once the arguments were copied: those between `entered` and this stand for arguments."""
    held = _items("held")
    kept = _items("kept")
    inline = _flag("inline")
    vararg = _flag("vararg")
    paths = _anything("paths")
    """In a trace the path of each leaf that enters; of `tree.map`, how many paths its function is given."""
    outputs = _anything("outputs")
    leaves = _items("leaves")
    within = _text("within")
    scope = _text("scope")
    recomputed = _flag("recomputed")
    """Whether a checkpoint computes it again in the backward pass."""
    backward = _anything("backward")
    """Set on ops of a backward pass."""
    rule = _text("rule")
    """The derivative rule that an op is the body of, or stands in."""
    is_leaf = _anything("is_leaf")
    orders = _items("orders")
    """For each sequence the keys of the dict whose order it has, the sequence as a value, and where it is made."""

    # loops and maps
    carry = _number("carry")
    """How many leaves a loop carries."""
    trips = _number("trips")
    """How many turns a loop takes, where that is known."""
    bound = _number("bound")
    """How many turns a loop takes at most, where no more than that is known."""
    left_at_once = _flag("left")
    """Whether every way through a Python loop returns or breaks in its first turn."""
    length = _anything("length")
    reverse = Attribute[bool | None]("reverse", bool, default=False, otherwise=None)
    """Whether a scan runs from the last step to the first; None where that is computed."""
    runs = _flag("runs")
    """Whether anything runs while a context manager holds, and functions are not merely defined or compiled there."""
    every_turn = _flag("every_turn")
    """Whether each turn of a comprehension gives one item: no condition leaves any out."""
    chained = _flag("chained")
    """Whether each turn of a comprehension gives many items of one list, as in `[f(a, b) for a in xs for b in ys]`."""
    to = _text("to")
    xs = _text("xs")
    in_axes = _items("in_axes")
    """For each operand the axis that is mapped, None where it is shared, `?` where that is not known."""
    out_axes = _items("out_axes")
    axis = Attribute[int | None]("axis", int, default=0, otherwise=None)
    """The axis that an associative scan runs along; None where that is computed."""
    axis_name = _anything("axis_name")
    axis_size = _number("axis_size")
    mapped_in = _items("mapped_in")
    mapped_out = _items("mapped_out")
    inside = _items("inside")
    collected = _items("collected")
    axis_index_groups = _anything("axis_index_groups")

    # derivatives
    differentiated = _items("differentiated")
    """The positions of the operands that the derivative is taken with respect to."""
    gives_value = _flag("value")
    """Whether a derivative comes with the value of its function."""
    gradients = _items("gradients")
    wrt = _items("wrt")
    roles = _items("roles")
    argument_count = _number("arguments")
    rule_arguments = _items("arguments")
    return_at = _span("returned")
    elements = _items("elements")
    primals = _items("primals")
    cotangents = _items("cotangents")
    saved = _items("saved")
    taken = _items("taken")
    unpacked = _span("unpacked")

    # devices
    in_specs = _anything("in_specs")
    out_specs = _anything("out_specs")
    placed_in = _items("placed_in")
    placed_out = _items("placed_out")
    split_in = _items("split_in")
    split_out = _items("split_out")
    """For each array the axes of several devices that a trace has spread it over."""
    mesh = _text("mesh")
    check = _flag("check")

    @property
    def most_trips(self) -> int | None:
        """How many turns a loop takes at most, where that is known."""
        return self.bound if self.trips is None else self.trips

    @property
    def noted(self) -> Iterable[object]:
        """Everything that is noted of the op, whatever it says."""
        return self.attrs.values()

    def attribute(self, name: str) -> object:
        """Return what is noted under the name that reports show it by."""
        return self.attrs.get(name)


def kinds_of(key: str) -> tuple[Any, ...]:
    """Return the types that the attributes of a key may have."""
    return _KINDS.get(key, ())


_KINDS: dict[str, tuple[Any, ...]] = {"function": (str,)}
for _one in vars(Attributes).values():
    if isinstance(_one, Attribute):
        # What is computed is not known, where an attribute has a word for that.
        _allowed = _one.kinds if _one.otherwise is _one.default else object
        _KINDS[_one.key] = (*_KINDS.get(_one.key, ()), _allowed)
