"""Exceptions of flax, equinox, optax, haiku and chex, most of them about modules and their state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxaudit.frontends.jaxpr.exceptions.callbacks import told_place
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, rows
from jaxaudit.spans import Span, span_of

_RULE = "module-state-mishandled"

_OTHER_VARIABLES = tuple(
    "ScopeCollectionNotFound ScopeParamNotFoundError ScopeVariableNotFoundError ScopeParamShapeError "
    "ApplyScopeInvalidVariablesStructureError ModifyScopeVariableError".split()
)


def _state(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        _RULE,
        f"the module is given other variables than it needs: {first_line(facts.message.split(' (http')[0], 120)}",
        expected="every parameter and collection that the module made in `init`, in the same structure",
        suggestion="pass what `init` gave (`{'params': params, ...}`), for a module of the same configuration",
    )


def _no_collections(facts: Facts, match: re.Match[str]) -> Explanation:
    name = facts.call or "module.apply"
    return Explanation(
        _RULE,
        f"`{name}` is given something other than a dict of collections: `params` is to be one of its keys",
        expected="`{'params': params}`, and further collections beside it",
        suggestion=f"`{name}({{'params': params}}, ...)`, or pass the whole of what `init` gave",
    )


def _runtime(facts: Facts, match: re.Match[str]) -> Explanation:
    """Explain a check of the user's own that failed, at the line that equinox names."""
    return Explanation(
        "script-failed",
        f"a check inside the compiled program failed: {first_line(match[1])}",
        current="the program stops while it runs, where `eqx.error_if` or a check of a library found this",
        expected="the condition of the check never holds",
        suggestion="`EQX_ON_ERROR=breakpoint` stops there with the values at hand",
        span=told_place(facts),
    )


def _given_key(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        _RULE,
        f"`{facts.call or 'init'}` is given something that is no key for its random numbers",
        expected="`module.init(key, x)`: the key first, then the inputs",
        suggestion="pass `jax.random.key(0)` as the first argument",
    )


_KEEPERS = frozenset(
    "get_state set_state BatchNorm ExponentialMovingAverage EMAParamsTree SpectralNorm SNParamsTree "
    "VectorQuantizerEMA ResNet ResNet18 ResNet34 ResNet50 ResNet101 ResNet152 ResNet200 MobileNetV1".split()
)
"""What haiku's modules and functions with a state are called."""


def _stateless(facts: Facts, match: re.Match[str]) -> Explanation:
    """Blame the line that keeps the state: the call of `init` is right, and only notices."""
    keepers = list(_haiku_calls(facts, _KEEPERS))
    made = list(_haiku_calls(facts, frozenset(("transform", "without_apply_rng", "multi_transform"))))
    name, keeper = keepers[0] if keepers else ("", None)
    steps = [(span, f"`{call}` transforms the function here") for call, span in made[:1]]
    steps += [(facts.span, "haiku notices here")] if facts.span else []
    what = f"`{name}` keeps a state" if name else "a function with state (a BatchNorm, a moving average)"
    return Explanation(
        _RULE,
        f"{what}, but the function is transformed by `hk.transform`"
        if name
        else f"{what} is transformed by `hk.transform`",
        expected="`hk.transform_with_state`",
        suggestion="use it, and pass the state on: `out, state = f.apply(params, state, key, x)`",
        span=keeper,
        steps=tuple(steps),
    )


def _no_key(facts: Facts, match: re.Match[str]) -> Explanation:
    stateful = next(iter(_haiku_calls(facts, frozenset(("transform_with_state", "multi_transform_with_state")))), None)
    if stateful is not None and match[1] == "Apply":
        return Explanation(
            _RULE,
            "`apply` of a function with state is called without its state, or with another argument as the key",
            expected="`apply(params, state, key, x)`, which gives `(out, state)`",
            suggestion="pass the state after the parameters, and keep the new one; without draws the key is None",
            steps=((stateful[1], "the function is transformed with state here"),),
        )
    return Explanation(
        _RULE,
        f"the {match[2]} argument of `{match[1]}` is to be a key",
        expected="`init(key, x)` and `apply(params, key, x)`",
        suggestion="give the key (None where nothing is drawn), or use `hk.without_apply_rng`",
    )


def _haiku_calls(facts: Facts, names: frozenset[str]) -> Iterator[tuple[str, Span]]:
    """Find calls by the last part of their name, in files that use haiku."""
    for path in sorted(facts.files):
        if "haiku" in facts.texts(path).text:
            for node in ast.walk(facts.tree(path)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                    yield ast.unparse(node.func), span_of(node, path)


ROWS = (
    Row(r"uses `hk\.\{get,set\}_state` then use `hk\.transform_with_state`", _stateless),
    Row(r"(Init|Apply) must be called with an RNG as the (\w+) argument", _no_key),
    *rows(
        r"""
current: the call stops with an exception
ScopeParamShapeError: For parameter "(\w+)" in "(\S+)".*generate shape (\([^)]*\)).*received has shape (\([^)]*\))
    module-state-mishandled: parameter `{1}` of `{2}` has shape {4}, but this input needs {3}
    expected: the input has the size that it had when the module was initialised
    suggestion: correct the last axis of the input, or initialise with inputs like it
ModifyScopeVariableError: Cannot update variable "(\w+)" in "(\S+)" because collection "(\w+)" is immutable
    module-state-mishandled: the module updates `{1}` of `{2}`, but the collection `{3}` is not mutable in this call
    expected: the collections that change are named, and their new values kept
    suggestion: `out, new = module.apply(variables, x, mutable=['{3}'])`, and put `new` into the next call
InvalidRngError: needs PRNG for \"(\w+)\"
    module-state-mishandled: the module needs random numbers of the kind `{1}`, and is given no key for them
    expected: a key for every kind of randomness that is used
    suggestion: `module.apply(variables, x, rngs={{'{1}': key}})`, or make the layer deterministic
AssignSubModuleError: Submodule (\w+) must be defined in `setup\(\)` or in a method wrapped in `@compact`
    module-state-mishandled: `{1}` is made in a method that is not `@nn.compact`
    expected: submodules are made in `setup`, or in the one method that is `@nn.compact`
    suggestion: add `@nn.compact` above the method
SetAttributeFrozenModuleError, SetAttributeInModuleSetupError: Can't set (\w+)=.* for Module of type (\w+)
    module-state-mishandled: `self.{1}` of the module `{2}` is assigned while it runs, but modules do not change
    expected: state is a variable: `self.variable(...)`, `self.sow(...)` or a return value
    suggestion: return the value, or keep it in a collection that is `mutable`
AttributeError: "(\w+)" object has no attribute "(\w+)"\. If "\w+" is defined in \'\.setup\(\)\'
    module-state-mishandled: the module `{1}` is called by itself, so that `setup` has not run and `{2}` does not exist
    expected: modules are called by `init` and `apply`
    suggestion: `variables = module.init(key, x)`, then `module.apply(variables, x)`
any: Can't call (?:compact methods|methods) on unbound modules
    module-state-mishandled: a module is called by itself, without its parameters
    expected: modules are called by `init` and `apply`
    suggestion: `variables = module.init(key, x)`, then `module.apply(variables, x)`
ValueError: `deterministic` is False, but no `rngs` argument was provided to (\w+)
    module-state-mishandled: `{1}` is to draw random numbers, but was made without `rngs`
    expected: layers that draw are made with `rngs=nnx.Rngs(...)`
    suggestion: give `rngs`, or make the layer deterministic (`model.eval()`)
NameInUseError: Could not create (\w+) "(\w+)" in Module (\w+): Name in use
    module-state-mishandled: `{3}` makes a second {1} with the name `{2}`
    expected: a name of its own for every parameter and submodule
    suggestion: rename one of them, or make it once and use it twice
ValueError: Parameter "(\w+)" must be passed to the constructor or at call time
    module-state-mishandled: the layer is not told `{1}`: whether it trains or is only used
    expected: `{1}=` where the layer is made or called
    suggestion: `{1}=not train`, with `train` an argument of the model
ValueError: Can't compute input and output sizes of a (\d+)-dimensional weights tensor
    module-state-mishandled: an initializer that counts inputs and outputs is given a parameter with {1} axes
    expected: a matrix; for vectors such as biases an initializer like `zeros` or `normal`
    suggestion: use `nn.initializers.zeros` or `normal()`, or give the parameter two axes
TraceContextError: Cannot mutate (\w+) from a different trace level
    module-state-mishandled: a `{1}` of a module is changed inside a function that JAX transforms, but the module comes
        from outside
    expected: the module is an argument of the transformed function
    suggestion: use `nnx.jit` or `nnx.grad` and pass the module in, or `nnx.split` and `nnx.merge` with its state
ValueError: Found data on value of type '<class '([^']+)'>' assigned to static attribute '(\w+)'
    module-state-mishandled: `{2}` is a plain {1} that holds parameters or modules
    expected: containers that nnx knows
    suggestion: `nnx.List(...)` or `nnx.Dict(...)`; `nnx.data(...)` for other containers
TypeError: Missing required argument `wrt`
    wrong-number-of-arguments: `nnx.Optimizer` is not told which variables it updates
    expected: `wrt=nnx.Param`
    suggestion: `nnx.Optimizer(model, optimizer, wrt=nnx.Param)`
ValueError: transformation that requires the current value of parameters, but you are not passing `params`
    wrong-number-of-arguments: `update` is called without the parameters, which this optimizer needs (for weight decay,
        for example)
    expected: `optimizer.update(grads, opt_state, params)`
    suggestion: pass the parameters as the third argument
ValueError: Some parameters have no corresponding transformation.*?labels: (\[.*?\])\s*Transforms keys: (\[.*?\])
    path-filter-misses: parameters are labelled {1}, but there are transformations for {2}
    expected: a transformation for each label
    suggestion: correct the labels, or add `optax.set_to_zero()` for what stays fixed
ValueError: Input to `(\w+)` needs to have rank (\d+),.*but input has shape (\(.*?\))
    axis-conflict: `{1}` is given an array of shape {3}, and takes arrays with {2} axes: one example, without a batch
    expected: an array with {2} axes
    suggestion: map the batch: `jax.vmap(layer)(x)`
ValueError: should be called with a scalar index
    axis-conflict: an embedding of equinox is given many indices at once, and takes one
    expected: one whole number, of shape ()
    suggestion: map it: `jax.vmap(embedding)(indices)`
any: Dropout requires a key when running in non-deterministic mode
    module-state-mishandled: dropout is called without a key
    expected: `dropout(x, key=key)`, or `inference=True`
    suggestion: pass a key for every call, or switch to inference with `eqx.nn.inference_mode(model)`
any: Precisely one of `replace` and `replace_fn` must be specified
    wrong-number-of-arguments: `eqx.tree_at` is not told what to put in
    expected: `replace=` or `replace_fn=`
    suggestion: `eqx.tree_at(where, tree, new_value)`
TypeError: params argument does not appear valid.*is of type <class '(\w+)'>
    module-state-mishandled: `apply` of haiku is given a {1} as the parameters
    expected: the mapping that `init` gave
    suggestion: with state: `params, state = f.init(...)`, then `f.apply(params, state, key, x)`
ValueError: Unable to retrieve parameter '(\w+)' for module '(\S+)'
    module-state-mishandled: `apply` needs the parameter `{1}` of `{2}`, which is not among those that it is given
    expected: the parameters that `init` gave, for the same modules with the same names
    suggestion: pass them whole, and make modules in the same order in `init` and `apply`
AssertionError: \[Chex\] Assertion (\w+) failed: +(?:Error in \w+ compatibility check: +)?(.*)
    axis-conflict: `chex.{1}` fails: {2}
    current: the assertion stops the program
    expected: what the assertion states
    suggestion: correct the arrays, or the assertion
ValueError, TypeError: FrozenDict is immutable
    in-place-update: an entry of a FrozenDict is assigned
    current: the assignment is an exception
    expected: a new dict with the entry replaced
    suggestion: `params = params.copy({{'key': value}})`, or `flax.core.unfreeze` it first
TypeError: Field '(\w+)' was not initialized
    module-state-mishandled: `__init__` ends without a value for the field `{1}`
    current: the operation stops with an exception
    expected: every field of an equinox module gets a value
    suggestion: assign `self.{1}` in `__init__`, or give the field a default
FrozenInstanceError: cannot assign to field '(\w+)'
    in-place-update: the field `{1}` of a frozen object is assigned
    current: the assignment is an exception: pytree classes are frozen
    expected: a new object with the field replaced
    suggestion: `dataclasses.replace(obj, {1}=...)`, `obj._replace({1}=...)` or `eqx.tree_at(lambda m: m.{1}, obj, ...)`
any: must be initialized inside an `hk\.transform`
    module-state-mishandled: a haiku module is made outside of `hk.transform`
    expected: modules are made inside the function that is transformed
    suggestion: `net = hk.transform(lambda x: hk.Linear(3)(x))`, then `net.init` and `net.apply`
MissingRNGError, ValueError: must pass a non-None PRNGKey
    module-state-mishandled: the function draws random numbers, but `init` or `apply` is given None for the key
    expected: a key in every call of a function that draws
    suggestion: `net.apply(params, key, x)`
any: '(\S+)' with retrieved shape (\([^)]*\)) does not match shape=\[([^\]]*)\]
    module-state-mishandled: parameter `{1}` has shape {2}, but this input needs ({3})
    expected: the input has the size that it had in `init`
    suggestion: correct the last axis of the input, or initialise with inputs like it
"""
    ),
    Row(r"RNGs should be of shape \(2,\) or PRNGKey", _given_key, ("InvalidRngError",)),
    Row(r"", _no_collections, ("ApplyScopeInvalidVariablesTypeError",)),
    Row(r"", _state, _OTHER_VARIABLES),
    Row(r"equinox\.EquinoxRuntimeError: (.*)", _runtime, ("EquinoxRuntimeError", "EqxRuntimeError")),
)
