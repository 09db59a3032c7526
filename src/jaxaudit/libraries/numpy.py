"""Rows of `jax.numpy`: creation, elementwise functions, reductions and movement of elements."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_NAME = "jax.numpy"

_CREATE = rows(_NAME, "array.create", """
    array: object dtype
    asarray: a dtype order
    arange: start stop step dtype
    bartlett blackman hamming hanning: M
    kaiser: M beta
    diag_indices: n ndim
    diag_indices_from: arr
    empty ones zeros: shape dtype
    empty_like: prototype dtype shape
    ones_like zeros_like: a dtype shape -> like a
    eye: N M k dtype
    frombuffer: buffer dtype count offset
    fromstring: string dtype count
    full: shape fill_value dtype
    full_like: a fill_value dtype shape
    geomspace: start stop num endpoint dtype axis
    identity: n dtype
    indices: dimensions dtype sparse
    ix_: *args
    linspace: start stop num endpoint retstep dtype axis
    logspace: start stop num endpoint base dtype axis
    meshgrid: *xi
    tri: N M k dtype
    tril_indices triu_indices: n k m
    tril_indices_from triu_indices_from: arr k
    vander: x N increasing
    """)

_CONVERT = merge(
    rows(_NAME, "array.convert", "astype: x dtype\ncopy: a order\nfrom_dlpack: x"),
    rows(_NAME, "array.convert", """
        bool bool_ cdouble complex128 complex64 complex_ csingle double single uint float_ int_: x
        bfloat16 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64: x
        float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz: x
        float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int4 uint1 uint2 uint4: x
        """),
)

_MAP = rows(_NAME, "array.map", """
    abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh: x
    bitwise_count bitwise_invert bitwise_not cbrt ceil conj conjugate cos cosh deg2rad degrees: x
    exp exp2 expm1 fabs floor frexp i0 invert iscomplex isfinite isinf isnan isreal: x
    log log10 log1p log2 logical_not negative positive rad2deg radians reciprocal rint sign signbit: x
    sin sinc sinh spacing sqrt square tan tanh trunc: x
    isneginf isposinf modf: x out
    fix: x out
    imag real: val
    angle: z deg
    around round: a decimals out
    nan_to_num: x copy nan posinf neginf
    add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or logical_xor: x y
    maximum minimum multiply subtract bitwise_left_shift equal float_power greater greater_equal: x y
    left_shift less less_equal nextafter not_equal: x y
    arctan2 atan2 bitwise_right_shift copysign divide divmod floor_divide fmax fmin fmod gcd heaviside: x1 x2
    hypot lcm ldexp mod pow power remainder right_shift true_divide: x1 x2
    isclose: a b rtol atol equal_nan
    isin: element test_elements assume_unique invert
    in1d: ar1 ar2 assume_unique invert
    interp: x xp fp left right period
    digitize: x bins right
    polyval: p x
    """)

_SELECT = rows(_NAME, "array.select", """
    where: condition x y
    select: condlist choicelist default
    choose: a choices out mode
    clip: arr min max
    tril triu: m k
    """)

_REDUCE = rows(_NAME, "array.reduce", """
    all any: a axis out keepdims
    alltrue sometrue: a axis out keepdims
    allclose: a b rtol atol equal_nan
    amax amin max min nanmax nanmin: a axis out keepdims initial where
    array_equal: a1 a2 equal_nan
    array_equiv: a1 a2
    average: a axis weights returned keepdims
    bincount: x weights minlength
    corrcoef: x y rowvar dtype
    count_nonzero: a axis keepdims
    cov: m y rowvar bias ddof fweights aweights dtype
    histogram: a bins range weights density
    histogram2d: x y bins range weights density
    histogramdd: sample bins range weights density
    histogram_bin_edges: a bins range weights
    mean: a axis dtype out keepdims
    nanmean: a axis dtype out keepdims where
    median nanmedian: a axis out overwrite_input keepdims
    nanpercentile nanquantile percentile quantile: a q axis out overwrite_input method keepdims
    nanprod nansum: a axis dtype out keepdims initial where
    nanstd nanvar: a axis dtype out ddof keepdims where mean
    prod sum: a axis dtype out keepdims initial where promote_integers
    product: a axis dtype out keepdims initial where
    ptp: a axis out keepdims
    std var: a axis dtype out ddof keepdims
    trace: a offset axis1 axis2 dtype out
    trapezoid trapz: y x dx axis
    """)

_SCAN = rows(_NAME, "array.scan", """
    cumprod cumsum nancumprod nancumsum cumproduct: a axis dtype out
    cumulative_prod cumulative_sum: x
    diff: a n axis prepend append
    ediff1d: ary to_end to_begin
    gradient: f *varargs
    unwrap: p discont axis period
    """)

_MOVEMENT = merge(
    rows(_NAME, "array.reshape", "reshape: a shape order\nravel: a order\nresize: a new_shape"),
    rows(_NAME, "array.permute", """
        permute_dims transpose: a axes
        matrix_transpose: x
        swapaxes: a axis1 axis2
        moveaxis: a source destination
        rollaxis: a axis start
        """),
    rows(_NAME, "array.expand", """
        expand_dims: a axis
        atleast_1d atleast_2d atleast_3d: *arys
        broadcast_arrays: *args
        broadcast_to: array shape
        diag diagflat: v k
        repeat: a repeats axis
        tile: A reps
        """),
    rows(_NAME, "array.squeeze", "squeeze: a axis"),
    rows(_NAME, "array.join", """
        append: arr values axis
        block: arrays
        column_stack: tup
        dstack hstack vstack: tup dtype
        concat: arrays
        concatenate: arrays axis dtype
        insert: arr obj values axis
        stack: arrays axis out dtype
        """),
    rows(
        _NAME,
        "array.split",
        "array_split split: ary indices_or_sections axis\ndsplit hsplit vsplit: ary indices_or_sections\nunstack: x",
    ),
    rows(_NAME, "array.move", """
        flip: m axis
        fliplr flipud: m
        pad: array pad_width mode
        roll: a shift axis
        rot90: m k axes
        trim_zeros: filt trim axis
        """),
    rows(_NAME, "array.gather", """
        compress: condition a axis
        delete: arr obj axis
        diagonal: a offset axis1 axis2
        extract: condition arr
        ravel_multi_index: multi_index dims mode order
        take: a indices axis out mode unique_indices indices_are_sorted fill_value
        take_along_axis: arr indices axis mode fill_value
        unravel_index: indices shape
        """),
    rows(_NAME, "array.scatter", """
        fill_diagonal: a val wrap
        place: arr mask vals
        put: a ind v mode
        put_along_axis: arr indices values axis inplace
        """),
)

ROWS = merge(_CREATE, _CONVERT, _MAP, _SELECT, _REDUCE, _SCAN, _MOVEMENT)
"""The functions of `jax.numpy` that make, map, reduce or move elements; the rest is in `numpy_more`."""
