"""The report: medians of all rounds, ratios against what is to be reached, text and JSON."""

import statistics

# What the ratios in one run should reach; see docs/benchmarks.md.
GOALS = {"of_floor": 0.75, "cpu_of_floor": 1.5, "peak_mb": 64, "delay_of_mm2": 0.25, "start_s": 2.0,
         "of_mm2": {"none": 8, "lz4": 20, "zstd": 50}}


def median_row(rows):
    """The median of each number over several rows of the same contestant."""
    return {key: round(statistics.median(row[key] for row in rows), 3)
            for key in rows[0] if isinstance(rows[0][key], (int, float))}


def medians(results):
    """results: {contestant: [rows]}; the same with one median row each."""
    return {name: median_row(rows) for name, rows in results.items() if rows}


def judge(report):
    """Fills report["ratios"] with (name, value, goal, reached) for all that was measured."""
    ratios = []

    def add(name, value, goal, at_most=False):
        ratios.append({"name": name, "value": round(value, 3), "goal": goal, "at_most": at_most,
                       "reached": value <= goal if at_most else value >= goal})
    for codec, found in report["catch_up"].items():
        for threads in (1, 2):
            ours, floor = found.get(f"kmirror {threads}"), found.get(f"floor {threads}")
            if not ours or not floor:
                continue
            add(f"{codec}, {threads} thread(s): speed / floor", ours["mb_per_s"] / floor["mb_per_s"],
                GOALS["of_floor"])
            add(f"{codec}, {threads} thread(s): CPU per GB / floor",
                ours["cpu_s_per_gb"] / floor["cpu_s_per_gb"], GOALS["cpu_of_floor"], True)
            add(f"{codec}, {threads} thread(s): peak MiB", ours["peak_mb"], GOALS["peak_mb"], True)
        theirs, best = found.get("mirror maker"), found.get("kmirror 2") or found.get("kmirror 1")
        if theirs and best:
            add(f"{codec}: speed / MirrorMaker 2", best["mb_per_s"] / theirs["mb_per_s"],
                GOALS["of_mm2"].get(codec, 1))
    delay = report.get("delay", {})
    if delay.get("kmirror") and delay.get("mirror maker"):
        for key in ("added_p50_ms", "added_p99_ms"):
            add(f"delay {key} / MirrorMaker 2", delay["kmirror"][key] / delay["mirror maker"][key],
                GOALS["delay_of_mm2"], True)
    if report.get("start"):
        add("start, seconds", report["start"]["seconds"], GOALS["start_s"], True)
    report["ratios"] = ratios


def _table(head, rows):
    rows = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def text(report):
    """The report for people, in Markdown."""
    parts = ["## Machine\n\n" + _table(["what", "value"], report["machine"].items())]
    for codec, found in report["catch_up"].items():
        keys = ("mb_per_s", "cpu_s_per_gb", "peak_mb", "seconds", "startup_s")
        parts.append(f"## Catch-up, {codec}: {report['log_bytes'][codec] / 1e6:.0f} MB of log\n\n" + _table(
            ["who", "log MB/s", "CPU s/GB", "peak MiB", "seconds", "start-up s"],
            [[name] + [row.get(key, "") for key in keys] for name, row in found.items()]))
    if report.get("readers"):
        parts.append("## Only reading\n\n" + _table(["who", "MB/s"], report["readers"].items()))
    if report.get("delay"):
        keys = ("source_p50_ms", "mirror_p50_ms", "added_p50_ms", "added_p99_ms", "missing")
        parts.append("## Delay\n\n" + _table(
            ["who", "source p50 ms", "mirror p50 ms", "added p50 ms", "added p99 ms", "missing"],
            [[name] + [row.get(key, "") for key in keys] for name, row in report["delay"].items()]))
    if report.get("start"):
        parts.append("## Start after a clean stop\n\n" + _table(["what", "value"], report["start"].items()))
    if report["ratios"]:
        parts.append("## Ratios\n\n" + _table(
            ["what", "measured", "to reach", ""],
            [[r["name"], r["value"], ("at most " if r["at_most"] else "at least ") + str(r["goal"]),
              "reached" if r["reached"] else "MISSED"] for r in report["ratios"]]))
    return "\n\n".join(parts) + "\n"
