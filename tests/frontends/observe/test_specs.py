import pytest

from jaxaudit.frontends.jaxpr.inputs import spec_of
from jaxaudit.frontends.jaxpr.specs import (
    ArraySpec,
    Constant,
    Expression,
    SpecError,
    axis_name,
    choose_sizes,
    parse_spec,
    size_of,
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("f32[batch=32,time=128,obs=17]", ArraySpec("float32", ("batch=32", "time=128", "obs=17"))),
        ("i32[]", ArraySpec("int32", ())),
        ("bool[n, 2*m]", ArraySpec("bool", ("n", "2*m"))),
        ("float32[3]", ArraySpec("float32", ("3",))),
        ("key", ArraySpec("key", ())),
        ("key[8]", ArraySpec("key", ("8",))),
        ("rawkey[envs]", ArraySpec("rawkey", ("envs",))),
        ("3", Constant(3)),
        ("-1.5", Constant(-1.5)),
        ("'mean'", Constant("mean")),
        ("None", Constant(None)),
        ("=init(key)", Expression("init(key)")),
        ("{'x': f32[b,3], 'n': 4}", {"x": ArraySpec("float32", ("b", "3")), "n": Constant(4)}),
        ("(f32[2], [key, True])", (ArraySpec("float32", ("2",)), [ArraySpec("key", ()), Constant(True)])),
        ("()", ()),
    ],
)
def test_parse(text, spec):
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("f32[3", "the spec `f32[3` needs `]` at its end"),
        ("f32[3] x", "the spec `f32[3] x` has `x` after its end"),
        ("(f32", "the spec `(f32` needs `,` at its end"),
        ("{'a' f32}", "the spec `{'a' f32}` needs `:` instead of `f32`"),
        ("", "the spec `` needs more at its end"),
    ],
)
def test_what_cannot_be_read_is_said(text, sentence):
    with pytest.raises(SpecError) as error:
        parse_spec(text)
    assert str(error.value) == sentence


def test_sizes_are_distinct_and_divisible():
    specs = [parse_spec("f32[batch,time,24]"), parse_spec("{'a': f32[time,feat=40], 'b': i32[batch*time]}")]
    sizes = choose_sizes(specs, {"extra": 56})
    assert sizes["feat"] == 40
    assert sizes["extra"] == 56
    assert len({*sizes.values(), 24}) == 5
    assert all(size % 8 == 0 for size in sizes.values())
    assert size_of("batch*time", sizes) == sizes["batch"] * sizes["time"]
    assert size_of("time+1", sizes) == sizes["time"] + 1


def test_conflicts_are_said():
    with pytest.raises(SpecError, match="the axis `b` has two sizes: 3 and 4"):
        choose_sizes([parse_spec("f32[b=3]"), parse_spec("f32[b=4]")], {})
    with pytest.raises(SpecError, match="is no size"):
        size_of("b**2", {"b": 3})
    with pytest.raises(SpecError, match="negative"):
        size_of("1-b", {"b": 3})


def test_axis_names():
    assert [axis_name(dim) for dim in ("batch=3", "17", "n*m")] == ["batch", "", "n*m"]


def test_jaxtyping():
    jaxtyping = pytest.importorskip("jaxtyping")
    jax = pytest.importorskip("jax")
    assert spec_of(jaxtyping.Float[jax.Array, "batch 3 feat+1"]) == ArraySpec("float32", ("batch", "3", "feat+1"))
    assert spec_of(jaxtyping.Int[jax.Array, ""]) == ArraySpec("int32", ())
    assert spec_of(jaxtyping.Float[jax.Array, "*batch d=4"]) == ArraySpec("float32", ("batch", "d=4"))
    assert spec_of(jax.Array) is None
    assert spec_of(int) is None
