"""pytest: tests of things that vary, which pass when that is proven.

The fixture ``sure`` is there in every test where surepick is installed. A test that is not decided
within the calls that it is allowed does not pass: "no difference was seen" is no proof.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from surepick.calls.versions import digest_of
from surepick.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from surepick.integrations.comparing import Comparison

try:
    import pytest
except ImportError:
    raise MissingExtraError("the fixture sure needs pytest: install surepick[pytest]") from None

Undecided = Literal["fail", "skip", "xfail"]


class Sure:
    """What a test can demand of something that varies."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request, self._asked = request, 0

    def _file(self) -> Path | None:
        """Where this test, at this place, keeps what it sees: in the cache of pytest, if any."""
        self._asked += 1
        config: Any = self._request.config
        if getattr(config, "cache", None) is None:
            return None
        test = digest_of([self._request.node.nodeid, self._asked])
        name = re.sub(r"[^\w.-]+", "_", self._request.node.name)[:60]
        file = Path(config.cache.mkdir("surepick")) / f"{name}-{test}.jsonl"
        if config.getoption("--sure-anew"):
            file.unlink(missing_ok=True)
        return file

    def not_worse(
        self,
        new: Callable[..., Any],
        old: Callable[..., Any],
        *,
        epsilon: float,
        max_calls: int | None = None,
        items: Sequence[Any] | None = None,
        delta: float = 0.05,
        noise: Any = None,
        warm_up: int | None = None,
        seed: Any = None,
        minimise: bool = False,
        workers: int | None = None,
        per_minute: float | None = None,
        timeout: float | None = None,
        retries: int = 2,
        undecided: Undecided = "fail",
    ) -> Comparison:
        """The test passes if ``new`` is proven not to be worse than ``old`` by more than epsilon.

        See :func:`surepick.integrations.comparing.compare`: the two are called in random order,
        after ``warm_up`` calls of each that do not count. With ``minimise`` smaller is better, as
        with times. They may be coroutine functions, and with ``items`` both are called with the
        same ones. ``undecided`` says what becomes of a test that is not decided after
        ``max_calls``: it fails, is skipped, or fails as expected. Where one of the two raises an
        error that does not pass, the test fails, and says which and what was seen before.

        A test that did not pass goes on with what it saw when it is run again, from pytest's cache,
        as long as both variants and all settings are the same: begun anew until it passes, it would
        be a lottery. ``pytest --sure-anew`` begins anew.
        """
        __tracebackhide__ = True
        from surepick.integrations.comparing import compare

        outcomes: dict[str, Callable[[str], NoReturn]] = {
            "fail": lambda text: pytest.fail(text, pytrace=False),
            "skip": pytest.skip,
            "xfail": pytest.xfail,
        }
        if undecided not in outcomes:
            raise InvalidInputError(
                f"undecided must be one of {', '.join(outcomes)}; got {undecided!r:.80}"
            )
        found = compare(
            *(new, old),
            epsilon=epsilon,
            max_calls=max_calls,
            items=items,
            delta=delta,
            noise=noise,
            warm_up=warm_up,
            seed=seed,
            minimise=minimise,
            workers=workers,
            per_minute=per_minute,
            timeout=timeout,
            retries=retries,
            cache=(file := self._file()),
        )
        if file is not None and found.verdict == "not worse":
            file.unlink(missing_ok=True)
        self._request.node.user_properties.append(("surepick", str(found)))
        if found.verdict == "worse" or found.error:
            pytest.fail(str(found), pytrace=False)
        if found.verdict == "undecided":
            outcomes[undecided](str(found))
        return found


def pytest_addoption(parser: pytest.Parser) -> None:
    """Have tests that did not pass begin anew."""
    parser.getgroup("surepick").addoption(
        "--sure-anew",
        action="store_true",
        help="have tests with the fixture sure that did not pass begin anew, instead of going on "
        "with what they saw before",
    )


@pytest.fixture
def sure(request: pytest.FixtureRequest) -> Sure:
    """Demands on things that vary, with a proof: ``sure.not_worse(new, old, …)``."""
    return Sure(request)
