"""The recipe's Express application."""

from pathlib import Path

from driver.case import PartyCase


class OpenidClient(PartyCase):
    """Starts it."""

    recipe_name = "openid-client"

    @classmethod
    def start(cls) -> None:
        (cls.folder / "node_modules").symlink_to(Path(__file__).parent / "node_modules")
        (cls.folder / "package.json").write_text('{"type": "module"}')
        environment = cls.recipe.block(".env").replace("SECRET_OF_THE_CLIENT", cls.client["client_secret"])
        (cls.folder / ".env").write_text(environment)
        (cls.folder / "app.js").write_text(cls.recipe.block("app.js"))
        own = {"PORT": str(cls.port), "NODE_ENV": "production"}
        cls.run_process(["node", "--env-file=.env", "app.js"], f"{cls.url}/", own)
