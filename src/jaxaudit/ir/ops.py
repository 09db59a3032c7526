"""The closed vocabulary of ops: every op in every program has a name from this table.

Names are semantic. `jax.random.normal(key)` in source and `random_bits` in a jaxpr are both `key.draw`; what they
differ in stands in the op's attributes. A front end that meets something without a row here emits `py.call_unknown`
or `py.unknown` with the reason, never a near miss.
"""

from __future__ import annotations

from jaxaudit.ir.record import record


@record
class OpSpec:
    """One row: what the op does, and how the regions it holds relate to it."""

    name: str
    summary: str
    regions: str = "none"
    """`none`; `branches`: one of them runs; `loop`: runs again and again; `body`: runs once; `mapped`: runs once for
    every element of the mapped axis; `deferred`: may run any number of times, later."""
    effect: bool = False
    """True when the op matters though its results are unused."""
    note: bool = False
    """True for a note of a front end: it computes nothing and has neither operands nor results."""


_ROWS = (
    # Python's own acts
    OpSpec("py.const", "a constant; attrs: value, extent (least and greatest entry of an array)"),
    OpSpec("py.unknown", "a value nothing is known of; attrs: reason"),
    OpSpec("py.global", "the value of a module-level variable; attrs: name, value (as the module left it)"),
    OpSpec("py.attr", "an attribute of an object; attrs: name, role (data or structure to JAX, where known)"),
    OpSpec("py.item", "base[index]; arguments: base, index (a slice is {'start', 'stop', 'step'})"),
    OpSpec("py.unpack", "a, *b, c = base; attrs: count (targets), star (position of the starred one, or None)"),
    OpSpec("py.element", "what the loop variable holds in this turn; arguments: iterable, index; attrs: listed (items of a list, not rows)"),
    OpSpec("py.container", "a tuple, list, dict or object seen as one value; operands: its leaves; attrs: kind; arguments: items of a row of arrays and numbers, x, y of two that are joined, rows of an array"),
    OpSpec("py.join", "one of the operands, whichever path was taken; attrs: kind ('return', 'expression', ...)"),
    OpSpec("py.operator", "an operator on values that need not be arrays; attrs: operator ('in', 'is', 'not', 'and', ...)"),
    OpSpec("py.store_attr", "object.name = value; arguments: object, value; attrs: name", effect=True),
    OpSpec("py.set_item", "base[index] = value; arguments: base, index, value; attrs: augmented", effect=True),
    OpSpec("py.append", "list.append and its kin; arguments: list, value; attrs: method", effect=True),
    OpSpec("py.read", "compiled code reads state from outside; attrs: kind ('global', 'closure', 'attr', 'item'), owner, name", effect=True),
    OpSpec("py.rebind", "a variable that inner functions read is bound again; attrs: owner, name", effect=True),
    OpSpec("py.store_global", "global name = value; attrs: name", effect=True),
    OpSpec("py.store_nonlocal", "nonlocal name = value; attrs: name", effect=True),
    OpSpec("py.test", "Python asks for the truth of a value; attrs: construct ('if', 'while', 'assert', ...)", effect=True),
    OpSpec("py.to_python", "float(x), int(x), x.item(), x.tolist(): an array becomes a Python object; attrs: function", effect=True),
    OpSpec("py.format", "a value becomes text; attrs: spec", effect=True),
    OpSpec("py.print", "print or log a value; attrs: function", effect=True),
    OpSpec("py.random", "numbers from Python's or NumPy's global generators; attrs: function", effect=True),
    OpSpec("py.clock", "the time of day, a file, the environment: input from outside; attrs: function", effect=True),
    OpSpec("py.return", "leave the function with these values", effect=True),
    OpSpec("py.raise", "leave by an exception", effect=True),
    OpSpec("py.branch", "one of the regions runs; results: what they leave behind", regions="branches"),
    OpSpec("py.loop", "a for loop; operands: carried values; region params: index, carried values; attrs: trips", regions="loop"),
    OpSpec("py.while", "a while loop; operands: carried values; region params: index, carried values", regions="loop"),
    OpSpec("py.call", "call of a function whose body is known; region params: its leaves; attrs: function", regions="body"),
    OpSpec("py.call_library", "call of a library function that needs no op of its own; attrs: function"),
    OpSpec("py.call_unknown", "call of something that could not be followed; attrs: callee, reason", effect=True),
    # notes of a front end
    OpSpec("py.drop", "an expression statement drops its value; attrs: values (its leaves), guarded, module, last (of a branch beside one that returns)", note=True),
    OpSpec("py.unread", "a name is bound that nothing reads; attrs: name, kind, values (its leaves), and what is known of it", note=True),
    OpSpec("py.taken", "variables take the results of a call; attrs: written, values, had (what it was given of them), kinds (classes now and before), packed", note=True),
    OpSpec("py.overwritten", "a variable is bound again that nothing has read on some path; attrs: name, values, had", note=True),
    OpSpec("py.turn", "what turns of a loop leave to one another; attrs: kind, name, problem (empty where there is none)", note=True),
    OpSpec("py.replace", "a copy of a record with some fields changed; attrs: class, method, fields, given (new ones), values (old)", note=True),
    OpSpec("py.record", "a record is made of some values; attrs: class, given (its fields)", note=True),
    OpSpec("py.again", "a variable, or a part of what is built, gets what another one has already; attrs: values", note=True),
    OpSpec("py.held", "the end of a `with`; arguments: manager; attrs: runs (whether anything runs in it)", note=True),
    OpSpec("py.kept", "a turn leaves variables as they are, for an answer that Python knew; attrs: values (their leaves)", note=True),
    OpSpec("py.sizes", "two named constants are multiplied; attrs: left, right (the constants)", note=True),
    OpSpec("py.repeat", "a list of numbers is repeated by `*`; attrs: values", note=True),
    OpSpec("py.given_back", "a compiled function gives an object back; attrs: spelling, tree", note=True),
    OpSpec("py.passed", "arguments named like parameters; attrs: function, written, params, values, twice (a parameter, what stands for it), had (the leaves of the variables of these names)", note=True),
    OpSpec("py.refused", "a call whose arguments do not fit the parameters; attrs: callee, reason, defined (where the callee is), caller", note=True),
    OpSpec("tree.static", "an object keeps values in a field that is structure; attrs: class, field, values, where", note=True),
    OpSpec("tree.class", "a class says how it is taken apart; attrs: class, handed, params, stored, given", note=True),
    OpSpec("tree.default", "a field of a dataclass has a default; arguments: value; attrs: class, field, refuses, anew (by a function)", note=True),
    OpSpec("tree.constant", "a number that the class of a record binds without an annotation is read: it is no field; attrs: class, field, where", note=True),
    OpSpec("py.unfit", "what is unpacked has another number of parts; attrs: reason, guarded", note=True),
    OpSpec("tree.unzipped", "a tree with a tuple for each leaf is unpacked into as many variables; attrs: kind, written (those that held a mapped tree), guarded", note=True),
    OpSpec("py.misfit", "a function is run with other arguments than it takes; attrs: reason, open (it may take them)", note=True),
    OpSpec("tree.paired", "sequences that are run through side by side; attrs: orders (keys, value and place of each)", note=True),
    OpSpec("tree.made", "an instance of a class without a constructor; attrs: class, arguments (how many), where", note=True),
    # transformations
    OpSpec("jit", "a compiled call; attrs: static, donated, options", regions="body"),
    OpSpec("vmap", "map over an axis; attrs: in_axes (a leaf each), out_axes, axis_name, axis_size", regions="mapped"),
    OpSpec("pmap", "map over devices; attrs: as vmap", regions="mapped"),
    OpSpec("shard_map", "one program a shard; attrs: in_specs, out_specs, mesh, check", regions="mapped"),
    OpSpec("grad", "reverse-mode derivative; attrs: argnums, has_aux, value (value_and_grad)", regions="body"),
    OpSpec("jvp", "forward-mode derivative, jacfwd, linearize; attrs: function", regions="body"),
    OpSpec("vjp", "pullback, jacrev, hessian; attrs: function", regions="body"),
    OpSpec("scan", "lax.scan; operands: init, xs; region params: carry, x; attrs: carry (leaf count), length, reverse, unroll", regions="loop"),
    OpSpec("map", "lax.map; operands: xs; region params: x", regions="mapped"),
    OpSpec("fori", "lax.fori_loop; operands: lower, upper, init; region params: i, carry", regions="loop"),
    OpSpec("while", "lax.while_loop; regions: condition, body; region params: carry", regions="loop"),
    OpSpec("cond", "lax.cond and lax.switch; operands: predicate, operands; region params: operands", regions="branches"),
    OpSpec("associative_scan", "lax.associative_scan; region params: two elements; attrs: reverse, axis", regions="loop"),
    OpSpec("checkpoint", "computed again in the backward pass; attrs: policy", regions="body"),
    OpSpec("custom_jvp", "a function with its own derivative rule", regions="body"),
    OpSpec("custom_vjp", "a function with its own derivative rule; attrs: forward, backward", regions="body"),
    OpSpec("abstract", "eval_shape, make_jaxpr: traced, never run; attrs: function", regions="body"),
    OpSpec("callback", "pure_callback, io_callback, debug.callback: Python code at run time; attrs: function", regions="deferred", effect=True),
    OpSpec("transform", "a transformation with no op of its own; attrs: function", regions="body"),
    # random keys
    OpSpec("key.seed", "a key from a number; arguments: seed; attrs: function, typed"),
    OpSpec("key.split", "new keys from a key; arguments: key, num"),
    OpSpec("key.fold_in", "a new key from a key and a number; arguments: key, data"),
    OpSpec("key.draw", "numbers drawn from a key, by JAX or a library; arguments: key, ...; attrs: function"),
    OpSpec("key.clone", "the same key, declared fresh: jax.random.clone"),
    OpSpec("key.wrap", "raw data seen as a key, or a key as raw data; attrs: function"),
    OpSpec("key.within", "what a followed call gives, with the numbers that were drawn in it; arguments: value, drawn"),
    OpSpec("key.stream", "a stateful source of keys (hk.next_rng_key, nnx.Rngs, make_rng); attrs: function"),
    # arrays
    OpSpec("array.create", "a new array from sizes or Python data; attrs: function"),
    OpSpec("array.convert", "another dtype or another kind of array; attrs: function"),
    OpSpec("array.map", "elementwise, with broadcasting; attrs: function"),
    OpSpec("array.reduce", "sum, mean, max, ... over axes; attrs: function"),
    OpSpec("array.scan", "cumsum and its kin: along an axis, shape kept; attrs: function"),
    OpSpec("array.normalise", "softmax, layer norm, standardise: along axes, shape kept; attrs: function"),
    OpSpec("array.select", "where, select, clip by mask: arguments condition, x, y; attrs: function"),
    OpSpec("array.reshape", "reshape, ravel, flatten; attrs: function"),
    OpSpec("array.permute", "transpose, swapaxes, moveaxis, rollaxis; attrs: function"),
    OpSpec("array.expand", "expand_dims, broadcast_to, tile, repeat; attrs: function"),
    OpSpec("array.squeeze", "drop axes of size one"),
    OpSpec("array.join", "concatenate, stack and their kin; attrs: function"),
    OpSpec("array.split", "split an array into pieces; attrs: function"),
    OpSpec("array.move", "roll, flip, pad, shift: elements move along an axis; attrs: function"),
    OpSpec("array.gather", "take, take_along_axis, dynamic_slice: elements by index; attrs: function"),
    OpSpec("array.scatter", "x.at[i].set(v) and its kin; arguments: base, index, value; attrs: function"),
    OpSpec("array.at", "x.at or x.at[i], before the update"),
    OpSpec("array.order", "sort, argsort, top_k, argmax, unique, nonzero: by the values; attrs: function"),
    OpSpec("array.dot", "dot, matmul, einsum, tensordot; attrs: function"),
    OpSpec("array.convolve", "convolutions and pooling windows; attrs: function"),
    OpSpec("array.linalg", "decompositions, solvers, norms, fft; attrs: function"),
    OpSpec("array.shape", "shape, ndim, size, dtype of an array: known while tracing; attrs: function"),
    OpSpec("array.numpy", "a NumPy function, run by Python; attrs: function"),
    # trees, gradients, devices
    OpSpec("tree.map", "a function on every leaf; region params: one leaf of each tree", regions="mapped"),
    OpSpec("tree.other", "flatten, unflatten, leaves, structure, reduce; attrs: function"),
    OpSpec("tree.leaf", "a leaf of a tree that a library gives, in the place of a leaf it was given; arguments: like, tree"),
    OpSpec("grad.stop", "lax.stop_gradient"),
    OpSpec("collective", "psum, pmean, all_gather, ppermute, axis_index; attrs: function, axis_name"),
    OpSpec("device.place", "device_put, with_sharding_constraint, block_until_ready; attrs: function"),
)

VOCABULARY: dict[str, OpSpec] = {row.name: row for row in _ROWS}

LOOPS = frozenset(name for name, row in VOCABULARY.items() if row.regions == "loop")
CARRYING = frozenset(("scan", "fori", "while"))
"""JAX's loops with a carry, whose type must stay the same."""
PYTHON_LOOPS = frozenset(("py.loop", "py.while"))
REPEATED = CARRYING | frozenset(("map", "associative_scan"))
"""JAX's ops that trace a body once and run it again and again."""
BRANCHES = frozenset(name for name, row in VOCABULARY.items() if row.regions == "branches")
MAPPED = frozenset(name for name, row in VOCABULARY.items() if row.regions == "mapped")
BODIES = frozenset(name for name, row in VOCABULARY.items() if row.regions == "body")
CALLS = frozenset(("py.call", "jit", "checkpoint"))
"""Ops that give what their body gives, as it is."""
DEFERRED = frozenset(name for name, row in VOCABULARY.items() if row.regions == "deferred")
NOTES = frozenset(name for name, row in VOCABULARY.items() if row.note)
REMARKS = frozenset(
    """py.drop py.unread py.taken py.passed py.refused py.given_back py.overwritten py.again py.kept
    py.record""".split()
)
"""Notes on how values that other ops make are used; the other notes stand for something that the code does."""

DEVICE_MAPS = frozenset(("pmap", "shard_map"))
REDUCING = frozenset(("array.reduce", "array.linalg"))
"""Ops that may make one number of many."""
DERIVATIVES = frozenset(("grad", "vjp", "jvp"))
CUSTOM_DERIVATIVES = frozenset(("custom_jvp", "custom_vjp"))
"""Ops whose author says what their derivative is."""
CONTRACTIONS = frozenset(("array.dot", "array.convolve"))
"""Ops that weigh elements with others and add them up: the layers of networks are made of them."""
COMPUTED = CONTRACTIONS | {"array.map", "array.reduce", "array.scan", "array.normalise", "array.linalg"}
"""Ops that compute new elements from those they are given."""
ARRAYS = COMPUTED | frozenset(
    """array.create array.convert array.select array.reshape array.permute array.expand array.squeeze array.join array.move
    array.gather array.scatter key.seed key.split key.fold_in key.clone""".split()
)
"""Ops of whose result it is certain that it is an array (or several), where they are no operators of Python."""
UNFOLLOWED = frozenset(("py.unknown", "py.call_unknown"))
"""Ops whose results nothing is known of."""
INLINE = PYTHON_LOOPS | {"py.branch"}
"""Ops whose regions are part of the function that they stand in."""

STORES = ("py.store_attr", "py.set_item", "py.append", "py.store_global", "py.store_nonlocal")
"""Ops that put a value where other code may find it."""
ELEMENTWISE = frozenset(("array.map", "array.select"))
"""Ops that compute or choose each element of their result by itself."""
JOINING = frozenset(("array.select", "py.join", "array.join"))
"""Ops that give elements of several arrays back, as they are."""
PASSED_ON = frozenset(("array.convert", "device.place", "grad.stop", "key.clone", "key.within"))
"""Ops that give each element of their operand back where it was: as another type, elsewhere, without its gradient."""
REARRANGED = frozenset(("array.reshape", "array.permute", "array.squeeze", "array.expand"))
"""Ops that give every element of one array back at another place; `array.expand` some of them more than once."""
KEEPING = PASSED_ON | REARRANGED
"""Ops that give every element of one array back."""
CALCULATING = REARRANGED | {"array.map", "array.reduce", "array.scan", "array.order", "array.dot", "array.move"}
"""Ops of JAX that take arrays, and no list, dict or tuple of them."""
SELECTED = frozenset(("py.item", "py.unpack", "py.element", "array.gather", "array.split", "array.move"))
"""Ops that give some of the elements of one array back, at another place; `array.move` may add others beside them."""
MOVING = KEEPING | SELECTED
"""Ops that only move elements of one array: what holds for every element of it holds for every element they give."""
HOLDING = MOVING | {"py.attr", "py.container", "py.join", "tree.leaf", "tree.other"}
"""Ops whose results hold what they are given, or are held by it."""
ALONG_AN_AXIS = frozenset(("array.reduce", "array.normalise", "array.order", "array.scan"))
"""Ops that work along the axis that they are told."""
LOOKED_AT = frozenset(("py.print", "py.format", "py.test", "py.to_python"))
"""Ops by which Python looks at a value."""

SIZED_BY = {
    "array.create": ("shape", "N", "M", "num", "n", "dimensions"),
    "array.reshape": ("shape", "newshape", "new_shape", "new_sizes"),
    "array.expand": ("shape", "reps", "repeats", "num_classes"),
    "array.gather": ("slice_sizes", "slice_size", "limit_indices", "limit_index"),
    "array.reduce": ("num_segments", "length"),
    "array.order": ("k",),
    "array.split": ("indices_or_sections",),
    "key.draw": ("shape",),
    "key.split": ("num",),
}
"""The arguments of ops that say how large what they make is."""
WIDENED_BY = {"array.move": ("pad_width",)}
"""The arguments, in pairs of numbers, that say how much larger it is."""
