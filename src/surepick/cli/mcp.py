"""``surepick mcp``: studies for agents."""

from __future__ import annotations

import click

from surepick.cli.studies import at_server, server_options, storage_option


@click.command("mcp", short_help="Let an agent read studies or, if allowed, take part (MCP).")
@storage_option
@server_options
@click.option(
    "--allow-writes",
    is_flag=True,
    help="Let agents create studies, ask and tell; without it they can only look.",
)
def command(storage: str, allow_writes: bool) -> None:
    """Serve studies to an agent by the Model Context Protocol, over standard input and output.

    Agents start it themselves: name it as a command in their settings. Tools: list_studies,
    read_status, read_answer, verify; with --allow-writes also create_study, ask and tell. Needs
    the extra mcp.
    """
    from surepick.agents import Place, mcp_server

    mcp_server(Place(storage, at_server()), allow_writes).run("stdio")
