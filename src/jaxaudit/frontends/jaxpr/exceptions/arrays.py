"""Exceptions of single operations: arrays, keys and the functions of `jax.numpy`, `lax` and `jax.random`."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.exceptions.model import rows

ROWS = rows(
    r"""
ValueError: Incompatible types for broadcasting: input type=(\S+) and requested type=(\S+)
    axis-conflict: a value of type {1} is to fill a place of type {2}
    expected: a value of the shape of the place, or one that broadcasts to it
    suggestion: correct the index or the value: `x[i]` has one axis less than `x`, `x[:, i]` has the others
any: Incompatible types for matmul arguments: (\S+) and (\S+)
    axis-conflict: a product is made of {1} and {2}, whose leading axes do not go together
    expected: equal leading axes, or size 1
    suggestion: use `jnp.einsum` to say which axes belong together, or move the batch axes first
ValueError: axis (-?\d+) is out of bounds for array of dimension (\d+)
    axis-conflict: axis {1} is named, but the array has {2} axes: they count from 0
    expected: an axis below {2}, or a negative one that counts from the end
    suggestion: correct the axis; under `vmap` an array has one axis less than outside
IndexError: Too many indices: array is (\d+)-dimensional, but (\d+) were indexed
    axis-conflict: an array with {1} axes is read with {2} indices
    expected: at most one index for each axis
    suggestion: leave an index out; under `vmap` an array has one axis less than outside
any: indices and arr must have the same number of dimensions; (\d+) vs\. (\d+)
    axis-conflict: indices with {1} axes pick from an array with {2}
    expected: indices with as many axes as the array
    suggestion: add the missing axis (`indices[..., None]`) and drop it afterwards; labels have one axis less than
        logits
any: Length of slice indices must match number of operand dimensions \((\d+) vs (\([^)]*\))\)
    axis-conflict: {1} start indices are given for an array of shape {2}
    expected: one start index for each axis
    suggestion: give a start for every axis (0 for those that are kept), or use `lax.dynamic_slice_in_dim`
any: update shape must be smaller than operand shape, got update shape (\([^)]*\)) for operand shape (\([^)]*\))
    axis-conflict: an update of shape {1} does not fit into an array of shape {2}
    expected: an update that is no larger than the array along any axis
    suggestion: transpose the update, or cut it
any: select `which` must be scalar or have the same shape as cases, got `which` shape (\([^)]*\)) but case shape
        (\([^)]*\))
    axis-conflict: a condition of shape {1} chooses between arrays of shape {2}
    expected: a condition of the same shape, or a single truth value
    suggestion: use `jnp.where`, which broadcasts, with `[:, None]` where an axis is missing
any: array split does not result in an equal division: rest is (\d+)
    axis-conflict: an axis is split into equal parts, but {1} elements are left over
    expected: a number of parts that divides the axis
    suggestion: correct the number of parts, or use `jnp.array_split`
any: conv_general_dilated lhs feature dimension size .* must equal the rhs input feature dimension size, but (.*)
    axis-conflict: a convolution is given another number of channels than its kernel has: {1}
    expected: the input's channel axis has the size that the kernel was made for
    suggestion: check the layout: `lax.conv` wants NCHW and OIHW, flax NHWC
any: Einstein sum subscript '(\w+)' does not contain the correct number of indices for operand (\d+)
    axis-conflict: einsum's `{1}` has not one letter for each axis of operand {2}
    expected: one letter an axis, or `...` for the rest
    suggestion: correct the letters
any: setting an array element with a sequence.*inhomogeneous shape
    axis-conflict: an array is made of rows of different lengths
    expected: rows of one length
    suggestion: pad the rows to one length and keep a mask
TypeError: iteration over a 0-d array|len\(\) of unsized object
    axis-conflict: a single number is iterated over, or asked for its length
    expected: an array with an axis
    suggestion: reduce over fewer axes before (`axis=`); under `vmap` an array has one axis less than outside
any: lax\.(\w+) requires arguments to have the same dtypes, got ([^.(]*)
    invalid-input-type: `lax.{1}` is given the dtypes {2}, and does not convert them
    expected: operands of one dtype
    suggestion: use the function of `jax.numpy`, which converts, or `.astype`
any: dtype that is a subdtype of <class 'numpy\.(\w+)'>, got (\w+) instead
    invalid-input-type: an array of dtype {2} is given where {1} numbers are needed
    expected: an array of {1} numbers, such as class indices
    suggestion: convert it with `.astype`, or check which argument is which
TypeError: JAX does not support string indexing; got idx='(.*?)'
    invalid-input-type: an array is indexed by the text `{1}`, as if it were a dict
    expected: a dict of arrays, or an index
    suggestion: check what is passed in: the whole dict, or already the array in it
TypeError: Indexer must have integer or boolean type, got indexer with type (\w+)
    invalid-input-type: an array is indexed by numbers of type {1}
    expected: whole numbers or truth values as indices
    suggestion: convert the indices with `.astype(int)`, or divide with `//`
TypeError: Value '.*?' with dtype (\S+) is not a valid JAX array type
    invalid-input-type: an array is made of values of dtype {1}, which JAX does not have
    expected: numbers or truth values
    suggestion: keep text in Python; turn categories into indices first
TypeError: invalid PRNG key data: expected key_data\.shape to end with \(2,\); got shape=(\([^)]*\))
    not-a-key: a random function is given an array of shape {1} as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: pass a key; `split` gives an array of keys, of which one is `keys[i]`
TypeError: invalid PRNG key data: expected key_data\.dtype = \w+; got dtype=(\w+)
    not-a-key: a random function is given an array of dtype {1} as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: pass a key; `split` gives an array of keys, of which one is `keys[i]`
TypeError: invalid PRNG key data: .*Got (\S+)
    not-a-key: a random function is given `{1}` as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: pass a key; `split` gives an array of keys, of which one is `keys[i]`
TypeError: unexpected PRNG key type <class '([^']+)'>
    not-a-key: a random function is given a `{1}` as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: check the order of the arguments: `jax.random.normal(key, shape)`
any: (\w+) accepts a single key, but was given a key array of shape ?(\([^)]*\))
    not-a-key: `{1}` is given an array of keys of shape {2}, and takes one
    expected: one key
    suggestion: take one of them (`keys[0]`), or `jax.vmap` the function over the keys
any: fold_in accepts a scalar, but was given an array of ?shape (\([^)]*\))
    not-a-key: `fold_in` is given numbers of shape {1} at once, and takes one
    expected: one whole number
    suggestion: `jax.vmap(lambda i: jax.random.fold_in(key, i))(numbers)` gives a key for each
TypeError: iteration over a 0-d key array
    not-a-key: one key is taken apart as if it were several
    expected: `split` gives several keys
    suggestion: `k1, k2 = jax.random.split(key)`
any: dtype argument to `(\w+)` must be an? (\w+)\w* dtype, got (\w+)|(randint) only accepts (integer) dtypes, got (\w+)
    invalid-input-type: `{1}{4}` draws {2}{5} numbers, and is asked for dtype {3}{6}
    expected: a {2}{5} dtype
    suggestion: `jax.random.randint` draws whole numbers, `uniform` and `normal` real ones
any: Cannot take a larger sample \(size (\d+)\) than population \(size (\d+)\)
    axis-conflict: {1} elements are drawn from {2} without putting any back
    expected: at most {2} elements, or `replace=True`
    suggestion: draw fewer, or allow repeats
any: p must be None or a 1D vector .*p has shape (\([^)]*\)) and a\.shape\[axis\] is (\d+)
    axis-conflict: `p` has shape {1}, but there are {2} elements to choose from
    expected: one probability for each of the {2} elements
    suggestion: make `p` from the same array
any: (\w+) requires cov\.shape == \(\.\.\., n, n\) for n=(\d+), but got cov\.shape == (\([^)]*\))
    axis-conflict: the covariance has shape {3}, but the mean has {2} elements
    expected: a covariance of {2} rows and columns
    suggestion: make both for the same variables
any: (\w+) requires (\w+)\.ndim >= (\d+), got \w+\.ndim == (\d+)
    axis-conflict: `{2}` of `{1}` has {4} axes, and needs {3} or more
    expected: an array with {3} axes or more
    suggestion: give one parameter for each element: `jnp.full((n,), value)`
any: dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape, got (\(.*?\)) and
        (\(.*?\))
    axis-conflict: a product goes through the batch axes of both operands in step, but their sizes are {1} and {2}
    expected: batch axes of one size
    suggestion: correct `dimension_numbers`, or use `jnp.einsum` with one letter for the shared axis
any: matmul input operand (\d+) must have ndim at least (\d+), but it has ndim (\d+)
    axis-conflict: operand {1} of a matrix product has {3} axes, and needs {2} or more
    expected: vectors or matrices on both sides
    suggestion: multiply a single number with `*`; under `vmap` an array has one axis less than outside
any: Output character '(\w)' (did not appear in the input|appeared more than once in the output)
    axis-conflict: einsum's output letter `{1}` {2}
    expected: each letter of the output once, and all of them among the letters of the operands
    suggestion: correct the letters after `->`
any: Number of einsum subscripts, (\d+), must be equal to the number of operands, (\d+)
    axis-conflict: einsum has letters for {1} operands and is given {2}
    expected: one group of letters for each operand, parted by commas
    suggestion: add the missing operand or leave a group out
any: can only specify one unknown axis size with a `-1` value, got (\(.*?\))
    axis-conflict: more than one -1 stands in the shape {1}
    expected: one size at most is left to JAX
    suggestion: give the other sizes
any: transpose permutation isn't a permutation of operand dimensions, got permutation (\(.*?\)) for operand shape
        (\(.*?\))
    axis-conflict: the axes of an array of shape {2} are put into the order {1}, which does not name each of them once
    expected: each axis of the array once; matrices where a matrix is needed
    suggestion: correct the order; under `vmap` an array has one axis less than outside
IndexError: index (-?\d+) is out of bounds for axis (\d+) with size (\d+)
    axis-conflict: an axis or index {1} is named where there are {3}: they count from 0
    expected: an index below {3}, or a negative one that counts from the end
    suggestion: correct the axis; under `vmap` an array has one axis less than outside
any: Cannot broadcast to shape with fewer dimensions: arr_shape=(\(.*?\)) shape=(\(.*?\))
    axis-conflict: an array of shape {1} is to fill a place of shape {2}, which has fewer axes
    expected: a value of the shape of the place, or one with fewer axes
    suggestion: take one element of the value, or correct the index: `x[i]` has one axis less than `x`
any: broadcast_in_dim operand dimension sizes must .*operand of shape (\(.*?\)), target broadcast shape (\(.*?\))
    axis-conflict: an array of shape {1} does not broadcast to {2}
    expected: equal sizes, or 1
    suggestion: insert or move an axis
any: Zero-dimensional arrays cannot be concatenated
    axis-conflict: single numbers are concatenated, but they have no axis
    expected: a list of arrays with an axis, as the first argument
    suggestion: `jnp.stack([a, b])` joins numbers; `jnp.concatenate([a, b])` takes a list
any: Need at least one array to (\w+)
    axis-conflict: an empty list is given to `{call}`
    expected: one array or more
    suggestion: find out why the list is empty, or start from `jnp.zeros((0, ...))`
any: pad_width with nd=(\d+) has unsupported shape (\([^)]*\))
    axis-conflict: `pad_width` has shape {2}, but the array has {1} axes
    expected: one pair (before, after) for each of the {1} axes
    suggestion: add or drop a pair; (0, 0) leaves an axis alone
any: zero-size array to reduction operation (\w+)|attempt to get (\w+) of an empty sequence
    axis-conflict: `{call}` goes over no elements
    expected: one element or more along the reduced axis
    suggestion: give `initial=`, or find out why the axis is empty
any: (\w+) shape must have every element be nonnegative, got (\(.*?\))
    axis-conflict: an array of shape {2} is asked for: a size is negative
    expected: sizes of 0 or more
    suggestion: only `reshape` works out a -1; compute the size here
TypeError: Did you accidentally write `(.*?)` when you meant `(.*?)`
    invalid-input-type: `{1}` takes the shape as one argument
    expected: `{2}`
    suggestion: put the sizes into a tuple
IndexError: boolean index did not match shape of indexed array in index (\d+): got (\(.*?\)), expected [\[(](.*?)[\])]
    axis-conflict: a mask of shape {2} selects from an axis of size {3}
    expected: a mask of the size of the axis
    suggestion: make the mask from the same array, or index the other axis: `x[:, mask]`
any: an index can only have a single ellipsis
    axis-conflict: an index has `...` twice
    expected: `...` once at most
    suggestion: write `:` for all but one of them
any: slice_sizes must be less than or equal to operand shape, got \w+ (\(.*?\)) for operand shape (\(.*?\))
    axis-conflict: a slice of sizes {1} is cut from an array of shape {2}
    expected: slices that are no larger than the array
    suggestion: swap the sizes, or pad the array
any: (\w+) update must have the same rank as operand, got update shape (\(.*?\)) for operand shape (\(.*?\))
    axis-conflict: an update of shape {2} is written into an array of shape {3}: the number of axes differs
    expected: an update with as many axes as the array
    suggestion: add axes of size 1 to the update: `update[None]`
any: got the wrong number of (\w+) for operand: got operand shape (\(.*?\)) with \w+ (\(.*?\))
    axis-conflict: `{1}` is {3}, but the array has shape {2}
    expected: one entry for each axis of the array
    suggestion: put a 1 for axes that the window does not span, such as batch and channels
any: convolution requires lhs and rhs ndim to be equal, got (\d+) and (\d+)
    axis-conflict: a convolution is given an input with {1} axes and a kernel with {2}
    expected: input and kernel with as many axes: batch or output channels, input channels, and the image
    suggestion: add the missing axis; under `vmap` an array has one axis less than outside
any: window and window_strides must have the same number of dimensions, but got (\d+) and (\d+)
    axis-conflict: a window over {1} axes gets {2} strides
    expected: one stride for each axis of the image
    suggestion: correct them
any: (?:feature|batch)_group_count must divide .*?, but (\d+) does not divide (\d+)
    axis-conflict: {2} channels cannot be put into {1} groups of one size
    expected: a number of groups that divides the channels
    suggestion: correct the number of groups, or the layout of the input
any: k argument to top_k must be no larger than size along axis; got k=(\d+) with shape=\[(.*?)\]
    axis-conflict: the {1} largest of {2} elements are asked for
    expected: `k` at most the size
    suggestion: `min(k, x.shape[-1])`
any: inconsistent size for core dimension '(\w+)': (\d+) vs (\d+).*signature='?([^']*)
    axis-conflict: axes that must be equal have the sizes {3} and {2} (`{1}` in {4})
    expected: one size wherever the signature has one letter
    suggestion: transpose or cut one of the arguments; a system of equations has as many rows as the right side
any: Argument to _?(\w+?)(?:\(\))? must have shape \[\.\.\., n, n\], got (\([^)]*\))
    axis-conflict: `{1}` is given an array of shape {2}, which is not square
    expected: square matrices in the last two axes
    suggestion: use `jnp.linalg.lstsq` or `pinv` for a matrix that is not square
any: Improper number of axes for norm: axis=(\(.*?\))
    axis-conflict: a norm is taken over the axes {1}: it can be over one, or two for matrices
    expected: one axis or two
    suggestion: name it: `jnp.linalg.norm(x, axis=-1)`
any: Array inputs to associative_scan must have the same first dimension\. \(saw: (.*)\)
    scan-length-mismatch: the arrays of `associative_scan` have different first axes: {1}
    expected: one length along the scanned axis of every leaf
    suggestion: cut or pad them to one length
any: Only scalar arrays can be converted to Python scalars|can only convert an array of size 1 to a Python scalar
    axis-conflict: an array with more than one element is turned into one Python number
    current: the conversion stops with an exception
    expected: an array without axes
    suggestion: reduce it first (`.mean()`), index it (`x[0, 0]`), or keep the array
ValueError: The truth value of an (array with more than one element is ambiguous|empty array)
    condition-not-scalar: Python asks for the truth of a whole array
    current: the test stops with an exception: its elements need not agree
    expected: one truth value
    suggestion: reduce with `.any()` or `.all()`; `jnp.where` chooses for each element
TypeError: (\w+) does not accept dtypes? (key<\w+>)
    not-a-key: `{call}` is applied to a key, which is no number
    expected: keys are given to `jax.random` only
    suggestion: `jax.random.fold_in(key, i)` makes another key; `jax.random.key_data(key)` shows its numbers
TypeError: (\w+) does not accept dtype (\S+?)\.? .*?Accepted dtypes (?:at position \d+ )?are subtypes of ([\w, ]+)
    invalid-input-type: `{call}` is applied to numbers of dtype {2}
    expected: numbers of dtype {3}
    suggestion: convert with `.astype`; a condition comes from a comparison, `x > 0`
TypePromotionError: have no available implicit dtype promotion path
    invalid-input-type: two dtypes meet that JAX does not convert by itself here
    expected: operands of one dtype
    suggestion: convert one of them with `.astype`
any: could not be broadcast together for (\w+) on shapes (.*?) and with the config option
    axis-conflict: `{call}` joins arrays with different numbers of axes: {2}
    expected: the same number of axes, as `jax_numpy_rank_promotion='raise'` demands
    suggestion: write the missing axis: `x[None]` or `x[:, None]`
any: (?:take_along_axis )?indices must (?:have an|be of) integer type
    invalid-input-type: elements are picked by numbers that are not whole
    expected: whole numbers as indices
    suggestion: convert the indices with `.astype(int)`, or divide with `//`
any: Using a non-tuple sequence for multidimensional indexing
    invalid-input-type: an array is indexed by a list
    expected: an array of indices, or a tuple of one index an axis
    suggestion: `x[jnp.array([0, 1])]` picks rows, `x[0, 1]` one element
TypeError: data type '?(.*?)'? not understood|Cannot interpret '(.*?)' as a data type
    invalid-input-type: there is no dtype `{1}{2}`
    expected: a dtype such as `jnp.float32`
    suggestion: correct the dtype
any: None is not a valid value for jnp\.array
    invalid-input-type: an array is made of a list with None in it
    expected: numbers
    suggestion: give a number for what is missing
any: Disallowed (\S+) transfer
    mixed-devices: an array is moved ({1}) without being asked for, and `transfer_guard` forbids that
    expected: arrays are moved by `jax.device_put` and `jax.device_get`
    suggestion: move it before, or make Python numbers and NumPy arrays into arrays of JAX outside the guard
RuntimeError: Unknown backend:? '?(\w+)'? requested.*Platforms present are: (.*)|Backend '(\w+)' (?:is not|failed)
    script-failed: the program asks for the devices `{1}{3}`, which this machine or this jaxlib does not have
    expected: devices that are there: {2}
    suggestion: ask for `jax.devices()`, or install the jaxlib for the accelerator
any: Unrecognized config option: (\w+)
    script-failed: JAX has no setting `{1}`
    expected: a setting that JAX has
    suggestion: correct its name
"""
)
