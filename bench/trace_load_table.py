"""Shows the figures of bench/trace_load.py beside the goals, as a table of 80 columns."""

import textwrap

GROUPS = (
    ("redline", "Redline"),
    ("limit", "the limits of this machine"),
    ("peer", "other tools"),
)

MEMORY = "memory: the peak without mapped files; of .gz and .zst with the inflated text"


def ratio(results, over, under):
    """seconds of `over` / seconds of `under`; None if one of them was not measured."""
    if over not in results or under not in results:
        return None
    return results[over]["seconds"] / results[under]["seconds"]


def report_ratio(results):
    """How many times as long as a load it takes to load and run all analyses."""
    if "report" not in results:
        return None
    load = min(results["load"]["seconds"], results["report"]["load_seconds"])
    return (load + results["report"]["seconds"]) / load


def goals(results):
    """The goals of the project. `measured` is None if a peer is missing, and `goal` is None if a ratio has no goal."""
    load = results["load"]
    rows = (
        ("against HolisticTraceAnalysis", ratio(results, "hta", "peer_redline"), 80, "x", True),
        ("against Perfetto's web engine", ratio(results, "perfetto", "peer_redline"), 15, "x", True),
        ("against nlohmann/json", ratio(results, "nlohmann", "peer_redline"), None, "x", True),
        ("against Python's json", ratio(results, "json", "peer_redline"), None, "x", True),
        ("share of simdjson's bare pass", ratio(results, "bare", "load"), 0.5, "", True),
        (".gz / inflating, nothing kept", ratio(results, "load_gz", "inflate_gz"), 1.3, "x", False),
        (".gz / inflating, text kept", ratio(results, "load_gz", "inflate_kept_gz"), None, "x", False),
        (".zst / inflating, nothing kept", ratio(results, "load_zst", "inflate_zst"), None, "x",
         False),
        ("memory besides the text", load["memory_bytes"] / load["events"], 64, "B/event", False),
        ("load again", results["reopen"]["seconds"] if "reopen" in results else None, 0.2, "s", False),
        ("load and report / load", report_ratio(results), 1.5, "x", False),
    )
    return [
        {"name": name, "measured": measured, "unit": unit, "goal": goal, "at_least": at_least,
         "met": None if measured is None or goal is None else
         (measured >= goal if at_least else measured <= goal)}
        for name, measured, goal, unit, at_least in rows
    ]


def file_line(result):
    events = f", {result['events']:,} events" if result["events"] else ""
    return f"{result['text_bytes'] / 1e6:,.0f} MB of text{events}"


def result_lines(run):
    results = run["results"].values()
    yield f"{'':30}{'seconds':>10}{'MB/s':>10}{'M events/s':>13}{'memory MB':>12}"
    for group, title in GROUPS:
        rows = [result for result in results if result["group"] == group]
        if not rows:
            continue
        yield f"{title} ({file_line(rows[0])})"
        for row in rows:
            million = row["events_per_s"] / 1e6 if row["events_per_s"] else None
            yield (f"  {row['title']:28}{row['seconds']:>10.3f}{row['bytes_per_s'] / 1e6:>10,.0f}"
                   f"{'-' if million is None else format(million, '.2f'):>13}"
                   f"{row['memory_bytes'] / 1e6:>12,.0f}")


def goal_lines(run):
    yield f"{'':34}{'measured':>18}{'goal':>20}"
    for row in run["goals"]:
        if row["measured"] is None:
            continue
        # Shares are shown in percent.
        scale, unit = (1, row["unit"]) if row["unit"] else (100, "%")
        goal = ""
        if row["goal"] is not None:
            goal = f"{'>=' if row['at_least'] else '<='} {row['goal'] * scale:g} {unit}"
        met = {True: "met", False: "missed", None: ""}[row["met"]]
        line = f"{row['name']:34}{row['measured'] * scale:>10.2f} {unit:7}{goal:>20}  {met}"
        yield line.rstrip()


def table(run):
    about = (f"{run['trace']}, repeated; best round of {run['rounds']}\n"
             f"{run['date']}, {run['cores']} cores, load average before {run['load_average']:.1f}")
    missing = [f"left out: {row['title']}: {row['reason']}" for row in run["missing"]]
    notes = [line for note in [*run["differences"], *missing] for line in
             textwrap.wrap(note, 80, subsequent_indent="  ")]
    return "\n".join([about, "", *result_lines(run), MEMORY, "", *goal_lines(run), *notes])
