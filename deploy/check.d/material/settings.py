"""The names of all settings, from the configuration's schema."""

import json
import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
SCHEMA = REPOSITORY / "docs" / "reference" / "configuration.schema.json"
VARIABLE = re.compile(r"\bSYMBOLON_[A-Z0-9_]+\b")


def _settings(node: dict):
    if "x-env" in node:
        yield node["x-env"], node
    for child in node.get("properties", {}).values():
        yield from _settings(child)


def settings() -> dict[str, dict]:
    """Every setting by the name of its variable."""
    return dict(_settings(json.loads(SCHEMA.read_text())))


def secrets() -> set[str]:
    """The variables whose value is a secret: each may be a file instead."""
    names = set(settings())
    return {name for name in names if f"{name}_FILE" in names}


def unknown(text: str) -> list[str]:
    """The variables named in a text that are no settings."""
    return sorted(set(VARIABLE.findall(text)) - set(settings()))


def seconds(duration: str) -> float:
    """The seconds of a duration such as `20s`, `1m30s` or `60`."""
    if re.fullmatch(r"[0-9.]+", duration):
        return float(duration)
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", duration)
    if "".join(number + unit for number, unit in parts) != duration:
        raise ValueError(f"{duration} is no duration")
    return sum(float(number) * units[unit] for number, unit in parts)


def drain_timeout() -> float:
    """The default of `http.drain_timeout`, in seconds."""
    return seconds(settings()["SYMBOLON_HTTP_DRAIN_TIMEOUT"]["default"])


def release() -> str:
    """The version of the workspace."""
    cargo = (REPOSITORY / "Cargo.toml").read_text()
    return re.search(r'^\[workspace\.package\][^\[]*?^version = "(.*?)"$', cargo, re.M | re.S).group(1)
