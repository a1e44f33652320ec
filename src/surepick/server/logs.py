"""Logs as lines of JSON. Tokens, cookies, bodies and query strings are never logged."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

requests = logging.getLogger("surepick.requests")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; what is given as ``extra={"fields": …}`` is beside it."""

    def format(self, record: logging.LogRecord) -> str:
        made = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        content: dict[str, Any] = {
            "time": f"{made}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        content |= getattr(record, "fields", {})
        if record.exc_info:
            content["trace"] = self.formatException(record.exc_info)
        return json.dumps(content)


def configuration(level: str) -> dict[str, Any]:
    """For :func:`logging.config.dictConfig`: everything to stderr, as JSON."""
    level = level.upper()
    loggers = {
        name: {"level": level, "handlers": ["stderr"], "propagate": False}
        for name in ("surepick", "uvicorn", "uvicorn.error")
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "surepick.server.logs.JsonFormatter"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": loggers,
        "root": {"level": "WARNING", "handlers": ["stderr"]},
    }
