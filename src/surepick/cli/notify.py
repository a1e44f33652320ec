"""``surepick notify``: who is told when a study is decided, or needs somebody."""

from __future__ import annotations

import datetime

import click

from surepick.cli.options import from_signature, option
from surepick.cli.studies import local_study_options, open_study, say, shown
from surepick.errors import InvalidInputError
from surepick.text import plural, split_list, typed


@click.command(
    "notify", short_help="Be told when a study is decided or stuck, or has spent its budget."
)
@local_study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    to: str | None = option(None, "Send notices to this address.", metavar="URL"),
    kinds: str = option(
        "",
        "Which, separated by commas: decided, withdrawn, stuck, spent, morning.  [default: all "
        "but morning]",
        flag="--on",
    ),
    private: bool = option(False, "With --to: the address is in your own network."),
    remove: str | None = option(None, "Send nothing there any more.", metavar="ID"),
    text: bool = option(False, "Print what there is to tell now, ready for a mail."),
    send: bool = option(False, "Look and send now; surepick serve does so by itself."),
) -> None:
    """Have notices of a study sent to a web address (a webhook); without options, list them.

    A notice is sent once the study is decided, when its promise is withdrawn, when nothing was
    measured for a day, when its budget is spent, and, if asked for, every morning. It is JSON with
    a plain text for chat or mail, signed as the Standard Webhooks say; the secret is shown once,
    when the address is added. What does not arrive is sent again, for two days, with the same
    webhook-id.

    surepick serve sends notices; without a service, let --send run every few minutes. --text prints
    what there is to tell now, a paragraph each, to be sent by other means.
    """
    from surepick.server.webhooks import Webhooks

    if sum((to is not None, remove is not None, send, text)) > 1:
        raise InvalidInputError("give one of --to, --remove, --send and --text")
    study = open_study(name, storage)
    number, hooks = study.desk.record.id, Webhooks(study.storage)
    if to is not None:
        made = hooks.add(number, to, split_list(kinds), private=private)
        content = made.to_dict() | {"secret": made.secret}
        lines = [
            f"Webhook {made.id}: notices of {shown(name)} are sent to {made.to_dict()['to']}",
            f"Secret (shown only now): {made.secret}",
            f"surepick serve sends them; without a service: {typed('notify', name, '--send')}",
        ]
        say(as_json, content, "\n".join(lines))
    elif text:
        told = hooks.to_tell(number, split_list(kinds))
        bodies = [f"{shown(one.subject)}\n{shown(one.text)}" for one in told]
        rows = [{"kind": one.kind, "subject": one.subject, "text": one.text} for one in told]
        say(as_json, {"notices": rows}, "\n\n".join(bodies) or "There is nothing to tell.")
    elif remove is not None:
        hooks.remove(number, remove)
        say(as_json, {"removed": remove}, f"Webhook {remove} is removed.")
    elif send:
        found, arrived = hooks.look(), hooks.send()
        done = f"{plural(found, 'new notice')}; {arrived} arrived."
        say(as_json, {"new": found, "arrived": arrived}, done)
    else:
        there = hooks.of(number)
        rows = [one.to_dict() | {"deliveries": hooks.deliveries(one.id)} for one in there]
        lines = [line for row in rows for line in _lines(row)]
        say(as_json, {"webhooks": rows}, "\n".join(lines) or "Nobody is told of this study.")


def _lines(row: dict) -> list[str]:
    lines = [f"{row['id']}  {row['to']}  on {', '.join(row['on'])}"]
    for one in row["deliveries"]:
        at = datetime.datetime.fromtimestamp(one["created"], datetime.UTC)
        state = "arrived" if one["delivered"] else f"attempt {one['attempts']}: {one['error']}"
        state = "waiting" if not one["attempts"] else state
        lines.append(f"  {at:%Y-%m-%d %H:%M} UTC  {one['type']}  {shown(state)}")
    return lines
