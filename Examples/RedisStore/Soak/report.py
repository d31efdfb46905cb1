"""Makes a report of what `fleet.py` has recorded: `python report.py FOLDER` reads FOLDER/record.json, and writes a
README.md with four pictures beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

# Equal records make equal files, whose text stays text.
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "fleet",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.2,
        "figure.figsize": (7.6, 3.0),
        "figure.facecolor": "white",
    }
)
WINDOW = 5  # seconds
SHARES = ((0.5, "50 %"), (0.99, "99 %"), (0.999, "99.9 %"))


def percentile(values: list[int], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    # matplotlib ends lines with blanks.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    plt.close(figure)


def draw_usage(record: dict[str, Any], place: int, label: str, divisor: int, path: Path) -> None:
    figure, axes = plt.subplots()
    for number, samples in sorted(record["usage"].items(), key=lambda item: int(item[0])):
        times = [sample[0] for sample in samples]
        # Not a number where the process was away: a gap.
        values = [float("nan") if sample[place] is None else sample[place] / divisor for sample in samples]
        axes.plot(times, values, label=number, linewidth=1.6 if int(number) < 2 else 0.8)
    axes.set(xlabel="seconds", ylabel=label, ylim=(0, None), xlim=(0, None))
    axes.legend(title="process", ncols=8, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    save(figure, path)


def windows(bins: dict[str, list[int]]) -> dict[int, list[int]]:
    joined: dict[int, list[int]] = {}
    for second, values in bins.items():
        joined.setdefault(int(second) // WINDOW * WINDOW, []).extend(values)
    return {start: values for start, values in sorted(joined.items()) if values}


def draw_latencies(record: dict[str, Any], path: Path) -> None:
    figure, several = plt.subplots(1, 3, sharey=True)
    for axes, kind in zip(several, ("reads", "writes", "requests"), strict=True):
        joined = windows(record["latencies"][kind])
        for share, label in SHARES:
            # Not less than a microsecond, which a logarithm has to have.
            values = [max(percentile(values, share), 0.001) for values in joined.values()]
            axes.plot(list(joined), values, label=label)
        axes.set(title=kind, xlabel="seconds", yscale="log", xlim=(0, None))
    several[0].set_ylabel("milliseconds")
    figure.legend(*several[0].get_legend_handles_labels(), ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False)
    save(figure, path)


def draw_requests(record: dict[str, Any], path: Path) -> None:
    end = int(record["figures"]["seconds"])
    seconds = list(range(end))
    reads = [len(record["latencies"]["reads"].get(str(second), [])) for second in seconds]
    writes = [len(record["latencies"]["writes"].get(str(second), [])) for second in seconds]
    figure, axes = plt.subplots()
    axes.plot(seconds, [sum(pair) for pair in zip(reads, writes, strict=True)], label="operations of the programs")
    for kind, label in (("query", "queries"), ("mutation", "mutations"), ("sign-in", "sign-ins")):
        axes.plot(
            seconds, [record["origin"].get(str(second), {}).get(kind, 0) for second in seconds], label=f"{label} at the origin"
        )
    axes.set(xlabel="seconds", ylabel="per second", ylim=(0, None), xlim=(0, end))
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    save(figure, path)


def text_of(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {count:,}" for key, count in value.items() if key != "none")
    if value is None:
        return "-"
    return f"{value:,}".removesuffix(".0")


def main() -> None:
    folder = Path(sys.argv[1])
    record = json.loads((folder / "record.json").read_text())
    draw_usage(record, 1, "resident, MiB", 1024, folder / "soak-memory.svg")
    draw_usage(record, 2, "descriptors", 1, folder / "soak-descriptors.svg")
    draw_latencies(record, folder / "soak-latencies.svg")
    draw_requests(record, folder / "soak-requests.svg")
    lines = ["# A fleet under load", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {text_of(value)} |" for name, value in record["figures"].items()]
    lines += ["", "| milliseconds | 50 % | 99 % | 99.9 % | longest |", "|---|---|---|---|---|"]
    for kind, bins in record["latencies"].items():
        if values := [value for second in bins.values() for value in second]:
            cells = [f"{percentile(values, share):.3g}" for share in (0.5, 0.99, 0.999)]
            lines.append(f"| {kind} | {' | '.join(cells)} | {max(values) / 1000:,.0f} |")
    lines += ["", "| | |", "|---|---|"]
    lines += [f"| {'ok' if is_true else '**failed**'} | {what} |" for what, is_true in record["checks"]]
    for name, title in (
        ("memory", "Memory of each process"),
        ("descriptors", "Descriptors of each process"),
        ("latencies", f"Latencies, in windows of {WINDOW} seconds"),
        ("requests", "Operations, and what the origin saw of them"),
    ):
        lines += ["", f"## {title}", "", f"![{title}](soak-{name}.svg)"]
    lines += ["", "## Failures that the programs have seen", "", "| | |", "|---|---|"]
    lines += [
        f"| {what.replace('|', '/')} | {count:,} |"
        for what, count in sorted(record["failures"].items(), key=lambda item: -item[1])[:30]
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n")
    print(folder / "README.md")


if __name__ == "__main__":
    main()
