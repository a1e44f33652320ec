"""How much longer a run will take, as far as that can be said."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

FORECAST_SECONDS = 4.0  #: of processor time that a forecast takes at most
PERIODS = "periods like the last ones"  #: the unit of forecasts of a study of traffic


@dataclass(frozen=True)
class Ahead:
    """How many more measurements, or periods of traffic; None where that cannot be said."""

    low: int | None  #: eight of ten copies take at least so many …
    middle: int | None  #: half of them take more
    high: int | None  #: … and at most so many
    simulated: int  #: copies
    why: str = ""  #: why nothing can be said
    unit: str = "measurements"
    slow: bool = (
        False  #: too few copies were done in time; with more of it, there may be a forecast
    )

    @property
    def text(self) -> str:
        """In words.

        Examples
        --------
        >>> Ahead(118, 311, 902, 40).text
        'Probably 120 to 900 more measurements; the middle estimate is 310'
        >>> Ahead(3, 4, 7, 40, unit=PERIODS).text
        'Probably 3 to 7 more periods like the last ones; the middle estimate is 4'
        >>> Ahead(None, None, None, 0, "nothing was measured yet").text
        'It is not known how many more measurements: nothing was measured yet'
        """
        unit = self.unit.replace("periods", "period", 1) if self.high == 1 else self.unit
        if self.low is None:
            return f"It is not known how many more {unit}: {self.why}"
        if self.high is None:
            least = f"Probably at least {rough(self.low)} more {unit}"
            return f"{least}; it is too early to say how many at most"
        if self.low == self.high:  # all copies took the same: that is no more than a forecast
            return (
                f"Probably about {rough(self.low)} more {unit}" if self.low else f"No more {unit}"
            )
        half = "" if self.middle is None else f"; the middle estimate is {rough(self.middle)}"
        return f"Probably {rough(self.low)} to {rough(self.high)} more {unit}{half}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"text": self.text}

    def less(self, told: int) -> Ahead:
        """The forecast once ``told`` more rewards of an incomplete batch have arrived.

        As it has not stopped, at least one is left.
        """
        low, middle, high = (
            None if n is None else max(n - told, least)
            for n, least in ((self.low, 0), (self.middle, 0), (self.high, 1))
        )
        return replace(self, low=low, middle=middle, high=high)


def rough(count: float) -> str:
    """Two digits: it is a forecast.

    Examples
    --------
    >>> rough(1234), rough(7)
    ('1,200', '7')
    """
    return f"{float(f'{count:.2g}'):,.0f}"
