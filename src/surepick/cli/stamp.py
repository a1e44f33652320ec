"""``surepick stamp``: have an independent authority sign that a file is there now."""

from __future__ import annotations

import json
from pathlib import Path

import click

from surepick.cli.options import JSON, argument, file_option, from_signature, option
from surepick.text import typed

_TYPES = {"content-type": "application/timestamp-query", "accept": "application/timestamp-reply"}
_MOST = 100_000  # bytes of a reply; they have some thousands


@click.command("stamp", short_help="Have a time-stamp authority sign that a file is there now.")
@from_signature
def command(
    file: Path = argument(type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    url: str = option(
        None, "Where the authority takes queries.", flag="--by", required=True, metavar="URL"
    ),
    out: Path | None = file_option(None, "Where its stamp is written.  [default: FILE.tsr]"),
    private: bool = option(False, "The authority is in your own network."),
    as_json: bool = JSON,
) -> None:
    """Have a time-stamp authority (RFC 3161) sign that this file is there now.

    The file is a certificate, an envelope, or a note of the head of a chain. The authority sees its
    SHA-256 only. surepick verify CERTIFICATE --stamped STAMP --authority ROOT.pem checks the stamp,
    without a network; so do other tools. It is about the file byte by byte: keep it as it is.
    """
    from surepick.errors import ServiceError
    from surepick.files import write_whole
    from surepick.run.time_stamp import received, request_for
    from surepick.server.outward import check_url, post

    check_url(url, private)
    content = file.read_bytes()
    request = request_for(content)
    reply = post(url, request.content, _TYPES, private, most=_MOST)
    if reply.status != 200:
        raise ServiceError(f"the time-stamp authority answered {reply.status}, not 200")
    at = received(reply.content, content, request)
    to = file.with_name(file.name + ".tsr") if out is None else out
    write_whole(to, reply.content)
    check = typed("verify", file, "--stamped", to, more="--authority ROOT.pem")
    said = f"Stamped at {at:%Y-%m-%d %H:%M:%S} UTC: {to} (check it with: {check})"
    click.echo(json.dumps({"stamp": str(to), "at": at.isoformat()}) if as_json else said)
