"""``surepick serve`` and ``surepick mcp``: studies over HTTP with a page, and for agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints

import click

from surepick.cli.options import from_signature, option
from surepick.cli.studies import place_of, server_options, storage_option
from surepick.errors import MissingExtraError


def _settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each setting of the service that has one."""
    from surepick.server.settings import Settings

    kinds = get_type_hints(Settings)
    for one in reversed(fields(Settings)):
        if one.metadata:
            command = option(one.default, **one.metadata).made(one.name, kinds[one.name])(command)
    return command


@click.command("serve", short_help="Serve studies to remote workers, with a page to watch them.")
@storage_option
@_settings
@click.option("--new-admin-token", is_flag=True, help="Create and show another admin token.")
def command(new_admin_token: bool, **options: Any) -> None:
    """Serve the studies of a storage to remote workers, and a page to watch them.

    Only this machine can reach it, unless --host says otherwise. Everything needs a token. At the
    first start an admin token is made and shown, once; it makes the others (POST /api/v1/tokens,
    or on the page). Several of these may serve one PostgreSQL database.
    """
    from surepick.server.main import serve, show_admin_token
    from surepick.server.settings import Settings

    _need_server()
    settings = Settings(**options)
    show_admin_token(
        settings,
        lambda made: click.echo(f"Admin token (shown only now; keep it safe): {made}"),
        new_admin_token,
    )
    scheme = "https" if settings.tls_cert else "http"
    click.echo(f"Serving {_address(scheme, settings)}")
    serve(settings)


def _address(scheme: str, settings: Any) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"


def _need_server() -> None:
    """Make sure that FastAPI, uvicorn and the metrics are there."""
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the service needs FastAPI and uvicorn: pip install 'surepick[server]'"
        ) from None


@click.command("mcp", short_help="Let an agent read studies or, if allowed, take part (MCP).")
@storage_option
@server_options
@from_signature
def mcp_command(
    storage: str,
    allow_writes: bool = option(
        False, "Let agents create studies, ask and tell; without it they can only look."
    ),
) -> None:
    """Serve studies to an agent by the Model Context Protocol, over standard input and output.

    Agents start it themselves: name it as a command in their settings. Tools: list_studies,
    read_status, read_answer, verify; with --allow-writes also create_study, ask and tell. Needs
    the extra mcp.
    """
    from surepick.agents import mcp_server

    mcp_server(place_of(storage), allow_writes).run("stdio")
