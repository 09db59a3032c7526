"""Which module knows each kind of syntax: the only one that knows them all."""

from __future__ import annotations

from jaxaudit.frontends.source.classes import definitions
from jaxaudit.frontends.source.interpret import (
    assign,
    attributes,
    calls,
    expressions,
    functions,
    imports,
    literals,
    loops,
    statements,
)
from jaxaudit.frontends.source.interpret.interpreter import Language

LANGUAGE = Language(
    expressions={**expressions.HANDLERS, **literals.HANDLERS, **calls.HANDLERS, **functions.EXPRESSIONS},
    statements={
        **statements.HANDLERS,
        **imports.HANDLERS,
        **assign.HANDLERS,
        **loops.HANDLERS,
        **functions.STATEMENTS,
        **definitions.HANDLERS,
    },
    call=calls.call,
    load=attributes.load,
    enter=imports.interpret,
)
