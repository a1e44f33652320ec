"""JSON for states: exact floats, arrays, infinities; nothing is ever pickled."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np

from surepick.errors import FormatError

_BIG = 64  # arrays with more entries than this are stored as base64 bytes
_SPARSE = 256  # of those with more than this only what is not zero, where that is less
_DTYPES = {"f8": "<f8", "i8": "<i8", "b1": "|b1", "u8": "<u8", "u4": "<u4"}
_MARKS = ("__array__", "__float__", "__rng__")  # keys of the dicts that stand for something else


def encode(value: Any) -> Any:
    """A JSON-ready copy of ``value`` (dicts, lists, scalars, NumPy arrays and generators)."""
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, np.random.Generator):
        return {"__rng__": encode(value.bit_generator.state)}
    if isinstance(value, dict):
        if not value.keys().isdisjoint(_MARKS):
            raise TypeError(f"cannot store a dict with one of the keys {', '.join(_MARKS)}")
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"__float__": repr(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"cannot store {type(value).__name__} in a saved run")


def decode(value: Any) -> Any:
    """What :func:`encode` was given (tuples come back as lists)."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "__array__" in value:
        return _decode_array(value)
    if "__float__" in value:
        return float(value["__float__"])
    if "__rng__" in value:
        state = decode(value["__rng__"])
        kind = getattr(np.random, str(state.get("bit_generator")), None)
        if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
            raise FormatError(f"saved run: unknown bit generator {state.get('bit_generator')!r}")
        generator = kind()
        generator.state = state
        return np.random.Generator(generator)
    return {k: decode(v) for k, v in value.items()}


def dumps(value: Any) -> str:
    """Encode to JSON text."""
    return json.dumps(encode(value), allow_nan=False)


def loads(text: str | bytes, what: str) -> Any:
    """Decode JSON text, or say that ``what`` is not readable."""
    try:
        return decode(json.loads(text))
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{what} cannot be read: {error}") from None


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    code = array.dtype.str[1:]
    if code not in _DTYPES:
        raise TypeError(f"cannot store an array of {array.dtype} in a saved run")
    head = {"__array__": code, "shape": list(array.shape)}
    plain = array.size <= _BIG and (code != "f8" or bool(np.isfinite(array).all()))
    if plain:
        return head | {"values": array.ravel().tolist()}
    flat = np.ascontiguousarray(array).astype(_DTYPES[code], copy=False).ravel()
    if flat.size > _SPARSE:
        # By their bytes, since -0.0 equals zero but has to come back as -0.0.
        at = np.flatnonzero(flat.view(f"u{flat.itemsize}"))
        if 2 * len(at) < flat.size:
            return head | {"at": _bytes(at.astype("<i8")), "base64": _bytes(flat[at])}
    return head | {"base64": _bytes(flat)}


def _decode_array(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    dtype = np.dtype(_DTYPES[value["__array__"]])
    if "values" in value:
        flat = np.array(value["values"], dtype=dtype)
    else:
        flat = _from_bytes(value["base64"], dtype)
    if "at" in value:
        full = np.zeros(math.prod(value["shape"]), dtype=dtype)
        full[_from_bytes(value["at"], np.dtype("<i8"))] = flat
        flat = full
    return flat.reshape(value["shape"]).astype(dtype.newbyteorder("="))


def _bytes(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _from_bytes(text: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)
