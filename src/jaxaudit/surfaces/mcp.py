"""The command `mcp`: a server of the Model Context Protocol on standard input and output."""

from __future__ import annotations

import click

from jaxaudit.config import UsageError
from jaxaudit.surfaces.options import refusing


@click.command()
@refusing
def mcp() -> None:
    """Answer the questions of a coding agent about JAX code (Model Context Protocol, on standard input and output)."""
    try:
        import mcp.server  # noqa: F401
    except ImportError as error:
        raise UsageError("`jaxaudit mcp` needs the official SDK: `pip install 'jaxaudit[mcp]'` brings it") from error
    from jaxaudit.surfaces.mcp_server import server

    server().run("stdio")
