"""A recipe of docs/setup/applications: the tests run its commands and read its blocks, so that it says what works."""

import re
import shlex
from pathlib import Path
from urllib.parse import quote

APPLICATIONS = Path(__file__).resolve().parents[3] / "docs" / "setup" / "applications"
# The addresses that recipes speak of.
APPLICATION = "https://app.example.com"
ISSUER = "https://id.example.com"

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Recipe:
    """A page, with its placeholders replaced by what they are in a test."""

    def __init__(self, name: str, values: dict[str, str]):
        self.name = name
        self._values = values
        self._blocks = _BLOCK.findall((APPLICATIONS / f"{name}.md").read_text())

    def block(self, file: str) -> str:
        """The block for a file, which the page names behind the block's language."""
        found = [text for _, named, text in self._blocks if named == file]
        assert len(found) == 1, f"{self.name}.md has {len(found)} blocks for {file}"
        return self.fill(found[0])

    def commands(self) -> list[list[str]]:
        """The lines of shell blocks that call `symbolon`, without that word."""
        blocks = (text for language, _, text in self._blocks if language == "sh")
        lines = (line for text in blocks for line in text.replace("\\\n", " ").splitlines())
        return [shlex.split(self.fill(line))[1:] for line in lines if line.startswith("symbolon ")]

    def fill(self, text: str) -> str:
        """Replaces placeholders, the longest first, also where they stand in a query, or in a query's query."""
        for placeholder in sorted(self._values, key=len, reverse=True):
            value = self._values[placeholder]
            for _ in range(3):
                text = text.replace(placeholder, value)
                placeholder, value = quote(placeholder, safe=""), quote(value, safe="")
        return text


def parts(pasted: str, *markers: str) -> list[str]:
    """Splits what `client create` prints for several files at the comments that name them."""
    found = []
    for marker, following in zip(markers, [*markers[1:], None]):
        rest = pasted.split(marker, 1)
        assert len(rest) == 2, f"{marker} is not in what the preset prints: {pasted}"
        _, _, text = rest[1].partition("\n")
        found.append(text.split(following, 1)[0] if following else text)
    return found
