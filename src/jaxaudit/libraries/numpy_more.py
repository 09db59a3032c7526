"""Rows of `jax.numpy` that order, multiply, decompose or only ask about arrays, with its `linalg` and `fft`."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_NAME = "jax.numpy"

_ORDER = rows(_NAME, "array.order", """
    argmax argmin nanargmax nanargmin: a axis out keepdims
    argpartition partition: a kth axis
    argsort sort: a axis
    argwhere flatnonzero nonzero: a
    intersect1d: ar1 ar2 assume_unique return_indices
    lexsort: keys axis
    msort sort_complex: a
    searchsorted: a v side sorter
    setdiff1d setxor1d: ar1 ar2 assume_unique
    union1d: ar1 ar2
    unique: ar return_index return_inverse return_counts axis
    unique_all unique_counts unique_inverse unique_values: x
    """)

_DOT = merge(
    rows(_NAME, "array.dot", """
        cross: a b axisa axisb axisc axis
        dot matmul inner vdot kron: a b
        einsum: subscripts *operands
        matvec vecmat vecdot: x1 x2
        outer: a b out
        tensordot: a b axes
        """),
    rows(_NAME, "array.convolve", "convolve correlate: a v mode"),
)

_POLYNOMIALS = rows(_NAME, "array.linalg", """
    poly: seq_of_zeros
    polyadd polysub polymul: a1 a2
    polyder: p m
    polydiv: u v
    polyfit: x y deg rcond full w cov
    polyint: p m k
    roots: p
    """)

_LINALG = merge(
    rows(f"{_NAME}.linalg", "array.linalg", """
        cholesky det eig eigvals inv slogdet: a
        cond: x p
        eigh: a UPLO symmetrize_input
        eigvalsh: a UPLO
        lstsq: a b rcond
        matrix_norm: x
        matrix_power: a n
        matrix_rank: M rtol
        norm: x ord axis keepdims
        pinv: a rtol hermitian
        qr: a mode
        solve: a b
        svd: a full_matrices compute_uv hermitian subset_by_index
        svdvals vector_norm: x
        tensorinv: a ind
        tensorsolve: a b axes
        """),
    rows(f"{_NAME}.linalg", "array.dot", "cross matmul outer tensordot vecdot: x1 x2\nmulti_dot: arrays"),
    rows(f"{_NAME}.linalg", "array.permute", "matrix_transpose: x"),
    rows(f"{_NAME}.linalg", "array.gather", "diagonal: x"),
    rows(f"{_NAME}.linalg", "array.reduce", "trace: x"),
)

_FFT = merge(
    rows(f"{_NAME}.fft", "array.linalg", """
        fft hfft ifft ihfft irfft rfft: a n axis norm
        fft2 fftn ifft2 ifftn irfft2 irfftn rfft2 rfftn: a s axes norm
        """),
    rows(f"{_NAME}.fft", "array.create", "fftfreq rfftfreq: n d"),
    rows(f"{_NAME}.fft", "array.move", "fftshift ifftshift: x axes"),
)

_BITS = rows(_NAME, "array.convert", "packbits: a axis bitorder\nunpackbits: a axis count bitorder")

_QUESTIONS = merge(
    rows(_NAME, "array.shape", """
        broadcast_shapes: *shapes
        can_cast: from_ to casting
        dtype: dtype align copy
        einsum_path: subscripts *operands
        finfo: dtype
        iinfo: int_type
        iscomplexobj isrealobj: x
        isdtype: dtype kind
        isscalar: element
        issubdtype: arg1 arg2
        iterable: y
        ndim shape: a
        promote_types: a b
        result_type: *args
        size: a axis
        """),
    rows(_NAME, "py.format", "array_str: a max_line_width precision suppress_small"),
    rows(_NAME, "py.format", "array_repr: arr max_line_width precision suppress_small"),
    rows(_NAME, "py.clock", "load: file *args"),
    rows(_NAME, "py.call_library", "get_printoptions:\nset_printoptions printoptions: *args"),
)

_UFUNCS = merge(
    rows(_NAME, "array.reduce", "*.reduce: a axis dtype out keepdims initial where"),
    rows(_NAME, "array.scan", "*.accumulate: a axis dtype out"),
    rows(_NAME, "array.dot", "*.outer: A B"),
    rows(_NAME, "array.scatter", "*.at: a indices b"),
)

ROWS = merge(_ORDER, _DOT, _POLYNOMIALS, _LINALG, _FFT, _BITS, _QUESTIONS, _UFUNCS)
"""The functions of `jax.numpy` that are not in `numpy`, and all of `jax.numpy.linalg` and `jax.numpy.fft`."""
