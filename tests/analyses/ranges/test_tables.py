"""Every function that a front end can name is modelled, or on a list that says it is not."""

from jaxaudit.analyses.ranges.domain import TABLE
from jaxaudit.analyses.ranges.regions import _ENTER, _LEAVE
from jaxaudit.analyses.ranges.transfer import create, layout, maps, reduce
from jaxaudit.analyses.ranges.transfer.functions import UNARY
from jaxaudit.frontends.jaxpr.primitives import ROWS as PRIMITIVES
from jaxaudit.ir.functions import canonical
from jaxaudit.ir.ops import NOTES, VOCABULARY
from jaxaudit.libraries import lax, nn, numpy, numpy_more, scipy
from jaxaudit.libraries import random as draws

NO_RESULTS = NOTES.union(
    """
    py.store_attr py.set_item py.append py.read py.rebind py.store_global py.store_nonlocal py.test py.print py.return
    py.raise
    """.split()
)
"""Ops that make no values, or none with a range."""

UNMODELLED = {
    "regions": "tree.map transform callback abstract",
    "array.map": """
        angle bernoulli bessel_jn dawsn digamma erf_inv erfinv exp1 expi factorial fresnel frexp gamma gammaln gammasgn
        i1 lgamma loggamma logit modf ndtri polynomial sici spacing spence wofz
        beta betainc betaln boxcox boxcox1p comb complex divmod expn gammainc gammaincc gcd
        hyp1f1 hyp2f1 igamma igamma_grad_a igammac interp kl_div lcm ldexp left_shift logaddexp2 mulhi multigammaln
        owens_t poch polygamma polyval random_gamma_grad rel_entr sph_harm_y zeta
        cdf entropy isf logcdf logpdf logpmf logsf pdf pmf ppf sf
        """,
    "array.reduce": """
        bitwise_xor corrcoef cov histogram histogram2d histogram_bin_edges histogramdd reduce reduce_xor sem trace
        trapezoid trapz
        """,
    "array.scan": "accumulate diff ediff1d gradient unwrap",
    "array.create": "__call__ blackman fftfreq frombuffer fromstring geomspace ix_ kaiser logspace meshgrid rfftfreq vander",
    "array.scatter": "apply at divide multiply power scatter_apply scatter_mul",
}
"""What nothing is said of: the results may be anything."""


def unmodelled(op: str) -> set[str]:
    return set(UNMODELLED[op].split())


def functions(op: str) -> set[str]:
    rows = {**numpy.ROWS, **numpy_more.ROWS, **lax.ROWS, **nn.ROWS, **scipy.ROWS, **draws.ROWS}
    named = {canonical(op, name) for name, row in rows.items() if row.op == op}
    return named | {canonical(op, row.function) for row in PRIMITIVES.values() if row.op == op}


def test_every_op_without_regions_has_a_transfer_function():
    plain = {name for name, spec in VOCABULARY.items() if spec.regions == "none"}
    assert plain == set(TABLE) | NO_RESULTS


def test_every_op_with_regions_is_entered_and_left():
    nested = {name for name, spec in VOCABULARY.items() if spec.regions != "none"}
    assert nested - unmodelled("regions") <= set(_ENTER) & set(_LEAVE)


def test_every_elementwise_function_is_modelled_or_listed():
    assert functions("array.map") <= set(UNARY) | set(maps.BINARY) | unmodelled("array.map")


def test_every_reduction_is_modelled_or_listed():
    assert functions("array.reduce") <= set(reduce.REDUCE) | unmodelled("array.reduce")
    assert functions("array.scan") <= set(reduce.SCAN) | unmodelled("array.scan")


def test_every_creation_is_modelled_or_listed():
    assert functions("array.create") <= set(create.CREATE) | unmodelled("array.create")


def test_every_update_is_modelled_or_listed():
    assert functions("array.scatter") <= set(layout._UPDATES) | unmodelled("array.scatter")


def test_every_draw_is_modelled_or_may_be_any_number():
    any_number = set("bits cauchy laplace logistic normal gumbel ball t double_sided_maxwell loggamma".split())
    any_number |= set("generalized_normal multivariate_normal orthogonal triangular rng_bit_generator __call__".split())
    assert functions("key.draw") <= set(create.DRAWS) | any_number
