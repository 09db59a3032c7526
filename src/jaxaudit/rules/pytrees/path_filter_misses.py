"""The rule `path-filter-misses`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, contexts, origin
from jaxaudit.analyses.queries import ahead, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import EQUALITIES
from jaxaudit.ir.record import record
from jaxaudit.libraries.flax_layers import PARAMETERS
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.trees import nodes

_LINEN = "flax.linen."
_PARAM = "flax.linen.Module.param"
_PLAIN = "flax.traverse_util.path_aware_map"
"""What gives paths as tuples of names, not of objects that hold them."""

_LEVELS = """
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3, name="head")(nn.LayerNorm()(x))

def chosen(params):
    def pick(path, leaf):
        name = {name}
        return name in {among}{mark}

    return jax.tree_util.tree_map_with_path(pick, params)

def main(key, x):
    return chosen(Net().init(key, x){part})
"""


_AWARE = """
import flax.linen as nn
from flax.traverse_util import path_aware_map

class Net(nn.Module):
    def setup(self):
        self.head = nn.Dense(3)

    def __call__(self, x):
        return self.head(x)

def label(path, leaf):
    return "frozen" if path[{place}] == "head" else "trained"{mark}

def main(key, x):
    variables = Net().init(key, x)
    return path_aware_map(label, variables)
"""


class PathFilterMisses(Rule):
    """A filter on paths compares a key object with a text, which is never equal.

    ## What it does
    Follows paths from `jax.tree.map_with_path`, `flatten_with_path` and `leaves_with_path`, also into other functions,
    and finds comparisons of an item with a text, and searches for a text in a path or for an item among texts. Where
    modules of flax make the parameters, it also finds names that no path has in the place where they are looked for.

    ## Why is this bad?
    The items of a path are `DictKey`, `GetAttrKey` or `SequenceKey` objects. None of them equals a text, so the
    filter never matches: weight decay hits every bias, frozen layers train.

    ## Example
        jax.tree.map_with_path(lambda path, p: path[-1] == "bias", params)

    ## Use instead
        jax.tree.map_with_path(lambda path, p: path[-1].key == "bias", params)

    ## When it cannot tell
    When the path is given to a function first that is not known.
    """

    summary = "A key of a tree path is compared with a text and never equals it."

    valid = (
        Example("def f(p):\n    return jax.tree.map_with_path(lambda path, x: path[-1].key == 'bias', p)\n", "its key"),
        Example(
            _LEVELS.format(part='["params"]', name="path[-1].key", among="('bias', 'scale')", mark=""),
            "a parameter in the end",
        ),
        Example(_LEVELS.format(part='["params"]', name="path[0].key", among="('head',)", mark=""), "a layer in front"),
        Example(
            _LEVELS.format(part="", name="path[1].key", among="('head',)", mark=""), "a layer behind its collection"
        ),
        Example(_AWARE.format(place=1, mark=""), "paths that are names"),
    )
    invalid = (
        Example("def f(p):\n    return jax.tree.map_with_path(lambda path, x: path[-1] == 'bias', p)  #!\n", "an item"),
        Example(
            "def f(p):\n    return jax.tree_util.tree_map_with_path(lambda k, x: 'bias' in k, p)  #!\n",
            "the whole path",
        ),
        Example(
            "FROZEN = ('encoder',)\n\ndef is_frozen(path):\n    return path[0] in FROZEN  #!\n\n"
            "def f(p):\n    return jax.tree_util.tree_map_with_path(lambda k, x: is_frozen(k), p)\n",
            "an item among texts, in another function",
        ),
        Example(
            "def f(p):\n    return [x for path, x in jax.tree.leaves_with_path(p) if path[-1] != 'bias']  #!\n",
            "paths of a list",
        ),
        Example(
            "def f(p):\n    return jax.tree.map_with_path(lambda path, x: str(path[-1]) == 'bias', p)  #!\n",
            "a key as text, which has brackets",
        ),
        Example(
            _LEVELS.format(part='["params"]', name="path[0].key", among="('bias', 'scale')", mark="  #!"),
            "a parameter in front",
        ),
        Example(
            _LEVELS.format(part='["params"]', name="path[-1].key", among="('head',)", mark="  #!"), "a layer in the end"
        ),
        Example(_LEVELS.format(part="", name="path[0].key", among="('head',)", mark="  #!"), "a collection in front"),
        Example(_AWARE.format(place=0, mark="  #!"), "a collection in front of names"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that sees paths, and every test that a part of a path never passes."""
        flow, wrong, asked = facts.flow, set[Op](), set[Op]()
        for test in program.named("array.map", "py.operator"):
            for part, wanted in _asked_of(test, flow):
                sources = (_source(flow, part, wanted, context) for context in contexts(flow, test))
                made = next(filter(None, sources), None)
                if made is not None and made.spelling != _PLAIN:
                    wrong.add(made)
                    yield _misses(made, test)
            for made, texts, place in _placed(flow, test):
                asked |= {made}
                if reason := _misplaced(_names_of(facts), texts, place, whole=_has_collections(made, flow)):
                    yield _elsewhere(made, test, texts, reason)
        for op in sorted(asked, key=lambda one: one.span):
            yield unknown(op.span, "whether a path has these keys in these places is not known")
        for op in program.named("tree.map"):
            if op.paths and op not in wrong | asked and _is_searched(op, flow):
                yield unknown(
                    op.span, "whether what is made of a path has the texts that it is compared with is not known"
                )
            elif op.paths and op not in wrong | asked:
                yield proved(op.span, "no key of the path is compared with a text")


def _is_searched(op: Op, flow: Flow) -> bool:
    """Whether what is made of a path is compared with a text, or given to a function that is not known."""

    def step(value: Value) -> Iterable[Value]:
        # The name in an entry is a text, and may be compared with one.
        made = flow.maker(value)
        named = made is not None and made.name == "py.attr" and made.label in ("key", "name", "idx")
        return () if named else ahead(flow, value)

    readers = (one for value in walk(op.regions[0].params[:1], step) for one in flow.readers.get(value, ()))
    return any(one.name == "py.call_unknown" or _compares(one, flow) for one in readers)


def _compares(test: Op, flow: Flow) -> bool:
    tests = test.function in EQUALITIES or test.operator in ("in", "not in")
    return tests and any(_is_text(one, flow) or isinstance(one, tuple) for one in test.arguments.values())


def _asked_of(test: Op, flow: Flow) -> Iterator[tuple[Value, Part]]:
    """Return what would have to be a text, or to hold texts, for a test to be passed."""
    x, y = test.arguments.get("x"), test.arguments.get("y")
    if test.name == "array.map" and test.function in EQUALITIES:
        pairs = [(one, _text(other, flow)) for one, other in ((x, y), (y, x)) if _is_text(other, flow)]
        yield from ((one, Part.KEY) for one, _ in pairs if isinstance(one, Value))
        yield from (found for one, text in pairs if (found := _written(one, text, flow)) is not None)
    elif test.operator in ("in", "not in"):
        if isinstance(y, Value) and _is_text(x, flow):
            yield y, Part.PATH
        if isinstance(x, Value) and _are_constants(y, flow):
            yield x, Part.KEY
    elif test.operator == "str.join" and len(test.operands) == 1:
        yield test.operands[0], Part.PATH


def _is_text(given: object, flow: Flow) -> bool:
    return _text(given, flow) is not None


def _text(given: object, flow: Flow) -> str | None:
    made = flow.maker(given) if isinstance(given, Value) else None
    found = made.constant if made is not None and made.name == "py.const" else given
    return found if isinstance(found, str) else None


def _written(given: object, text: str | None, flow: Flow) -> tuple[Value, Part] | None:
    """Return the key or path that a text was made of, where it has brackets or dots that another text has not."""
    made = flow.maker(given) if isinstance(given, Value) else None
    if made is None or not text or text[0] in "[.":
        return None
    key, path = made.arguments.get("object"), made.arguments.get("keys")
    if made.name == "py.format" and made.qualified == "builtins.str" and isinstance(key, Value):
        return key, Part.KEY
    plain = made.qualified == "jax.tree_util.keystr" and not made.has("simple", "separator")
    return (path, Part.PATH) if plain and isinstance(path, Value) else None


def _placed(flow: Flow, test: Op) -> Iterator[tuple[Op, frozenset[str], int]]:
    """Return the texts that the name in one place of a path is compared with, and where the path comes from."""
    x, y = test.arguments.get("x"), test.arguments.get("y")
    if test.function in EQUALITIES:
        pairs = [(one, (_text(other, flow),)) for one, other in ((x, y), (y, x))]
    else:
        pairs = [(x, y)] if test.operator in ("in", "not in") and isinstance(y, tuple) else []
    for value, texts in pairs:
        names = frozenset(one for one in texts if isinstance(one, str))
        if not isinstance(value, Value) or not names or len(names) < len(texts):
            continue
        for context in contexts(flow, test):
            name = origin(flow, value, context)
            item = name
            if name.op is not None and name.op.name == "py.attr" and name.op.label in ("key", "name"):
                item = origin(flow, name.op.operands[0], name.context)
            place = item.op.arguments.get("index") if item.op is not None and item.op.name == "py.item" else None
            if item.op is None or not isinstance(place, int) or not item.op.operands:
                continue
            made = _keyed(flow, item) if item is name else _source(flow, item.op.operands[0], Part.PATH, item.context)
            if made is not None:
                yield made, names, place
                break


def _keyed(flow: Flow, item: Origin) -> Op | None:
    """Return the call that gives paths as tuples of names, such as the keys of a flat dict."""
    assert item.op is not None
    key = origin(flow, item.op.operands[0], item.context)
    entry = None if key.op is not None else flow.entered(key.value)
    if entry is not None and entry.op.spelling == _PLAIN:
        return entry.op if key.value is entry.region.params[0] else None
    flat = key.op.arguments.get("iterable") if key.op is not None and key.op.name == "py.element" else None
    made = origin(flow, flat, key.context).op if isinstance(flat, Value) else None
    keyed = made is not None and made.qualified == "flax.traverse_util.flatten_dict" and not made.has("sep")
    return made if keyed else None


def _are_constants(given: object, flow: Flow) -> bool:
    """Whether something is searched that holds constants alone, such as a set of names."""
    if isinstance(given, Value):
        made = flow.maker(given)
        return made is not None and made.name == "py.container" and not made.operands and not made.arguments
    return isinstance(given, (Mapping, tuple)) and all(isinstance(one, str | int) for one in given)


class Part(Enum):
    """What holds a path, from the outside in."""

    FLATTENED = "the pairs and the structure"
    PAIRS = "pairs of a path and a leaf"
    PAIR = "a path and a leaf"
    PATH = "a path"
    KEY = "an entry of a path"


_INSIDE = {Part.KEY: Part.PATH, Part.PATH: Part.PAIR, Part.PAIR: Part.PAIRS, Part.PAIRS: Part.FLATTENED}
_FIRST = (Part.PATH, Part.PAIRS)
"""What is the first item of what holds it; of all others any item will do."""
_MAKERS = {Part.FLATTENED: "jax.tree.flatten_with_path", Part.PAIRS: "jax.tree.leaves_with_path"}


def _source(flow: Flow, value: Value, wanted: Part, context: Context) -> Op | None:
    """Return the call that gave a part of a path; None where a value is not known to be one."""
    found = origin(flow, value, context)
    op = found.op
    if op is None:
        entry = flow.entered(found.value)
        count = entry.op.paths if entry is not None and entry.op.name == "tree.map" else 0
        if entry is None or not isinstance(count, int) or wanted is not Part.PATH:
            return None
        return entry.op if found.value in entry.region.params[:count] else None
    if op.qualified and op.qualified == _MAKERS.get(wanted):
        return op
    base = op.argument("base", "iterable")
    if op.name not in ("py.item", "py.unpack", "py.element") or not isinstance(base, Value):
        return None
    if isinstance(op.arguments.get("index"), Mapping):
        return _source(flow, base, wanted, found.context) if wanted is Part.PATH else None
    inner = wanted in _INSIDE and _fits(op, found, wanted)
    return _source(flow, base, _INSIDE[wanted], found.context) if inner else None


def _fits(op: Op, found: Origin, wanted: Part) -> bool:
    """Whether what is taken out of something is in the place where the wanted part stands."""
    at = op.results.index(found.value) if op.name == "py.unpack" else op.arguments.get("index")
    if wanted in _FIRST:
        return op.name != "py.element" and at == 0 and op.star is None
    return op.name == "py.element" or isinstance(at, int | Value)


def _elsewhere(op: Op, test: Op, texts: frozenset[str], reason: str) -> Obligation:
    shown = " or ".join(f"`{one}`" for one in sorted(texts))
    return Obligation(
        test.span,
        message=f"no path has {shown} in this place: the filter never matches",
        current=f"{reason}; this is the same for every leaf",
        expected="the key in the place where these names stand is compared",
        steps=(Step(op.span, "the path comes from here"),),
        suggestion="compare the name of a parameter with the last key of the path, and that of a layer with one before",
    )


def _misses(op: Op, test: Op) -> Obligation:
    joined = test.operator == "str.join"
    what = "paths consist of `DictKey`, `GetAttrKey` and `SequenceKey` objects"
    return Obligation(
        test.span,
        message="the keys of a path are joined, and they are no texts"
        if joined
        else "a key of the path is compared with a text, which it never equals",
        current=f"{what}; {'this raises' if joined else 'this is always false'}",
        expected=f"the text inside the key is {'joined' if joined else 'compared'}",
        steps=(Step(op.span, "the path comes from here"),),
        suggestion='compare `path[-1].key` (or `.name`), or `"..." in jax.tree_util.keystr(path)`',
    )


@record
class _Names:
    """The names that a program with modules of linen gives to layers, and to anything else that a path may hold."""

    layers: frozenset[str]
    others: frozenset[str]
    has_layers: bool


@remembered
def _names_of(facts: Facts) -> _Names:
    """Collect the names of layers, of parameters that modules make themselves, and of entries of dicts."""
    program = facts.program
    calls = [op for op in program.named("py.call_library") if op.qualified.startswith(_LINEN)]
    said = [(op, name) for op in calls if isinstance(name := op.arguments.get("name"), str)]
    held = {op.label for op in program.named("py.store_attr") if "flax.linen.Module" in (op.bases or ())}
    own = {name for op, name in said if op.qualified == _PARAM}
    layers = {name for op, name in said if op.qualified != _PARAM} | held
    return _Names(
        frozenset(layers),
        frozenset(own | set(_entries(program))),
        any(plays(op.qualified, "module.reads") and op.qualified != _PARAM for op in calls),
    )


def _entries(program: Program) -> Iterator[str]:
    """Return the keys of dicts that the code makes."""
    for op in program.having(Op.border):
        trees = () if op.border is None else op.border.trees
        yield from (key for tree in trees for node in nodes(tree) if node.kind == "dict" for key in node.keys)
    yield from (key for op in program.named("py.set_item") if isinstance(key := op.arguments.get("index"), str))


def _has_collections(made: Op, flow: Flow) -> bool:
    """Whether the tree that paths are of is all that a module gave: its first keys are `params` and the like."""
    trees = made.operands[made.paths if isinstance(made.paths, int) else 0 :]
    found = origin(flow, trees[0], {}).op if trees else None
    return found is not None and plays(found.qualified, "module.init")


def _misplaced(names: _Names, texts: frozenset[str], place: int, *, whole: bool) -> str:
    """Return why no path has one of some texts in a place; empty where one may."""
    if not names.has_layers or texts & names.others:
        return ""
    if place == 0 and texts <= PARAMETERS and not texts & names.layers:
        return "the first key is the name of a layer, and those of its parameters come last"
    if place == 0 and whole and texts <= names.layers:
        return "the first key is the name of a collection, such as `params`, and those of layers come after it"
    if place == -1 and texts <= names.layers and not texts & PARAMETERS:
        return "the last key is the name of a parameter, and those of layers come before"
    return ""
