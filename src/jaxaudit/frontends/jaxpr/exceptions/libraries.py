"""Exceptions of flax, equinox and haiku about their modules."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.callbacks import told_place
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, say

_RULE = "module-state-mishandled"
_CALL = "the call stops with an exception"


def _state(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        _RULE,
        f"the module is given other variables than it needs: {first_line(facts.message.split(' (http')[0], 120)}",
        current=_CALL,
        expected="every parameter and collection that the module made in `init`, in the same structure",
        suggestion="pass what `init` gave (`{'params': params, ...}`), for a module of the same configuration",
    )


def _no_collections(facts: Facts, match: re.Match[str]) -> Explanation:
    name = facts.call or "module.apply"
    return Explanation(
        _RULE,
        f"`{name}` is given something other than a dict of collections: `params` is to be one of its keys",
        current=_CALL,
        expected="`{'params': params}`, and further collections beside it",
        suggestion=f"`{name}({{'params': params}}, ...)`, or pass the whole of what `init` gave",
    )


def _runtime(facts: Facts, match: re.Match[str]) -> Explanation:
    """Tell the check of the user's own that failed, at the line that equinox names."""
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
        current=_CALL,
        expected="`module.init(key, x)`: the key first, then the inputs",
        suggestion="pass `jax.random.key(0)` as the first argument",
    )


ROWS = (
    Row(
        r'For parameter "(\w+)" in "(\S+)".*generate shape (\([^)]*\)).*received has shape (\([^)]*\))',
        say(
            _RULE,
            "parameter `{1}` of `{2}` has shape {4}, but this input needs {3}",
            "the input has the size that it had when the module was initialised",
            "correct the last axis of the input, or initialise with inputs like it",
            _CALL,
        ),
        ("ScopeParamShapeError",),
    ),
    Row(
        r'Cannot update variable "(\w+)" in "(\S+)" because collection "(\w+)" is immutable',
        say(
            _RULE,
            "the module updates `{1}` of `{2}`, but the collection `{3}` is not mutable in this call",
            "the collections that change are named, and their new values kept",
            "`out, new = module.apply(variables, x, mutable=['{3}'])`, and put `new` into the next call",
            _CALL,
        ),
        ("ModifyScopeVariableError",),
    ),
    Row(
        r"needs PRNG for \"(\w+)\"",
        say(
            _RULE,
            "the module needs random numbers of the kind `{1}`, and is given no key for them",
            "a key for every kind of randomness that is used",
            "`module.apply(variables, x, rngs={{'{1}': key}})`, or make the layer deterministic",
            _CALL,
        ),
        ("InvalidRngError",),
    ),
    Row(
        r"Submodule (\w+) must be defined in `setup\(\)` or in a method wrapped in `@compact`",
        say(
            _RULE,
            "`{1}` is made in a method that is not `@nn.compact`",
            "submodules are made in `setup`, or in the one method that is `@nn.compact`",
            "add `@nn.compact` above the method",
            _CALL,
        ),
        ("AssignSubModuleError",),
    ),
    Row(
        r"Can't set (\w+)=.* for Module of type (\w+)",
        say(
            _RULE,
            "`self.{1}` of the module `{2}` is assigned while it runs, but modules do not change",
            "state is a variable: `self.variable(...)`, `self.sow(...)` or a return value",
            "return the value, or keep it in a collection that is `mutable`",
            _CALL,
        ),
        ("SetAttributeFrozenModuleError", "SetAttributeInModuleSetupError"),
    ),
    Row(
        r'"(\w+)" object has no attribute "(\w+)"\. If "\w+" is defined in \'\.setup\(\)\'',
        say(
            _RULE,
            "the module `{1}` is called by itself, so that `setup` has not run and `{2}` does not exist",
            "modules are called by `init` and `apply`",
            "`variables = module.init(key, x)`, then `module.apply(variables, x)`",
            _CALL,
        ),
        ("AttributeError",),
    ),
    Row(
        r"Can't call (?:compact methods|methods) on unbound modules",
        say(
            _RULE,
            "a module is called by itself, without its parameters",
            "modules are called by `init` and `apply`",
            "`variables = module.init(key, x)`, then `module.apply(variables, x)`",
            _CALL,
        ),
    ),
    Row(
        r"`deterministic` is False, but no `rngs` argument was provided to (\w+)",
        say(
            _RULE,
            "`{1}` is to draw random numbers, but was made without `rngs`",
            "layers that draw are made with `rngs=nnx.Rngs(...)`",
            "give `rngs`, or make the layer deterministic (`model.eval()`)",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(r"RNGs should be of shape \(2,\) or PRNGKey", _given_key, ("InvalidRngError",)),
    Row(
        r'Could not create (\w+) "(\w+)" in Module (\w+): Name in use',
        say(
            _RULE,
            "`{3}` makes a second {1} with the name `{2}`",
            "a name of its own for every parameter and submodule",
            "rename one of them, or make it once and use it twice",
            _CALL,
        ),
        ("NameInUseError",),
    ),
    Row(
        r'Parameter "(\w+)" must be passed to the constructor or at call time',
        say(
            _RULE,
            "the layer is not told `{1}`: whether it trains or is only used",
            "`{1}=` where the layer is made or called",
            "`{1}=not train`, with `train` an argument of the model",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"Can't compute input and output sizes of a (\d+)-dimensional weights tensor",
        say(
            _RULE,
            "an initializer that counts inputs and outputs is given a parameter with {1} axes",
            "a matrix; for vectors such as biases an initializer like `zeros` or `normal`",
            "use `nn.initializers.zeros` or `normal()`, or give the parameter two axes",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"Cannot mutate (\w+) from a different trace level",
        say(
            _RULE,
            "a `{1}` of a module is changed inside a function that JAX transforms, but the module comes from outside",
            "the module is an argument of the transformed function",
            "use `nnx.jit` or `nnx.grad` and pass the module in, or `nnx.split` and `nnx.merge` with its state",
            _CALL,
        ),
        ("TraceContextError",),
    ),
    Row(
        r"Found data on value of type '<class '([^']+)'>' assigned to static attribute '(\w+)'",
        say(
            _RULE,
            "`{2}` is a plain {1} that holds parameters or modules",
            "containers that nnx knows",
            "`nnx.List(...)` or `nnx.Dict(...)`; `nnx.data(...)` for other containers",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"Missing required argument `wrt`",
        say(
            "wrong-number-of-arguments",
            "`nnx.Optimizer` is not told which variables it updates",
            "`wrt=nnx.Param`",
            "`nnx.Optimizer(model, optimizer, wrt=nnx.Param)`",
            _CALL,
        ),
        ("TypeError",),
    ),
    Row(
        r"transformation that requires the current value of parameters, but you are not passing `params`",
        say(
            "wrong-number-of-arguments",
            "`update` is called without the parameters, which this optimizer needs (for weight decay, for example)",
            "`optimizer.update(grads, opt_state, params)`",
            "pass the parameters as the third argument",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"Some parameters have no corresponding transformation.*?labels: (\[.*?\])\s*Transforms keys: (\[.*?\])",
        say(
            "path-filter-misses",
            "parameters are labelled {1}, but there are transformations for {2}",
            "a transformation for each label",
            "correct the labels, or add `optax.set_to_zero()` for what stays fixed",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"Input to `(\w+)` needs to have rank (\d+),.*but input has shape (\(.*?\))",
        say(
            "axis-conflict",
            "`{1}` is given an array of shape {3}, and takes arrays with {2} axes: one example, without a batch",
            "an array with {2} axes",
            "map the batch: `jax.vmap(layer)(x)`",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"should be called with a scalar index",
        say(
            "axis-conflict",
            "an embedding of equinox is given many indices at once, and takes one",
            "one whole number, of shape ()",
            "map it: `jax.vmap(embedding)(indices)`",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"Dropout requires a key when running in non-deterministic mode",
        say(
            _RULE,
            "dropout is called without a key",
            "`dropout(x, key=key)`, or `inference=True`",
            "pass a key for every call, or switch to inference with `eqx.nn.inference_mode(model)`",
            _CALL,
        ),
    ),
    Row(
        r"Precisely one of `replace` and `replace_fn` must be specified",
        say(
            "wrong-number-of-arguments",
            "`eqx.tree_at` is not told what to put in",
            "`replace=` or `replace_fn=`",
            "`eqx.tree_at(where, tree, new_value)`",
            _CALL,
        ),
    ),
    Row(
        r"params argument does not appear valid.*is of type <class '(\w+)'>",
        say(
            _RULE,
            "`apply` of haiku is given a {1} as the parameters",
            "the mapping that `init` gave",
            "with state: `params, state = f.init(...)`, then `f.apply(params, state, key, x)`",
            _CALL,
        ),
        ("TypeError",),
    ),
    Row(
        r"Unable to retrieve parameter '(\w+)' for module '(\S+)'",
        say(
            _RULE,
            "`apply` needs the parameter `{1}` of `{2}`, which is not among those that it is given",
            "the parameters that `init` gave, for the same modules with the same names",
            "pass them whole, and make modules in the same order in `init` and `apply`",
            _CALL,
        ),
        ("ValueError",),
    ),
    Row(
        r"\[Chex\] Assertion (\w+) failed: +(?:Error in \w+ compatibility check: +)?(.*)",
        say(
            "axis-conflict",
            "`chex.{1}` fails: {2}",
            "what the assertion states",
            "correct the arrays, or the assertion",
            "the assertion stops the program",
        ),
        ("AssertionError",),
    ),
    Row(
        r"FrozenDict is immutable",
        say(
            "in-place-update",
            "an entry of a FrozenDict is assigned",
            "a new dict with the entry replaced",
            "`params = params.copy({{'key': value}})`, or `flax.core.unfreeze` it first",
            "the assignment is an exception",
        ),
        ("ValueError", "TypeError"),
    ),
    Row(
        r"",
        _no_collections,
        ("ApplyScopeInvalidVariablesTypeError",),
    ),
    Row(
        r"",
        _state,
        (
            "ScopeCollectionNotFound",
            "ScopeParamNotFoundError",
            "ScopeVariableNotFoundError",
            "ScopeParamShapeError",
            "ApplyScopeInvalidVariablesStructureError",
            "ModifyScopeVariableError",
        ),
    ),
    Row(r"equinox\.EquinoxRuntimeError: (.*)", _runtime, ("EquinoxRuntimeError", "EqxRuntimeError")),
    Row(
        r"Field '(\w+)' was not initialized",
        say(
            _RULE,
            "`__init__` ends without a value for the field `{1}`",
            "every field of an equinox module gets a value",
            "assign `self.{1}` in `__init__`, or give the field a default",
        ),
        ("TypeError",),
    ),
    Row(
        r"cannot assign to field '(\w+)'",
        say(
            "in-place-update",
            "the field `{1}` of a frozen object is assigned",
            "a new object with the field replaced",
            "`dataclasses.replace(obj, {1}=...)`, `obj._replace({1}=...)` or `eqx.tree_at(lambda m: m.{1}, obj, ...)`",
            "the assignment is an exception: pytree classes are frozen",
        ),
        ("FrozenInstanceError",),
    ),
    Row(
        r"must be initialized inside an `hk\.transform`",
        say(
            _RULE,
            "a haiku module is made outside of `hk.transform`",
            "modules are made inside the function that is transformed",
            "`net = hk.transform(lambda x: hk.Linear(3)(x))`, then `net.init` and `net.apply`",
            _CALL,
        ),
    ),
    Row(
        r"must pass a non-None PRNGKey",
        say(
            _RULE,
            "the function draws random numbers, but `init` or `apply` is given None for the key",
            "a key in every call of a function that draws",
            "`net.apply(params, key, x)`",
            _CALL,
        ),
        ("MissingRNGError", "ValueError"),
    ),
    Row(
        r"'(\S+)' with retrieved shape (\([^)]*\)) does not match shape=\[([^\]]*)\]",
        say(
            _RULE,
            "parameter `{1}` has shape {2}, but this input needs ({3})",
            "the input has the size that it had in `init`",
            "correct the last axis of the input, or initialise with inputs like it",
            _CALL,
        ),
    ),
)
