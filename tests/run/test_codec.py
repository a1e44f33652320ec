import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surepick.errors import FormatError
from surepick.run.codec import decode, dumps, encode, loads


def same(one, two):
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and (one == two or (one != one and two != two))


KEYS = st.text().filter(lambda key: not key.startswith("__"))
ARRAYS = st.sampled_from(["f8", "i8", "u8", "u4", "?"]).flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, max_side=9))
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | ARRAYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_what_goes_in_comes_out_to_the_bit(value):
    assert same(value, loads(dumps(value), "it"))


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1000])
def test_arrays_of_all_sizes_keep_shape_order_and_bits(size):
    array = np.random.default_rng(size).normal(size=(2, size))
    for view in (array, array.T, array[:, ::2], np.asfortranarray(array)):
        again = loads(dumps(view), "it")
        assert same(np.ascontiguousarray(view), again)
        again[...] = 0  # a copy that can be written to
    odd = np.array([np.nan, np.inf, -np.inf, -0.0])
    assert same(odd, loads(dumps(odd), "it"))


@pytest.mark.parametrize("dtype", ["f8", "i8", "u8", "u4", "?"])
def test_arrays_of_zeros_take_little_room(dtype):
    array = np.zeros((50, 100), dtype=dtype)
    array[3, 70] = array[49, 99] = 1
    text = dumps(array)
    assert len(text) < 200
    assert same(array, loads(text, "it"))
    signed = np.zeros(5000)
    signed[17] = -0.0
    assert same(signed, loads(dumps(signed), "it"))


def test_small_arrays_can_be_read_by_people():
    assert json.loads(dumps(np.array([1, 2]))) == {
        "__array__": "i8",
        "shape": [2],
        "values": [1, 2],
    }


def test_scalars_of_numpy_become_plain():
    value = loads(dumps([np.float64(0.1), np.int64(3), np.bool_(True), np.str_("a")]), "it")
    assert value == [0.1, 3, True, "a"]
    assert [type(v) for v in value] == [float, int, bool, str]


def test_tuples_come_back_as_lists():
    assert loads(dumps((1, (2, 3))), "it") == [1, [2, 3]]


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_go_on_where_they_were(kind):
    rng = np.random.Generator(getattr(np.random, kind)(5))
    rng.random(3), rng.integers(10, size=3, dtype=np.int32)
    again = loads(dumps({"rng": rng}), "it")["rng"]
    assert again.standard_normal(10).tolist() == rng.standard_normal(10).tolist()
    assert again.integers(10, size=9).tolist() == rng.integers(10, size=9).tolist()


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, np.array([1j]), np.array(["a"]), np.array([1], dtype=np.int32)]
    + [{"__rng__": 1}, {"__array__": 1}, {"__float__": 1}],
)
def test_what_cannot_be_stored_says_so(value):
    with pytest.raises(TypeError, match="cannot store"):
        encode(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nothing",
        b"\xff",
        "[" * 100_000,
        '{"__array__": "O8", "shape": [1], "values": [1]}',
        '{"__array__": "f8", "shape": [3], "values": [1]}',
        '{"__array__": "f8", "shape": [1]}',
        '{"__array__": "f8", "shape": [1], "base64": "!!"}',
        '{"__array__": "f8", "shape": [1], "base64": "AAAA"}',
        '{"__array__": ["f8"], "shape": [1], "values": [1]}',
        '{"__float__": "much"}',
        '{"__float__": []}',
        '{"__rng__": {"bit_generator": "PCG64"}}',
        '{"__rng__": {"bit_generator": "Generator"}}',
        '{"__rng__": {"bit_generator": "seed"}}',
        '{"__rng__": {}}',
        '{"__rng__": 3}',
    ],
)
def test_broken_texts_are_format_errors(text):
    with pytest.raises(FormatError, match=r"it cannot be read|unknown bit generator"):
        loads(text, "it")


def test_nothing_but_known_generators_is_built():
    for name in ("Generator", "RandomState", "default_rng", "os", "__class__", None):
        with pytest.raises(FormatError, match="unknown bit generator"):
            decode({"__rng__": {"bit_generator": name}})
