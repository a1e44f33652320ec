"""What the service needs beyond the core, guarded here and nowhere else."""

from __future__ import annotations

from surepick.errors import MissingExtraError


def need_server() -> None:
    """Make sure that FastAPI, uvicorn and the metrics are there."""
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the service needs FastAPI and uvicorn: pip install 'surepick[server]'"
        ) from None
