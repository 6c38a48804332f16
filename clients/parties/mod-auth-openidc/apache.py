"""Apache with mod_auth_openidc, as Debian builds both, configured by the recipe."""

import os
import shutil
from pathlib import Path

from driver.case import PartyCase
from driver.process import Process

APACHE = "/usr/sbin/apache2"


class Apache(PartyCase):
    """Starts it."""

    recipe_name = "mod-auth-openidc"

    @classmethod
    def start(cls) -> None:
        pages = cls.folder / "pages"
        (pages / "staff").mkdir(parents=True)
        shutil.copy(Path(__file__).with_name("httpd.conf"), cls.folder)
        for folder in (pages, pages / "staff"):
            (folder / "index.shtml").write_text(cls.page())
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        own = f'Listen 127.0.0.1:{cls.port}\n{user}DocumentRoot "{pages}"\n'
        own += f'<Directory "{pages}">\nOptions +Includes\n</Directory>\n'
        config = cls.client["configuration"] + cls.recipe.block("host.conf")
        assert "OIDCUserInfoRefreshInterval 300" in config
        # Nobody waits for five minutes here.
        config = config.replace("OIDCUserInfoRefreshInterval 300", "OIDCUserInfoRefreshInterval 1")
        (cls.folder / "host.conf").write_text(own + config + cls.besides())
        cls.serve()

    @classmethod
    def page(cls) -> str:
        """The page at `/` and `/staff/`."""
        return Path(__file__).with_name("index.shtml").read_text()

    @classmethod
    def besides(cls) -> str:
        """Directives besides the recipe's."""
        return ""

    @classmethod
    def serve(cls) -> Process:
        """Starts the process."""
        command = [APACHE, "-d", str(cls.folder), "-f", "httpd.conf", "-DFOREGROUND"]
        return cls.run_process(command, f"{cls.url}/")
