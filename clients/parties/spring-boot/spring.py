"""Spring Boot, configured by the recipe."""

from pathlib import Path

from driver.case import PartyCase

HERE = Path(__file__).parent
# A short life: less to compile, less memory to manage.
JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]


class Spring(PartyCase):
    """Starts one of the two versions."""

    recipe_name = "spring-boot"
    module = ""

    @classmethod
    def start(cls) -> None:
        source = HERE / "src/main/java/org/example/SecurityConfiguration.java"
        assert cls.recipe.block(source.name) == source.read_text(), f"the recipe shows another {source.name}"
        config = f"{cls.client['configuration']}---\n{cls.recipe.block('application.yaml')}"
        (cls.folder / "application.yaml").write_text(config)
        jar = HERE / cls.module / "target" / f"{cls.module}-1.jar"
        own = [f"--server.port={cls.port}", "--server.address=127.0.0.1"]
        cls.run_process(["java", *JVM, "-jar", str(jar), *own], f"{cls.url}/")
