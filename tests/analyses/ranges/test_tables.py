"""Every function that a front end can name is modelled, or on a list that says it is not."""

from jaxaudit.analyses.ranges.regions import _ENTER, _LEAVE, UNMODELLED
from jaxaudit.analyses.ranges.transfer import create, layout, maps, reduce
from jaxaudit.analyses.ranges.transfer.functions import UNARY
from jaxaudit.analyses.ranges.transfer.python import NO_RESULTS
from jaxaudit.analyses.ranges.transfer.table import TABLE
from jaxaudit.frontends.jaxpr.primitives import ROWS as PRIMITIVES
from jaxaudit.ir.functions import canonical
from jaxaudit.ir.ops import VOCABULARY
from jaxaudit.libraries import lax, nn, numpy, numpy_more, scipy
from jaxaudit.libraries import random as draws


def functions(op: str) -> set[str]:
    rows = {**numpy.ROWS, **numpy_more.ROWS, **lax.ROWS, **nn.ROWS, **scipy.ROWS, **draws.ROWS}
    named = {canonical(op, name) for name, row in rows.items() if row.op == op}
    return named | {canonical(op, row.function) for row in PRIMITIVES.values() if row.op == op}


def test_every_op_without_regions_has_a_transfer_function():
    plain = {name for name, spec in VOCABULARY.items() if spec.regions == "none"}
    assert plain == set(TABLE) | NO_RESULTS


def test_every_op_with_regions_is_entered_and_left():
    nested = {name for name, spec in VOCABULARY.items() if spec.regions != "none"}
    assert nested - UNMODELLED <= set(_ENTER) & set(_LEAVE)


def test_every_elementwise_function_is_modelled_or_listed():
    assert functions("array.map") <= set(UNARY) | set(maps.BINARY) | maps.UNMODELLED


def test_every_reduction_is_modelled_or_listed():
    assert functions("array.reduce") <= set(reduce.REDUCE) | reduce.UNMODELLED_REDUCE
    assert functions("array.scan") <= set(reduce.SCAN) | reduce.UNMODELLED_SCAN


def test_every_creation_is_modelled_or_listed():
    assert functions("array.create") <= set(create.CREATE) | create.UNMODELLED_CREATE


def test_every_update_is_modelled_or_listed():
    assert functions("array.scatter") <= set(layout._UPDATES) | layout.UNMODELLED_SCATTER


def test_every_draw_is_modelled_or_may_be_any_number():
    any_number = set("bits cauchy laplace logistic normal gumbel ball t double_sided_maxwell loggamma".split())
    any_number |= set("generalized_normal multivariate_normal orthogonal triangular rng_bit_generator __call__".split())
    assert functions("key.draw") <= set(create.DRAWS) | any_number
