"""What the suite's own browser does at the provider's pages, as the suite's configuration has it."""
import json


def steps(file):
    """`browser` and `override` of a plan's configuration, in which each task has taken the place of its name."""
    told = json.loads(file.read_text())

    def written_out(entries):
        tasks = told["tasks"]
        return [{**entry, "tasks": [{"task": name, **tasks[name]} for name in entry["tasks"]]} for entry in entries]

    return {
        "browser": written_out(told["browser"]),
        "override": {module: {"browser": written_out(entries)} for module, entries in told["override"].items()},
    }
