"""``surepick lookback``: what would have been said of a test that was run before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from surepick.cli.numbers import Rate, Rewards, in_rates
from surepick.cli.options import DELTA, JSON, argument, from_signature, option
from surepick.cli.studies import say, shown
from surepick.conditions import CONDITIONS
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.problem.noise import NoiseKind
    from surepick.study.traffic.lookback import LookBack


@click.command("lookback", short_help="Website tests: when would a past one have been decided?")
@from_signature
def command(
    past: Path = argument(),
    rewards: str = option("yes-no", "What a visit gives.", Rewards()),
    delta: float = DELTA,
    epsilon: float = option(
        0.0, "Any option this close to the best will do; of rates also as 0.2%.", Rate()
    ),
    control: str | None = option(None, "The option that the leader is compared with."),
    minimise: bool = option(False, "Smaller is better: fewest successes win."),
    as_json: bool = JSON,
) -> None:
    """Say what would have been said of a PAST test, and when it would have been decided.

    PAST is a table (CSV or Parquet) with a row for each period and option: period, label, visits
    and successes (or what surepick record takes with other rewards), periods in their order. With a
    column share, counts are compared with the shares that visitors were sent by.

    Nothing is kept, and nothing is certified: what it rests on is printed with it.
    """
    from surepick.problem.noise import read_rewards
    from surepick.study import look_back
    from surepick.study.spec import kind_of

    noise = read_rewards(rewards)
    epsilon = float(in_rates(epsilon, "epsilon", noise) or 0.0)
    found = look_back(past, rewards, float(delta), epsilon, control, minimise)
    say(as_json, found.to_dict(), "\n".join(_lines(found, kind_of(noise))))


def _lines(found: LookBack, kind: NoiseKind) -> list[str]:
    total, rates, near = len(found.labels), kind.successes, kind.apart(found.epsilon)
    width = max(6, *(len(shown(one.period)) for one in found.periods))
    lines = [
        f"{plural(total, 'option')}, {plural(found.all_periods, 'period')}, "
        f"{plural(found.all_visits, 'visit')}.",
        f"{'period':<{width}}  {'visits':>12}  still in  p-value",
    ]
    for one in found.periods:
        lines.append(
            f"{shown(one.period):<{width}}  {one.visits:>12,}  {one.left:>8}  "
            f"{one.risk:.2g} ({shown(one.leader)} ahead)"
        )
    leader = shown(found.leader)
    by = f" by more than {near}" if found.epsilon else ""
    lines.append(
        f"The p-value tests “another option is better{by}”. If that were true, the p-value would "
        "ever fall this low in at most that share of tests."
    )
    if found.decided:
        best = f"within {near} of the best" if found.within else "best"
        lines.append(
            f"Decided after {shown(found.periods[-1].period)}: {leader} is {best}. That took "
            f"{found.visits:,} of {found.all_visits:,} visits."
        )
    else:
        lines.append(f"Not decided by the end: {leader} is ahead, but others may be better.")
    if found.lift is not None:
        lead, low, high = (f"{100 * x:+.2f}" if rates else f"{x:+.4g}" for x in found.lift)
        unit = " points" if rates else ""
        lines.append(
            f"{leader} is {lead}{unit} from {shown(found.control or '')} (the control); between "
            f"{low} and {high}."
        )
    lines.append("This holds if, in the test as it was run:")
    lines += [f"- {text};" for text in found.conditions[:-1]]
    lines.append(f"- {found.conditions[-1]}.")
    lines.append(CONDITIONS["alone"].meaning)
    lines += [f"Note: {shown(text)}." for text in found.doubts]
    return lines
