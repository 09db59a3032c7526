"""Rows of `jax.scipy`."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_SPECIAL = rows("jax.scipy.special", "array.map", """
    dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit fresnel gamma gammaln gammasgn: x
    i0 i0e i1 i1e loggamma logit ndtr sici spence: x
    bernoulli: n
    bessel_jn wofz: z
    beta betaln: a b
    betainc hyp1f1: a b x
    boxcox boxcox1p: x lmbda
    comb: N k
    expn polygamma: n x
    factorial: n exact
    gammainc gammaincc: a x
    hyp2f1: a b c x
    kl_div rel_entr: p q
    log_ndtr: x series_order
    multigammaln: a d
    ndtri: p
    owens_t: h a
    poch: z m
    sph_harm_y: n m theta phi diff_n n_max
    xlog1py xlogy: x y
    zeta: x q
    """)

_LINALG = rows("jax.scipy.linalg", "array.linalg", """
    block_diag: *arrs
    cho_factor cholesky: a lower overwrite_a check_finite
    cho_solve: c_and_lower b overwrite_b check_finite
    det inv lu_factor: a overwrite_a check_finite
    eigh: a b lower eigvals_only overwrite_a overwrite_b turbo eigvals type check_finite
    eigh_tridiagonal: d e
    expm: A
    expm_frechet: A E
    funm: A func disp
    hessenberg companion fiedler fiedler_companion: a
    lu: a permute_l overwrite_a check_finite
    lu_solve: lu_and_piv b trans overwrite_b check_finite
    polar: a side
    qr: a overwrite_a lwork mode pivoting check_finite
    qr_multiply: a c mode pivoting conjugate overwrite_a overwrite_c
    rsf2csf: T Z check_finite
    schur: a output
    solve: a b lower overwrite_a overwrite_b debug check_finite assume_a
    solve_sylvester: A B C
    solve_triangular: a b trans lower unit_diagonal overwrite_b debug check_finite
    sqrtm: A blocksize
    svd: a full_matrices compute_uv overwrite_a check_finite lapack_driver
    circulant: c
    hankel toeplitz: c r
    hilbert invhilbert: n
    convolution_matrix: a n mode
    dft: n scale
    hadamard: n dtype
    helmert: n full
    invpascal pascal: n kind
    leslie: f s
    """)

_SIGNAL = merge(
    rows("jax.scipy.signal", "array.convolve", """
        convolve correlate: in1 in2 mode method precision
        convolve2d correlate2d: in1 in2 mode boundary fillvalue precision
        fftconvolve: in1 in2 mode axes
        """),
    rows("jax.scipy.signal", "array.linalg", """
        detrend: data axis type bp overwrite_data
        csd: x y fs window nperseg noverlap nfft detrend return_onesided scaling axis average
        istft: Zxx fs window nperseg noverlap nfft input_onesided boundary time_axis freq_axis
        stft: x fs window nperseg noverlap nfft detrend return_onesided boundary padded axis
        welch: x fs window nperseg noverlap nfft detrend return_onesided scaling axis average
        """),
    rows("jax.scipy.fft", "array.linalg", "dct idct: x type n axis norm\ndctn idctn: x type s axes norm"),
)

_STATS = merge(
    rows("jax.scipy.stats", "array.map", """
        *.logpdf *.pdf *.logcdf *.cdf *.logsf *.sf: x
        *.logpmf *.pmf: k
        *.ppf *.isf: q
        *.entropy: mu loc
        norm.logpdf norm.pdf norm.logcdf norm.cdf norm.logsf norm.sf: x loc scale
        norm.ppf norm.isf: q loc scale
        """),
    rows("jax.scipy.stats", "array.reduce", "sem: a axis ddof nan_policy\nmode: a axis nan_policy keepdims"),
    rows("jax.scipy.stats", "array.order", "rankdata: a method"),
)

_OTHER = merge(
    rows("jax.scipy.ndimage", "array.gather", "map_coordinates: input coordinates order mode cval"),
    rows("jax.scipy.cluster.vq", "array.order", "vq: obs code_book check_finite"),
    rows("jax.scipy.sparse.linalg", "array.linalg", "bicgstab cg gmres: A b x0"),
)

ROWS = merge(_SPECIAL, _LINALG, _SIGNAL, _STATS, _OTHER)
"""The functions of `jax.scipy`; `logsumexp`, `softmax` and `trapezoid` are aliases of others."""
