"""``surepick serve`` and ``surepick mcp``: studies over HTTP with a page, and for agents."""

from __future__ import annotations

from typing import Any

import click

from surepick.cli.studies import at_server, server_options, storage_option
from surepick.errors import MissingExtraError


@click.command("serve", short_help="Serve studies to remote workers, with a page to watch them.")
@storage_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8421, show_default=True, help="Port to listen on.")
@click.option("--tls-cert", default=None, help="File with the certificate, for HTTPS.")
@click.option("--tls-key", default=None, help="File with its key.")
@click.option("--workers", default=1, show_default=True, help="Processes.")
@click.option(
    "--proxy",
    multiple=True,
    help="Address of a trusted proxy in front (for X-Forwarded-For and -Proto). Repeatable.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    help="Name under which clients reach the service; requests for others are refused. Repeatable.",
)
@click.option(
    "--pictures-from",
    multiple=True,
    help="Site whose pictures judges see on the page, such as https://pictures.example; those of "
    "other sites are links. Repeatable.",
)
@click.option("--plain-http", is_flag=True, help="Other machines may send tokens unencrypted.")
@click.option("--max-body", default=16 * 2**20, show_default=True, help="Bytes in a request.")
@click.option(
    "--max-connections", default=512, show_default=True, help="Connections per address and process."
)
@click.option(
    "--rate",
    default=1000.0,
    show_default=True,
    help="Asks and tells per second for each token and process; other requests get a fiftieth of "
    "that.",
)
@click.option(
    "--stranger-rate",
    default=5.0,
    show_default=True,
    help="Requests per second and address without a valid token.",
)
@click.option(
    "--threads", default=8, show_default=True, help="Connections to the database, per process."
)
@click.option(
    "--helpers",
    default=2,
    show_default=True,
    help="Processes for exports, new studies and other long tasks, per process.",
)
@click.option(
    "--task-seconds", default=300.0, show_default=True, help="Longest time for such a task."
)
@click.option(
    "--max-lease",
    default=3600.0,
    show_default=True,
    help="Seconds for which a worker may keep a pull.",
)
@click.option(
    "--plan-seconds", default=120.0, show_default=True, help="Longest time for a forecast."
)
@click.option(
    "--metrics-open", is_flag=True, help="Show /metrics to anybody; else it needs a token."
)
@click.option(
    "--notices",
    default=30.0,
    show_default=True,
    help="Seconds between two looks at what is to be sent to webhooks (surepick notify); 0: "
    "nothing is sent.",
)
@click.option(
    "--signing-key",
    default=None,
    help="File with the key that signs certificates; created if missing. By default beside an "
    "SQLite database, otherwise in your data folder. All processes that serve one database "
    "must share one key.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Requests are logged at info.",
)
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
@click.option(
    "--allow-writes",
    is_flag=True,
    help="Let agents create studies, ask and tell; without it they can only look.",
)
def mcp_command(storage: str, allow_writes: bool) -> None:
    """Serve studies to an agent by the Model Context Protocol, over standard input and output.

    Agents start it themselves: name it as a command in their settings. Tools: list_studies,
    read_status, read_answer, verify; with --allow-writes also create_study, ask and tell. Needs
    the extra mcp.
    """
    from surepick.agents import Place, mcp_server

    mcp_server(Place(storage, at_server()), allow_writes).run("stdio")
