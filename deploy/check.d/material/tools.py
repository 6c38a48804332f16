"""Tools that come from Go's modules; they are built once."""

import json
import os
import subprocess
from pathlib import Path

from .settings import REPOSITORY

HELM = "v3.18.6"
COMPOSE = "github.com/compose-spec/compose-go/v2@v2.9.0"


def folder() -> Path:
    """Where tools are kept: beside what is built."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    path = REPOSITORY / target / "deploy-tools"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _go(*arguments: str, **environment: str) -> str:
    # Outside of any module, and with the compiler that is there.
    settings = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", **environment}
    done = subprocess.run(
        ["go", *arguments], cwd=folder(), env=settings, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def helm() -> str:
    """The path of helm."""
    place = folder() / f"helm-{HELM}"
    if not (place / "helm").exists():
        _go("install", f"helm.sh/helm/v3/cmd/helm@{HELM}", GOBIN=str(place))
    return str(place / "helm")


def compose_schema() -> dict:
    """The JSON schema of the Compose specification, as the library that Docker Compose rests on brings it."""
    module = json.loads(_go("mod", "download", "-json", COMPOSE))
    return json.loads((Path(module["Dir"]) / "schema" / "compose-spec.json").read_text())
