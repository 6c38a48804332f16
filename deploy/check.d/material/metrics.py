"""The metrics that the reference names, and what expressions in PromQL ask of them."""

import re

from material import settings

REFERENCE = settings.REPOSITORY / "docs" / "reference"
METRIC = re.compile(r"\b(?:symbolon|process)_[a-z0-9_]+\b")
LABEL = re.compile(r'(\w+)\s*(=~|=)\s*"([^"]*)"')


def names(file: str) -> set[str]:
    """The metrics of a page of the reference, as they are scraped."""
    found: set[str] = set()
    for name, kind in re.findall(r"^\| `((?:symbolon|process)_[a-z0-9_]+)` \| (\w+) \|", (REFERENCE / file).read_text(), re.M):
        found |= {f"{name}{part}" for part in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return found


def values(file: str) -> set[str]:
    """The values that labels may have, by a page of the reference."""
    events = re.findall(r"^\| `([a-z_.]+)` \|", (REFERENCE / "events.md").read_text(), re.M)
    return {*re.findall(r"`([a-z_0-9.]+)`", (REFERENCE / file).read_text()), *events}


def asked(expression: str) -> list[str]:
    """The metrics that an expression names."""
    return METRIC.findall(re.sub(r'"[^"]*"', "", expression))
