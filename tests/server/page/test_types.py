"""The types that the page's scripts are checked against are those of the service's models.

``python -m tests.server.page.test_types`` writes them anew after a change of the models; the check
itself is ``make lint``.
"""

import dataclasses
import inspect
import types
import typing
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel

from surepick.server import messages, models, outcomes
from surepick.study.pulls import Told

FILE = Path(str(files("surepick.server") / "page")) / "js" / "models.d.ts"
HEAD = (
    "// What the service sends and takes: made from its models by tests/server/page/test_types.py."
)
PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", types.NoneType: "null"}
PLAIN[typing.Any] = "any"


def written(kind) -> str:
    """A type of Python in the words of TypeScript."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin is typing.Annotated:
        return written(inside[0])
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in inside)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(written(one) for one in inside)
    if origin is list:
        entry = written(inside[0])
        return f"({entry})[]" if " " in entry else f"{entry}[]"
    if origin is tuple:
        return f"[{', '.join(written(one) for one in inside)}]"
    if origin is dict:
        return "Record<string, any>"
    assert dataclasses.is_dataclass(kind) or issubclass(kind, BaseModel), f"no word for {kind}"
    return kind.__name__


def fields(model, answer: bool) -> list[str]:
    """The lines of its fields; what has a default may be left out of a body."""
    hints = typing.get_type_hints(model, include_extras=True)
    if dataclasses.is_dataclass(model):
        known = dict.fromkeys((field.name for field in dataclasses.fields(model)), True)
    else:
        known = {name: about.is_required() for name, about in model.model_fields.items()}
    return [
        f"    {name}{'' if answer or needed else '?'}: {written(hints[name])};"
        for name, needed in known.items()
    ]


def declarations() -> str:
    """An interface for each model, and for each class of studies that is sent as it is."""
    lines = [HEAD, "", "declare namespace Api {"]
    for module in (models, outcomes, messages):
        for name, model in inspect.getmembers(module, inspect.isclass):
            mine = issubclass(model, BaseModel) and model.__module__ == module.__name__
            if not mine or model is models.Answered:
                continue
            answer = issubclass(model, models.Answered)
            lines += [f"  interface {name} {{", *fields(model, answer), "  }"]
    for sent in (Told,):
        lines += [f"  interface {sent.__name__} {{", *fields(sent, answer=True), "  }"]
    return "\n".join([*lines, "}", ""])


def test_types_are_those_of_the_models():
    assert FILE.read_text() == declarations(), f"out of date; run python -m {__name__}"


if __name__ == "__main__":
    FILE.write_text(declarations())
