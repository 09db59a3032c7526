"""Exceptions of flax, equinox and haiku about their modules."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, say
from jaxaudit.spans import Span

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


def _runtime(facts: Facts, match: re.Match[str]) -> Explanation:
    """Tell the check of the user's own that failed, at the line that equinox names."""
    return Explanation(
        "script-failed",
        f"a check inside the compiled program failed: {first_line(match[1])}",
        current="the program stops while it runs, where `eqx.error_if` or a check of a library found this",
        expected="the condition of the check never holds",
        suggestion="`EQX_ON_ERROR=breakpoint` stops there with the values at hand",
        span=_told(facts),
    )


def _told(facts: Facts) -> Span | None:
    """Give the innermost line of the user's that the message itself names."""
    named = [(facts.shown(path), int(line)) for path, line in re.findall(r'File "(.+?)", line (\d+)', facts.message)]
    own = [(path, line) for path, line in named if path in facts.files]
    return Span(own[-1][0], own[-1][1], 0, own[-1][1], 0) if own else None


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
    Row(
        r"",
        _state,
        (
            "ScopeCollectionNotFound",
            "ScopeParamNotFoundError",
            "ScopeVariableNotFoundError",
            "ScopeParamShapeError",
            "ApplyScopeInvalidVariablesStructureError",
            "ApplyScopeInvalidVariablesTypeError",
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
    Row(
        r"(Init|Apply) must be called with an RNG as the (\w+) argument",
        say(
            _RULE,
            "the {2} argument of `{1}` is to be a key",
            "`init(key, x)` and `apply(params, key, x)`",
            "give the key (None where nothing is drawn), or use `hk.without_apply_rng`",
            _CALL,
        ),
    ),
)
