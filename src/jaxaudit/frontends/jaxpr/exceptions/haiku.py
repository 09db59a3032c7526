"""Exceptions of haiku whose cause is elsewhere: in the module that keeps a state, not where it is initialised."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row
from jaxaudit.spans import Span, span_of

_RULE = "module-state-mishandled"
_CALL = "the call stops with an exception"
_KEEPERS = frozenset(
    "get_state set_state BatchNorm ExponentialMovingAverage EMAParamsTree SpectralNorm SNParamsTree "
    "VectorQuantizerEMA ResNet ResNet18 ResNet34 ResNet50 ResNet101 ResNet152 ResNet200 MobileNetV1".split()
)
"""What haiku's modules and functions with a state are called."""


def _stateless(facts: Facts, match: re.Match[str]) -> Explanation:
    """Blame the line that keeps the state: the call of `init` is right, and only notices."""
    keepers = list(_calls(facts, _KEEPERS))
    made = list(_calls(facts, frozenset(("transform", "without_apply_rng", "multi_transform"))))
    name, keeper = keepers[0] if keepers else ("", None)
    steps = [(span, f"`{call}` transforms the function here") for call, span in made[:1]]
    steps += [(facts.span, "haiku notices here")] if facts.span else []
    what = f"`{name}` keeps a state" if name else "a function with state (a BatchNorm, a moving average)"
    return Explanation(
        _RULE,
        f"{what}, but the function is transformed by `hk.transform`"
        if name
        else f"{what} is transformed by `hk.transform`",
        current=_CALL,
        expected="`hk.transform_with_state`",
        suggestion="use it, and pass the state on: `out, state = f.apply(params, state, key, x)`",
        span=keeper,
        steps=tuple(steps),
    )


def _key(facts: Facts, match: re.Match[str]) -> Explanation:
    stateful = next(iter(_calls(facts, frozenset(("transform_with_state", "multi_transform_with_state")))), None)
    if stateful is not None and match[1] == "Apply":
        return Explanation(
            _RULE,
            "`apply` of a function with state is called without its state, or with another argument as the key",
            current=_CALL,
            expected="`apply(params, state, key, x)`, which gives `(out, state)`",
            suggestion="pass the state after the parameters, and keep the new one; without draws the key is None",
            steps=((stateful[1], "the function is transformed with state here"),),
        )
    return Explanation(
        _RULE,
        f"the {match[2]} argument of `{match[1]}` is to be a key",
        current=_CALL,
        expected="`init(key, x)` and `apply(params, key, x)`",
        suggestion="give the key (None where nothing is drawn), or use `hk.without_apply_rng`",
    )


def _calls(facts: Facts, names: frozenset[str]) -> Iterator[tuple[str, Span]]:
    """Find calls by the last part of their name, in files that use haiku."""
    for path in sorted(facts.files):
        if "haiku" in facts.texts(path).text:
            for node in ast.walk(facts.tree(path)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                    yield ast.unparse(node.func), span_of(node, path)


ROWS = (
    Row(r"uses `hk\.\{get,set\}_state` then use `hk\.transform_with_state`", _stateless),
    Row(r"(Init|Apply) must be called with an RNG as the (\w+) argument", _key),
)
