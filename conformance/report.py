"""The tables of a run: what each plan came to, and what each module that did not simply pass did."""

# How a plan counts its modules. What is none of the first four is a failure: FAILED, INTERRUPTED, STUCK, ERROR, UNKNOWN.
COLUMNS = ["PASSED", "WARNING", "REVIEW", "SKIPPED"]


def reason_for(row, expected):
    """Why a result that is not PASSED is expected; None if it is not."""
    plan, test, _, result = row
    for entry in expected:
        if entry["module"] == test and result in entry["results"] and plan in entry.get("plans", [plan]):
            return entry["reason"]
    return None


def summary(rows):
    """A line for each plan: how many modules had which result."""
    lines = ["| plan | passed | warning | review | skipped | failed |", "|---|---|---|---|---|---|"]
    for plan in dict.fromkeys(row[0] for row in rows):
        results = [row[3] for row in rows if row[0] == plan]
        counts = [results.count(column) for column in COLUMNS]
        lines.append("| " + " | ".join(map(str, [f"`{plan}`", *counts, len(results) - sum(counts)])) + " |")
    return "\n".join(lines)


def report(rows, expected):
    """Prints the tables; returns whether every result is good or expected."""
    print(summary(rows))
    print("\n| plan | module | variant | result | |\n|---|---|---|---|---|")
    is_good = True
    for row in rows:
        reason = "" if row[3] == "PASSED" else reason_for(row, expected)
        is_good &= reason is not None
        print("| " + " | ".join([*row, "not expected" if reason is None else reason]) + " |")
    return is_good
