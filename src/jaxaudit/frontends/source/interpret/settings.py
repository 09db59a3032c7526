"""Settings: the objects that programs read their sizes from, with what they hold unless the user says otherwise.

A number that an option has by default is what most runs use, so it is taken for the value. A switch or a word is not:
code behind `if args.fast` belongs to the program whatever the default is, so what such an option holds stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jaxaudit.frontends.source.classes import definitions as classes
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import OPEN, Arguments, is_numeric
from jaxaudit.frontends.source.values.callables import ClassValue, Library
from jaxaudit.frontends.source.values.heap import DictBox, ObjectBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Record, Ref, TupleValue
from jaxaudit.spans import Span

_NAMESPACE = "types.SimpleNamespace"
_CONFIG = "ml_collections.ConfigDict"
_PARSER = "argparse.ArgumentParser"
_FLAGS = "absl.flags.FLAGS"
_CONVERSIONS: Mapping[str, Callable[[str], object]] = {"builtins.int": int, "builtins.float": float}


def is_namespace(cls: ClassValue) -> bool:
    """Whether a class stands for objects that are nothing but names with values."""
    return cls.node is None and cls.bases in ((Library(_NAMESPACE),), (Library(_CONFIG),))


def stored(it: Interpreter, cls: ClassValue, value: Abstract, span: Span) -> Abstract:
    """Return what an object holds of a value that is assigned to it: a dict in a configuration becomes one."""
    return _nested(it, value, span) if is_namespace(cls) and cls.bases == (Library(_CONFIG),) else value


def method(it: Interpreter, ref: Ref, box: ObjectBox, name: str, given: Arguments, span: Span) -> Abstract | None:
    """Call a method of an object that is nothing but names with values; None where it is not known."""
    entry = given.get(0, "key")
    if name == "get" and isinstance(entry, Const) and (entry.value in box.attrs or box.value is None):
        return box.attrs.get(str(entry.value)) or given.get(1, "default") or NONE
    if given.all():
        # `update` and its kin: any name may have another value now.
        it.heap[ref] = ObjectBox(box.cls, {}, it.unknown(f"what .{name}() does is not known", span).value)
    return None


def flag(it: Interpreter, name: str, span: Span) -> Abstract | None:
    """Return what `FLAGS.name` holds; None for any other library name."""
    first, _, last = name.rpartition(".")
    return it.flags.get(last) or it.unknown(OPEN, span, last) if first == _FLAGS else None


def _namespace(it: Interpreter, entries: Mapping[str, Abstract], kind: str = _NAMESPACE) -> Ref:
    cls = ClassValue(None, kind.rpartition(".")[2], it.frame, (Library(kind),))
    return it.heap.new(ObjectBox(cls, dict(entries)))


def _named(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `SimpleNamespace(n=4)`."""
    return None if given.positional or given.stars is not None else _namespace(it, given.keywords)


def _config(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `ConfigDict({"n": 4})`: names with values, and the same of every dict in it."""
    first = it.heap[given.positional[0]] if given.positional and isinstance(given.positional[0], Ref) else None
    if given.stars is not None or (given.positional and (not isinstance(first, DictBox) or first.rest is not None)):
        return None
    entries = {**(first.entries if isinstance(first, DictBox) else {}), **given.keywords}
    return _namespace(it, {str(name): _nested(it, value, span) for name, value in entries.items()}, _CONFIG)


def _nested(it: Interpreter, value: Abstract, span: Span) -> Abstract:
    inside = isinstance(value, Ref) and isinstance(it.heap[value], DictBox)
    return _config(it, Arguments((value,)), span) or value if inside else value


def _vars(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `vars(namespace)`."""
    box = it.heap[given.positional[0]] if given.positional and isinstance(given.positional[0], Ref) else None
    if not isinstance(box, ObjectBox) or not is_namespace(box.cls):
        return None
    return it.heap.new(DictBox(dict(box.attrs)))


def _parser(it: Interpreter, given: Arguments, span: Span) -> Abstract:
    made = it.emit("py.call_library", span, attrs={"function": _PARSER}).result
    it.options[made] = {}
    return Leaf(made, _PARSER)


def _group(it: Interpreter, parser: Leaf, given: Arguments, span: Span) -> Abstract:
    """Interpret `parser.add_argument_group()`: what is added to the group belongs to the parser."""
    return parser


def _add_argument(it: Interpreter, parser: Leaf, given: Arguments, span: Span) -> Abstract | None:
    names = [one.value for one in given.positional if isinstance(one, Const) and isinstance(one.value, str)]
    chosen = given.keywords.get("dest")
    if not names or parser.value not in it.options:
        return None
    spelled = next((name for name in names if name.startswith("--")), names[0]).lstrip("-").replace("-", "_")
    dest = chosen.value if isinstance(chosen, Const) and isinstance(chosen.value, str) else spelled
    default = _converted(given.keywords.get("default"), given.keywords.get("type"))
    it.options[parser.value][dest] = _by_default(it, default, span, dest)
    return it.unknown("it tells how an option is read", span)


def _converted(default: Abstract | None, kind: Abstract | None) -> Abstract | None:
    """Return a default as the parser gives it: text is read as the type says."""
    convert = _CONVERSIONS.get(kind.name) if isinstance(kind, Library) else None
    if convert is None or not isinstance(default, Const) or not isinstance(default.value, str):
        return default
    try:
        return Const(convert(default.value))
    except ValueError:
        return None


def _set_defaults(it: Interpreter, parser: Leaf, given: Arguments, span: Span) -> Abstract | None:
    if parser.value not in it.options:
        return None
    it.options[parser.value].update((name, _by_default(it, one, span, name)) for name, one in given.keywords.items())
    return Const(None)


def _parse(it: Interpreter, parser: Leaf, given: Arguments, span: Span) -> Abstract | None:
    return _namespace(it, it.options[parser.value]) if parser.value in it.options else None


def _parse_known(it: Interpreter, parser: Leaf, given: Arguments, span: Span) -> Abstract | None:
    parsed = _parse(it, parser, given, span)
    return None if parsed is None else TupleValue((parsed, it.unknown(OPEN, span)))


def _by_default(it: Interpreter, value: Abstract | None, span: Span, name: str) -> Abstract:
    """Return a number or numbers as they are, and anything else as open."""
    return value if value is not None and is_numeric(it, value) else it.unknown(OPEN, span, name)


def _define(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `flags.DEFINE_integer("n", 4, "how many")`: `FLAGS.n` and `.value` of the result hold it."""
    name = given.get(0, "name")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return None
    it.flags[name.value] = _by_default(it, given.get(1, "default"), span, name.value)
    return _namespace(it, {"value": it.flags[name.value], "name": name})


def _command_line(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `tyro.cli(Config)`: an object of the class, of which the user may set any field."""
    asked = given.get(0, "f") or given.keywords.get("config_class")
    if not isinstance(asked, ClassValue) or asked.kind != "dataclass" or not set(asked.fields) <= set(asked.defaults):
        return None
    return _with_options(it, classes.construct(it, asked, Arguments(), span), span)


def _with_options(it: Interpreter, made: Abstract, span: Span) -> Abstract:
    """Return an object whose switches and words are open, those of the objects in it too."""
    box = it.heap[made] if isinstance(made, Ref) else None
    if not isinstance(made, Ref) or not isinstance(box, ObjectBox):
        return made
    it.heap[made] = ObjectBox(box.cls, dict(_options(it, box, span)), box.value, box.changed)
    return made


def _options(it: Interpreter, box: ObjectBox, span: Span) -> Iterator[tuple[str, Abstract]]:
    for name, value in box.attrs.items():
        inside = isinstance(value, Ref) and isinstance(it.heap[value], ObjectBox)
        kept = inside or not isinstance(value, Const | Record) or is_numeric(it, value)
        yield name, _with_options(it, value, span) if kept else it.unknown(OPEN, span, name)


_CONFIGS = """ml_collections.FrozenConfigDict ml_collections.config_dict.ConfigDict
    ml_collections.config_dict.FrozenConfigDict omegaconf.OmegaConf.create omegaconf.DictConfig easydict.EasyDict
    munch.Munch addict.Dict""".split()
_COMMAND_LINES = "tyro.cli simple_parsing.parse pyrallis.parse draccus.parse".split()
_DEFINITIONS = [
    f"absl.flags.DEFINE_{kind}" for kind in "integer float string bool boolean enum list spaceseplist".split()
]

HANDLERS: dict[str, Callable[[Interpreter, Arguments, Span], Abstract | None]] = {
    **dict.fromkeys((_NAMESPACE, "argparse.Namespace"), _named),
    **dict.fromkeys((_CONFIG, *_CONFIGS), _config),
    **dict.fromkeys(_COMMAND_LINES, _command_line),
    **dict.fromkeys(_DEFINITIONS, _define),
    "builtins.vars": _vars,
    _PARSER: _parser,
}
"""Functions that make settings."""

METHODS: dict[str, Callable[[Interpreter, Leaf, Arguments, Span], Abstract | None]] = {
    f"{_PARSER}.add_argument": _add_argument,
    f"{_PARSER}.add_argument_group": _group,
    f"{_PARSER}.add_mutually_exclusive_group": _group,
    f"{_PARSER}.set_defaults": _set_defaults,
    f"{_PARSER}.parse_args": _parse,
    f"{_PARSER}.parse_known_args": _parse_known,
}
"""Methods of what reads options from the command line."""
