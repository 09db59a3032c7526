"""Functions that both front ends meet: one canonical id for each, however it is spelled, and what is true of it.

`jnp.subtract`, `lax.sub`, `operator.sub` and `-` are all `subtract`. An idea that several analyses or rules need
("compares", "moves elements", "adds up") is a trait and is written here once. Ids are the names of `jax.numpy`, else
those of `jax.lax` or `jax.nn`.
"""

from __future__ import annotations

from functools import cache

_ALIASES = """
abs: absolute fabs
add: add_any
all: reduce_and
any: reduce_or
arccos: acos
arccosh: acosh
arcsin: asin
arcsinh: asinh
arctan: atan
arctan2: atan2
arctanh: atanh
astype: convert_element_type
bitwise_and: and_
bitwise_or: or_
bitwise_xor: xor
concatenate: concat
conj: conjugate
cumsum: cumulative_sum
cumprod: cumulative_prod
deg2rad: radians
divide: div true_divide truediv
equal: eq
flip: rev
floor_divide: floordiv
fmod: rem
greater: gt
greater_equal: ge
invert: bitwise_not bitwise_invert not_
isfinite: is_finite
left_shift: bitwise_left_shift shift_left lshift
less: lt
less_equal: le
max: amax reduce_max
min: amin reduce_min
multiply: mul
negative: neg
not_equal: ne
power: pow integer_pow float_power
prod: reduce_prod
rad2deg: degrees
remainder: mod
right_shift: bitwise_right_shift shift_right_arithmetic rshift
round: around rint
sigmoid: logistic expit
silu: swish
subtract: sub
sum: reduce_sum
"""

_ELEMENTWISE = {"max": "maximum", "min": "minimum"}
"""`lax.max` takes the larger of two, `jnp.max` the largest of all."""

_CANONICAL = {
    alias: row.partition(":")[0] for row in _ALIASES.strip().splitlines() for alias in row.partition(":")[2].split()
}

ALIASES = frozenset(_CANONICAL)
"""Spellings that are no canonical ids: comparing an op's function with one of them never holds."""


@cache
def canonical(op: str, qualified: str) -> str:
    """Return the id of a function from the op it became and its qualified name."""
    tail = qualified.rpartition(".")[2]
    if not op.startswith("array."):
        # `jax.random.logistic` is no sigmoid, and `optax.tree.sub` takes trees.
        return tail
    found = _CANONICAL.get(tail, tail)
    return _ELEMENTWISE.get(found, found) if op == "array.map" else found


def is_discrete(dtype: object) -> bool:
    """Whether a dtype, as it is written, is one of integers or truth values, which have no derivative."""
    return isinstance(dtype, str) and any(word in dtype.rpartition(".")[2] for word in ("int", "bool"))


def _ids(text: str) -> frozenset[str]:
    return frozenset(text.split())


# comparisons and logic
BELOW = _ids("less less_equal")
ABOVE = _ids("greater greater_equal")
ORDERINGS = BELOW | ABOVE
EQUALITIES = _ids("equal not_equal")
COMPARISONS = ORDERINGS | EQUALITIES
"""Compare two arrays element by element."""
OF_LISTS = COMPARISONS | _ids("add multiply")
"""Lists have operators for these as well."""
MIRRORED = {
    "greater": "less",
    "greater_equal": "less_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}
"""Comparisons by what they are when their sides change places."""
COMPARING = _ids("subtract divide")
"""Measure one thing by another."""
DIFFERENCES = ORDERINGS | COMPARING
"""Return how two things differ."""
EQUALITY_CHECKS = EQUALITIES | _ids(
    """isclose allclose array_equal assert_equal assert_allclose assert_array_equal assert_array_almost_equal
    assert_trees_all_close"""
)
"""Check whether two things are equal."""
TRUTHS = COMPARISONS | _ids(
    """isfinite isnan isinf isclose isneginf isposinf isreal iscomplex isin signbit
    logical_and logical_or logical_xor logical_not"""
)
"""Elementwise functions whose result is boolean whatever they are given."""
CONJUNCTIONS = _ids("logical_and bitwise_and")
DISJUNCTIONS = _ids("logical_or bitwise_or")
NEGATIONS = _ids("logical_not invert")
LOGIC = CONJUNCTIONS | DISJUNCTIONS | NEGATIONS | _ids("logical_xor bitwise_xor")

# arithmetic
SUMS_OF_TWO = _ids("add subtract")
SCALINGS = _ids("multiply divide")
SIGN_KEEPING = SCALINGS | _ids("negative")
"""Functions of factors whose sign follows from theirs."""
ARITHMETIC = SUMS_OF_TWO | SCALINGS | _ids("negative power floor_divide remainder fmod matmul")
LINEAR = _ids("add subtract negative positive conj real imag")
"""Elementwise functions that are linear in every operand; `multiply` and `divide` are so in one of them."""
STEPPING = ARITHMETIC | _ids("square sqrt")
"""What optimizers and moving averages do with a parameter."""
SQUARES = _ids("square power multiply")
"""Give the square of a value, where they are given 2, or the value twice."""
SQUARE_ROOTS = _ids("sqrt rsqrt")
LOGARITHMS = _ids("log log2 log10")
EXTREMES_OF_TWO = _ids("maximum minimum")
EXHAUSTING = _ids("builtins.dict builtins.list builtins.max builtins.min builtins.sum builtins.tuple")
"""Functions of Python's that run through an iterator before they return."""
LARGER = _ids("maximum max builtins.max")
SMALLER = _ids("minimum min builtins.min")
"""Give the larger or the smaller one of what they are given."""
CLIPS = _ids("clip clamp")
BOUNDS = EXTREMES_OF_TWO | CLIPS
"""Keep elements within bounds."""
ROUNDINGS = _ids("round floor ceil trunc fix sign heaviside")
"""Flat almost everywhere: their derivative is zero."""
SAME_UNIT = SUMS_OF_TWO | BOUNDS | _ids("abs negative remainder fmod")
"""Elementwise functions whose result is measured in the unit of their operands."""
AWAY_FROM_ZERO = _ids("add maximum clip")
"""How what is divided by is kept away from zero."""
ORDERLESS = EXTREMES_OF_TWO | _ids("add multiply logical_and logical_or bitwise_and bitwise_or")
"""Functions of two that give the same whatever the order in which many are put together."""
BITWISE = _ids("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift")
REMAINDERS = _ids("remainder fmod")
ROUNDED = _ids("round floor ceil trunc fix rint")
"""Give the whole number that is nearest on some side."""
KEEPS_FRACTIONS = SUMS_OF_TWO | EXTREMES_OF_TWO | ROUNDED | _ids("multiply negative abs")
"""Give floats wherever one of their operands is one, if only whole ones."""
MANY_TO_ONE = COMPARISONS | ROUNDINGS | REMAINDERS | _ids("floor_divide")
"""Functions that give the same for many numbers, by their purpose."""
MODULAR = SUMS_OF_TWO | BITWISE | _ids("multiply negative square")
"""Return the same bits whether or not the integers they are given have wrapped around."""
NEEDS_SIGN = _ids("abs square less less_equal negative sign maximum relu power")
"""Pointless, or wrong, unless numbers may be negative."""
RECTIFIERS = _ids("relu relu6 gelu silu swish mish elu celu selu leaky_relu softplus hard_silu hard_swish squareplus")
"""Activations that nobody computes beside the value that they are given, as its probabilities are."""
FINITE_AT_INFINITY = _ids("exp expm1 sigmoid tanh arctan softmax log_softmax logsumexp logaddexp erf")
"""Take minus infinity for nothing at all, so that it spoils no result."""
NAN_TESTS = _ids("isfinite isnan isinf nan_to_num")
IDENTITIES = _ids("positive identity reduce_precision copy checkpoint_name from_dlpack")
"""Return each element as it is, or nearly so."""
REINTERPRETED = _ids("view bitcast_convert_type packbits unpackbits byteswap")
"""Read the bits of an array as other numbers."""
GROWING = _ids("multiply power square left_shift")
"""Leave the range of an integer dtype soon when they are repeated."""
FLOATING = _ids(
    """divide exp exp2 expm1 log log10 log1p log2 sqrt rsqrt cbrt sin cos tan sinh cosh tanh
    arcsin arccos arctan arcsinh arccosh arctanh arctan2 sigmoid softplus erf erfc erf_inv log_sigmoid
    gelu silu mish elu celu selu leaky_relu softmax log_softmax lgamma digamma logaddexp deg2rad rad2deg sinc hypot
    reciprocal"""
)
"""Elementwise functions that give floats, of integers too."""
PROMOTING = (ARITHMETIC | BOUNDS) | _ids(
    """positive abs square sign relu relu6 conj invert bitwise_and bitwise_or bitwise_xor
    left_shift right_shift fmax fmin identity where nan_to_num"""
)
"""Elementwise functions whose result has the dtype that those of their operands are promoted to."""
COUNTS_TRUTHS = _ids("square sign relu relu6 negative subtract")
"""Promoting functions that give no truth values of truth values."""
NOT_BROADCASTING = _ids("modf frexp divmod interp digitize polyval in1d isin combine_masks")
"""Elementwise functions that give several arrays, or do not broadcast."""
PERIODIC = _ids("sin cos tan")
INVERSE_ANGLES = _ids("arctan2 arctan arcsin arccos angle")

# reductions
ADDITIONS = _ids("sum nansum psum")
AVERAGES = _ids("mean nanmean average pmean")
PRODUCTS = _ids("prod nanprod")
VARIANCES = _ids("var nanvar")
SPREADS = VARIANCES | _ids("std nanstd")
EXTREMES = _ids("max min nanmax nanmin ptp pmax pmin")
QUANTIFIERS = _ids("all any")
WHOLE_COMPARISONS = _ids("array_equal array_equiv allclose")
"""Compare two arrays as a whole."""
ASSERTIONS = QUANTIFIERS | WHOLE_COMPARISONS
"""Return one truth value for whole arrays."""
ONE_BACK = ADDITIONS | AVERAGES | EXTREMES | PRODUCTS | _ids("logsumexp median nanmedian quantile percentile")
"""Reductions that give one element back as it is."""
NAN_SKIPPING = _ids("nansum nanmean nanmax nanmin nanprod nanstd nanvar nanmedian")
TAKES_SEQUENCES = _ids("array_equal array_equiv lexsort einsum multi_dot")
"""Functions that calculate with Python lists too; all others of `jax.numpy` refuse them."""
SPACED = _ids("linspace logspace geomspace")
"""Make arrays between two bounds; the number of points alone is a size."""
AS_LARGE_AS_GIVEN = _ids("array asarray full_like zeros_like ones_like empty_like")
"""Make arrays of the shape of what they are given."""
FILLED_LIKE = _ids("zeros_like ones_like empty_like")
"""Make arrays of the shape of what they are given, and of nothing else of it."""
ZEROS = _ids("zeros zeros_like")
"""Make arrays of zeros."""
SIZED_BY_VALUES = {
    **dict.fromkeys(_ids("nonzero flatnonzero argwhere"), ("size", "a")),
    **dict.fromkeys(_ids("unique unique_values unique_all unique_counts unique_inverse"), ("size", "ar", "x")),
    **dict.fromkeys(_ids("intersect1d setdiff1d setxor1d union1d"), ("size", "ar1", "ar2")),
    **dict.fromkeys(_ids("compress extract"), ("size", "condition")),
    **dict.fromkeys(_ids("segment_sum segment_prod segment_max segment_min"), ("num_segments", "segment_ids")),
    "where": ("size", "condition"),
    "trim_zeros": ("", "filt"),
    "bincount": ("length", "x"),
    "delete": ("assume_unique_indices", "obj"),
}
"""Return as many elements as values say: by which option the size is fixed, and which arguments tell it otherwise."""
COUNTED = _ids("arange iota")
"""Make arrays of one axis that hold consecutive numbers."""
COUNTING = COUNTED | _ids("broadcasted_iota")
"""Make arrays of consecutive numbers."""
GROWING_ALONG = COUNTED | _ids("linspace")
"""Make arrays of one axis along which the numbers grow evenly."""
GRIDS = _ids("meshgrid")
"""Make arrays of as many axes as they are given arrays, one for each."""
SIZES = _ids("shape size ndim len itemsize nbytes axis_size")
"""Return numbers that are known while a program is traced."""
PICKED_POSITIONS = _ids("argmax argmin nanargmax nanargmin")
LOOKUPS = _ids("digitize searchsorted")
"""Look up between which edges each of some values lies."""
FILLING_READS = _ids("take take_along_axis")
"""Reads that give NaN for an index behind the end."""
ORDERS = _ids("argsort argpartition")
"""Return the positions of all elements along an axis, in the order of the elements."""
POSITIONS = PICKED_POSITIONS | ORDERS | _ids("searchsorted digitize lexsort nonzero argwhere flatnonzero")
"""Return indices and no elements."""
BEST = _ids("top_k approx_max_k approx_min_k")
"""Return the best elements along an axis, the last one unless told another, and their positions."""
SORTED = _ids("sort msort sort_complex partition sort_key_val unique unique_values setdiff1d")
ELEMENTS_IN_ORDER = SORTED | BEST | _ids("median")
"""Return the elements themselves, by their order."""
FLIPS = {"flip": 0, "flipud": 0, "fliplr": 1}
"""Turn an axis back to front: this one, unless told another."""
REORDERED = _ids("roll flip fliplr flipud sort permutation")
"""Return all elements of one array in another order."""
COPIES_FOR_DEVICES = _ids("replicate device_put_replicated broadcast_to broadcast tile repeat")
"""Give every device, or every element of a new axis, the same."""
FIRST_DEVICE = _ids("unreplicate")
"""Take what the first device has."""
DIAGONALS = _ids("diag diagonal trace")
"""Take the elements whose row and column have one number."""
COUNTS = _ids("count_nonzero")
"""Return how many elements are true."""
GROUPED_SUMS = _ids("segment_sum bincount")
"""Add up what belongs to each group, or count it, along the first axis."""
READ_WHILE_TRACING = _ids(
    """enable_x64 default_matmul_precision default_device numpy_dtype_promotion debug_nans debug_infs check_tracer_leaks
    set_mesh use_abstract_mesh"""
)
"""Settings of JAX that hold inside of a `with`, for what is traced and run there."""
GIVING_BACK = _ids("jax.numpy.asarray jax.device_put jax.lax.stop_gradient")
"""Give an array of JAX back as it is, with its memory, where nothing else is asked for."""
NUMBERS_OF_DEVICES = _ids("device_count local_device_count axis_size")
"""Return how many devices there are."""
SUMS_OVER_DEVICES = _ids("psum psum_scatter")
"""Add up what the devices have; `psum_scatter` leaves each device a part of the sum."""
OVER_DEVICES = _ids("psum pmean pmax pmin")
"""Reduce over devices, element by element; gathering makes arrays of more axes."""
SAME_ON_ALL_DEVICES = OVER_DEVICES | _ids("all_gather psum_invariant all_gather_invariant")
"""Collectives after which all devices have the same."""
UNROLLING_LAYERS = _ids("flax.linen.RNN.__call__ flax.nnx.RNN.__call__")
"""Layers that run a cell for every step of a sequence and give what it gives in each."""
CUMULATIVE = _ids("cumsum cumprod nancumsum nancumprod cummax cummin cumlogsumexp accumulate")
"""Return for every position the sum, product or extreme of all elements up to it."""
IN_ORDER = _ids("convolve correlate fft rfft diff gradient trapezoid unwrap")
"""Take each element of an axis together with those before and behind it, or with its place."""
FLAT = (TRUTHS | LOGIC | ROUNDINGS | QUANTIFIERS | POSITIONS) | _ids(
    """floor_divide count_nonzero nextafter clz histogram histogram2d histogramdd population_count
    left_shift right_shift shift_right_logical array_equal allclose"""
)
"""Move in steps, or not at all, when their operands move: their derivative is zero."""
SYMMETRIC_ONLY = _ids("cholesky cho_factor eigh eigvalsh")
"""Take matrices that are symmetric, and read one half of them."""
UNIT_MATRICES = _ids("eye identity")
DIAGONAL_MATRICES = UNIT_MATRICES | _ids("diag")
"""Make matrices that have nothing beside their diagonal."""
MATRIX_PRODUCTS = _ids("matmul dot")
MATRIX_EQUATIONS = _ids("solve inv slogdet det")
SOLVERS = _ids("solve cho_solve lu_solve solve_triangular")
JACOBIANS = _ids("jacrev jacfwd jacobian hessian")
"""Derivatives of functions that give more than one number."""
NORMS = _ids("norm vector_norm")
ROOTS = NORMS | _ids("sqrt")
"""Take roots: their slope at zero is infinite."""
EVEN = _ids("square abs power cosh log_cosh")
"""Return the same for an error and its negative."""

# what is made of other arrays, without operands, or from a key
ARRAYS_OF_ITEMS = _ids("array asarray")
"""Make an array of what Python holds: a list of arrays is stacked, an array is copied."""
COPIED_ALONG = _ids("tile broadcast_to repeat full_like full")
"""Return each element several times."""
UNIFORM = _ids("full full_like zeros ones zeros_like ones_like")
"""Make arrays whose elements are all the same number."""
FIXED = _ids("zeros ones empty zeros_like ones_like empty_like arange eye identity iota tri indices ones_like_p")
"""Make arrays that have nothing to do with the elements of the arrays they are given."""
DISCRETE_DRAWS = _ids(
    "categorical randint bernoulli poisson binomial permutation choice shuffle geometric rademacher bits"
)
"""Draw numbers that have no derivative with respect to the parameters of their distribution."""

RANKINGS = EXTREMES | PICKED_POSITIONS | _ids("sort argsort top_k")
"""Find out which elements are the best."""
LABELS = _ids("one_hot smooth_labels")
"""Functions that give a distribution over classes for a label: entries from zero to one that add up to one."""

TRIANGLES = _ids("tril triu")
"""Keep one half of a matrix, and put zeros in the other one."""
CAUSAL = TRIANGLES | _ids("tri make_causal_mask")
"""Make masks that hide what comes later."""
MASKS = TRIANGLES | _ids("tri one_hot bernoulli make_causal_mask make_attention_mask combine_masks")
"""Make arrays that say which elements count."""

# draws
NORMAL_DRAWS = _ids("normal truncated_normal")
"""Draw numbers around zero whose standard deviation is about one."""
REORDERINGS = _ids("permutation shuffle")
PLACES = REORDERINGS | _ids("randint choice")
"""Draw places in an array, or pick its elements."""

# effects
PLOTS = _ids(
    "plot scatter fill_between errorbar hist hist2d imshow pcolormesh contour contourf semilogx semilogy loglog bar"
) | _ids("step stairs axhline axvline vlines hlines quiver boxplot violinplot text annotate")
"""Methods of Matplotlib that show data."""

SEVERAL_ARRAYS = _ids(
    """nonzero unique unique_all unique_counts unique_inverse top_k meshgrid histogram histogram2d histogramdd
    frexp modf divmod svd eigh eig qr lu slogdet split array_split hsplit vsplit dsplit unstack broadcast_arrays
    tril_indices triu_indices tril_indices_from triu_indices_from diag_indices diag_indices_from mask_indices
    unravel_index polydiv indices ix_ lstsq"""
)
"""Return a tuple or list of arrays."""

SPLITS = _ids("split array_split vsplit hsplit dsplit")
SHOWN_AS_VIEWS = _ids("asarray asanyarray reshape ravel transpose swapaxes moveaxis squeeze expand_dims T mT real imag")
"""Give another view of a NumPy array, where its memory allows it, and copy nothing."""
JOINS_END_TO_END = _ids("concatenate append hstack vstack column_stack row_stack dstack block r_ c_")
"""Put arrays one after the other along an axis that they have; the result is longer than each."""
STACKS_OF_OLD = _ids("hstack vstack column_stack dstack")
"""Put arrays beside each other after giving each the axes that it lacks."""
KINDS = _ids("dtype ndim weak_type issubdtype isdtype result_type iscomplexobj isrealobj can_cast isscalar typeof")
"""Tell what kind of array something is, whatever its sizes and elements."""
TREE_STRUCTURE = _ids("structure treedef_is_leaf all_leaves treedef_tuple")
"""Ask for the structure of a tree, not for its leaves."""
PYTHON_NUMBERS = frozenset(f"builtins.{name}" for name in "abs max min sum round pow divmod len sorted".split())
"""Built-in functions that give numbers for numbers."""
PYTHON_SMOOTH = frozenset(f"builtins.{name}" for name in "sum abs max min pow tuple list zip reversed sorted".split())
"""Built-in functions that pass derivatives on."""

# meaning
DRAWN_WITH_DENSITY = _ids("sample_and_log_prob experimental_sample_and_log_prob")
"""Methods of distributions that give a sample, and the logarithm of its density beside it."""
DENSITIES = _ids("log_prob logpdf logp")
LOG_SPACE = LOGARITHMS | _ids("log1p log_softmax log_sigmoid logsumexp logaddexp softplus") | DENSITIES
"""Return logarithms of what they are given, or of probabilities."""
NORMALISED_EXPONENTIALS = _ids("softmax log_softmax")

# Python's operators, methods and objects
LENGTHENING = _ids("append extend appendleft insert")
"""Methods that make a list longer."""
PLAIN_DATA = _ids("json.loads json.dumps ast.literal_eval builtins.ord builtins.chr builtins.str builtins.repr")
"""Give text, numbers, and lists and dicts of these: nothing in them is an array."""
ITERATORS = _ids("zip enumerate generator range map filter")
"""Objects that Python goes through once, item by item."""
VIEWS = _ids("items values list tuple reversed sorted zip enumerate")
"""Give the items of a container of Python, as they are."""
QUESTIONS = frozenset(("not", "is", "is not", "in", "not in", "isinstance"))
"""Operators on Python values whose answer is one of Python's own truth values."""
