"""Exceptions of functions of `jax.numpy` and `lax` about axes, sizes and dtypes, beyond those in `arrays.py`."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.exceptions.model import Row, say

_AXES = "axis-conflict"
_KIND = "invalid-input-type"
_LESS = "under `vmap` an array has one axis less than outside"

ROWS = (
    Row(
        r"dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape, got (\(.*?\)) "
        r"and (\(.*?\))",
        say(
            _AXES,
            "a product goes through the batch axes of both operands in step, but their sizes are {1} and {2}",
            "batch axes of one size",
            "correct `dimension_numbers`, or use `jnp.einsum` with one letter for the shared axis",
        ),
    ),
    Row(
        r"matmul input operand (\d+) must have ndim at least (\d+), but it has ndim (\d+)",
        say(
            _AXES,
            "operand {1} of a matrix product has {3} axes, and needs {2} or more",
            "vectors or matrices on both sides",
            f"multiply a single number with `*`; {_LESS}",
        ),
    ),
    Row(
        r"Output character '(\w)' (did not appear in the input|appeared more than once in the output)",
        say(
            _AXES,
            "einsum's output letter `{1}` {2}",
            "each letter of the output once, and all of them among the letters of the operands",
            "correct the letters after `->`",
        ),
    ),
    Row(
        r"Number of einsum subscripts, (\d+), must be equal to the number of operands, (\d+)",
        say(
            _AXES,
            "einsum has letters for {1} operands and is given {2}",
            "one group of letters for each operand, parted by commas",
            "add the missing operand or leave a group out",
        ),
    ),
    Row(
        r"can only specify one unknown axis size with a `-1` value, got (\(.*?\))",
        say(
            _AXES, "more than one -1 stands in the shape {1}", "one size at most is left to JAX", "give the other sizes"
        ),
    ),
    Row(
        r"transpose permutation isn't a permutation of operand dimensions, got permutation (\(.*?\)) for operand shape "
        r"(\(.*?\))",
        say(
            _AXES,
            "the axes of an array of shape {2} are put into the order {1}, which does not name each of them once",
            "each axis of the array once; matrices where a matrix is needed",
            f"correct the order; {_LESS}",
        ),
    ),
    Row(
        r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
        say(
            _AXES,
            "an axis or index {1} is named where there are {3}: they count from 0",
            "an index below {3}, or a negative one that counts from the end",
            f"correct the axis; {_LESS}",
        ),
        ("IndexError",),
    ),
    Row(
        r"Cannot broadcast to shape with fewer dimensions: arr_shape=(\(.*?\)) shape=(\(.*?\))",
        say(
            _AXES,
            "an array of shape {1} is to fill a place of shape {2}, which has fewer axes",
            "a value of the shape of the place, or one with fewer axes",
            "take one element of the value, or correct the index: `x[i]` has one axis less than `x`",
        ),
    ),
    Row(
        r"broadcast_in_dim operand dimension sizes must .*operand of shape (\(.*?\)), target broadcast shape (\(.*?\))",
        say(_AXES, "an array of shape {1} does not broadcast to {2}", "equal sizes, or 1", "insert or move an axis"),
    ),
    Row(
        r"Zero-dimensional arrays cannot be concatenated",
        say(
            _AXES,
            "single numbers are concatenated, but they have no axis",
            "a list of arrays with an axis, as the first argument",
            "`jnp.stack([a, b])` joins numbers; `jnp.concatenate([a, b])` takes a list",
        ),
    ),
    Row(
        r"Need at least one array to (\w+)",
        say(
            _AXES,
            "an empty list is given to `{call}`",
            "one array or more",
            "find out why the list is empty, or start from `jnp.zeros((0, ...))`",
        ),
    ),
    Row(
        r"pad_width with nd=(\d+) has unsupported shape (\([^)]*\))",
        say(
            _AXES,
            "`pad_width` has shape {2}, but the array has {1} axes",
            "one pair (before, after) for each of the {1} axes",
            "add or drop a pair; (0, 0) leaves an axis alone",
        ),
    ),
    Row(
        r"zero-size array to reduction operation (\w+)|attempt to get (\w+) of an empty sequence",
        say(
            _AXES,
            "`{call}` goes over no elements",
            "one element or more along the reduced axis",
            "give `initial=`, or find out why the axis is empty",
        ),
    ),
    Row(
        r"(\w+) shape must have every element be nonnegative, got (\(.*?\))",
        say(
            _AXES,
            "an array of shape {2} is asked for: a size is negative",
            "sizes of 0 or more",
            "only `reshape` works out a -1; compute the size here",
        ),
    ),
    Row(
        r"Did you accidentally write `(.*?)` when you meant `(.*?)`",
        say(_KIND, "`{1}` takes the shape as one argument", "`{2}`", "put the sizes into a tuple"),
        ("TypeError",),
    ),
    Row(
        r"boolean index did not match shape of indexed array in index (\d+): got (\(.*?\)), expected [\[(](.*?)[\])]",
        say(
            _AXES,
            "a mask of shape {2} selects from an axis of size {3}",
            "a mask of the size of the axis",
            "make the mask from the same array, or index the other axis: `x[:, mask]`",
        ),
        ("IndexError",),
    ),
    Row(
        r"an index can only have a single ellipsis",
        say(_AXES, "an index has `...` twice", "`...` once at most", "write `:` for all but one of them"),
    ),
    Row(
        r"slice_sizes must be less than or equal to operand shape, got \w+ (\(.*?\)) for operand shape (\(.*?\))",
        say(
            _AXES,
            "a slice of sizes {1} is cut from an array of shape {2}",
            "slices that are no larger than the array",
            "swap the sizes, or pad the array",
        ),
    ),
    Row(
        r"(\w+) update must have the same rank as operand, got update shape (\(.*?\)) for operand shape (\(.*?\))",
        say(
            _AXES,
            "an update of shape {2} is written into an array of shape {3}: the number of axes differs",
            "an update with as many axes as the array",
            "add axes of size 1 to the update: `update[None]`",
        ),
    ),
    Row(
        r"got the wrong number of (\w+) for operand: got operand shape (\(.*?\)) with \w+ (\(.*?\))",
        say(
            _AXES,
            "`{1}` is {3}, but the array has shape {2}",
            "one entry for each axis of the array",
            "put a 1 for axes that the window does not span, such as batch and channels",
        ),
    ),
    Row(
        r"convolution requires lhs and rhs ndim to be equal, got (\d+) and (\d+)",
        say(
            _AXES,
            "a convolution is given an input with {1} axes and a kernel with {2}",
            "input and kernel with as many axes: batch or output channels, input channels, and the image",
            f"add the missing axis; {_LESS}",
        ),
    ),
    Row(
        r"window and window_strides must have the same number of dimensions, but got (\d+) and (\d+)",
        say(_AXES, "a window over {1} axes gets {2} strides", "one stride for each axis of the image", "correct them"),
    ),
    Row(
        r"(?:feature|batch)_group_count must divide .*?, but (\d+) does not divide (\d+)",
        say(
            _AXES,
            "{2} channels cannot be put into {1} groups of one size",
            "a number of groups that divides the channels",
            "correct the number of groups, or the layout of the input",
        ),
    ),
    Row(
        r"k argument to top_k must be no larger than size along axis; got k=(\d+) with shape=\[(.*?)\]",
        say(_AXES, "the {1} largest of {2} elements are asked for", "`k` at most the size", "`min(k, x.shape[-1])`"),
    ),
    Row(
        r"inconsistent size for core dimension '(\w+)': (\d+) vs (\d+).*signature='?([^']*)",
        say(
            _AXES,
            "axes that must be equal have the sizes {3} and {2} (`{1}` in {4})",
            "one size wherever the signature has one letter",
            "transpose or cut one of the arguments; a system of equations has as many rows as the right side",
        ),
    ),
    Row(
        r"Argument to _?(\w+?)(?:\(\))? must have shape \[\.\.\., n, n\], got (\([^)]*\))",
        say(
            _AXES,
            "`{1}` is given an array of shape {2}, which is not square",
            "square matrices in the last two axes",
            "use `jnp.linalg.lstsq` or `pinv` for a matrix that is not square",
        ),
    ),
    Row(
        r"Improper number of axes for norm: axis=(\(.*?\))",
        say(
            _AXES,
            "a norm is taken over the axes {1}: it can be over one, or two for matrices",
            "one axis or two",
            "name it: `jnp.linalg.norm(x, axis=-1)`",
        ),
    ),
    Row(
        r"Array inputs to associative_scan must have the same first dimension\. \(saw: (.*)\)",
        say(
            "scan-length-mismatch",
            "the arrays of `associative_scan` have different first axes: {1}",
            "one length along the scanned axis of every leaf",
            "cut or pad them to one length",
        ),
    ),
    Row(
        r"Only scalar arrays can be converted to Python scalars|can only convert an array of size 1 to a Python scalar",
        say(
            _AXES,
            "an array with more than one element is turned into one Python number",
            "an array without axes",
            "reduce it first (`.mean()`), index it (`x[0, 0]`), or keep the array",
            "the conversion stops with an exception",
        ),
    ),
    Row(
        r"The truth value of an (array with more than one element is ambiguous|empty array)",
        say(
            "condition-not-scalar",
            "Python asks for the truth of a whole array",
            "one truth value",
            "reduce with `.any()` or `.all()`; `jnp.where` chooses for each element",
            "the test stops with an exception: its elements need not agree",
        ),
        ("ValueError",),
    ),
    Row(
        r"(\w+) does not accept dtypes? (key<\w+>)",
        say(
            "not-a-key",
            "`{call}` is applied to a key, which is no number",
            "keys are given to `jax.random` only",
            "`jax.random.fold_in(key, i)` makes another key; `jax.random.key_data(key)` shows its numbers",
        ),
        ("TypeError",),
    ),
    Row(
        r"(\w+) does not accept dtype (\S+?)\.? .*?Accepted dtypes (?:at position \d+ )?are subtypes of ([\w, ]+)",
        say(
            _KIND,
            "`{call}` is applied to numbers of dtype {2}",
            "numbers of dtype {3}",
            "convert with `.astype`; a condition comes from a comparison, `x > 0`",
        ),
        ("TypeError",),
    ),
    Row(
        r"have no available implicit dtype promotion path",
        say(
            _KIND,
            "two dtypes meet that JAX does not convert by itself here",
            "operands of one dtype",
            "convert one of them with `.astype`",
        ),
        ("TypePromotionError",),
    ),
    Row(
        r"could not be broadcast together for (\w+) on shapes (.*?) and with the config option",
        say(
            _AXES,
            "`{call}` joins arrays with different numbers of axes: {2}",
            "the same number of axes, as `jax_numpy_rank_promotion='raise'` demands",
            "write the missing axis: `x[None]` or `x[:, None]`",
        ),
    ),
    Row(
        r"(?:take_along_axis )?indices must (?:have an|be of) integer type",
        say(
            _KIND,
            "elements are picked by numbers that are not whole",
            "whole numbers as indices",
            "convert the indices with `.astype(int)`, or divide with `//`",
        ),
    ),
    Row(
        r"Using a non-tuple sequence for multidimensional indexing",
        say(
            _KIND,
            "an array is indexed by a list",
            "an array of indices, or a tuple of one index an axis",
            "`x[jnp.array([0, 1])]` picks rows, `x[0, 1]` one element",
        ),
    ),
    Row(
        r"data type '?(.*?)'? not understood|Cannot interpret '(.*?)' as a data type",
        say(_KIND, "there is no dtype `{1}{2}`", "a dtype such as `jnp.float32`", "correct the dtype"),
        ("TypeError",),
    ),
    Row(
        r"None is not a valid value for jnp\.array",
        say(_KIND, "an array is made of a list with None in it", "numbers", "give a number for what is missing"),
    ),
    Row(
        r"Disallowed (\S+) transfer",
        say(
            "mixed-devices",
            "an array is moved ({1}) without being asked for, and `transfer_guard` forbids that",
            "arrays are moved by `jax.device_put` and `jax.device_get`",
            "move it before, or make Python numbers and NumPy arrays into arrays of JAX outside the guard",
        ),
    ),
    Row(
        r"Unknown backend:? '?(\w+)'? requested.*Platforms present are: (.*)|Backend '(\w+)' (?:is not|failed)",
        say(
            "script-failed",
            "the program asks for the devices `{1}{3}`, which this machine or this jaxlib does not have",
            "devices that are there: {2}",
            "ask for `jax.devices()`, or install the jaxlib for the accelerator",
        ),
        ("RuntimeError",),
    ),
    Row(
        r"Unrecognized config option: (\w+)",
        say("script-failed", "JAX has no setting `{1}`", "a setting that JAX has", "correct its name"),
    ),
)
