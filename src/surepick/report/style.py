"""One look for every picture: colour-blind safe, readable when printed small."""

from __future__ import annotations

# Okabe and Ito's palette, which people with any common colour vision can tell apart; markers and
# dashes say the same again for print in black and white.
LOOKS: dict[str, tuple[str, str, str, str]] = {
    # registry name: (label, colour, marker, line)
    "peleg-paper": ("PELEG (printed)", "#0072B2", "o", "-"),
    "peleg-adahedge": ("PELEG (AdaHedge)", "#332288", "p", "-"),
    "rage": ("RAGE", "#D55E00", "s", "-"),
    "lingape": ("LinGapE", "#009E73", "^", "-"),
    "xy-static": ("XY-static", "#CC79A7", "v", "--"),
    "xy-adaptive": ("XY-adaptive", "#CC79A7", "<", "-"),
    "xy-oracle": ("XY-oracle", "#7F7F7F", "P", "--"),
    "alba": ("ALBA", "#E69F00", "D", "--"),
    "lucb": ("LUCB", "#56B4E9", "X", "--"),
    "peleg": ("PELEG (tight)", "#0072B2", "*", ":"),
    "pooled-peleg": ("PooledPeleg", "#000000", "h", "-"),
}
_SPARE = ("#999933", "#882255", "#44AA99", "#117733", "#AA4499")


def look(name: str) -> tuple[str, str, str, str]:
    """Label, colour, marker and line of an algorithm."""
    plain, _, level = name.partition(":constants=")
    if plain in LOOKS and (not level or level.isalpha()):
        label, colour, marker, line = LOOKS[plain]
        return f"{label} ({level})" if level else label, colour, marker, line
    spare = _SPARE[sum(name.encode()) % len(_SPARE)]
    return name, spare, "d", "-."
