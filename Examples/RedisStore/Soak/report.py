"""Makes a report of what `fleet.py` has recorded: `python report.py FOLDER` reads FOLDER/record.json, and writes a
README.md with four pictures beside it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

# Equal records make equal files, whose text stays text. The white ground is for dark pages, too.
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "fleet",
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "lines.linewidth": 1.2,
        "figure.figsize": (7.6, 3.0),
        "figure.facecolor": "white",
    }
)
SHARES = ((0.5, "50 %"), (0.99, "99 %"), (0.999, "99.9 %"))


def percentile(values: list[int], share: float) -> float:
    """Milliseconds of microseconds, by the nearest rank."""
    return sorted(values)[math.ceil(len(values) * share) - 1] / 1000


def window(record: dict[str, Any]) -> int:
    """The seconds that a point of a picture stands for: there are sixty points or fewer."""
    return max(math.ceil(record["figures"]["seconds"] / 60), 1)


def joined(seconds: dict[Any, list[Any]], length: int) -> dict[int, list[Any]]:
    """The values of each second, in windows of some seconds."""
    windows: dict[int, list[Any]] = {}
    for second, values in seconds.items():
        windows.setdefault(int(second) // length * length, []).extend(values)
    return {start: values for start, values in sorted(windows.items()) if values}


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}, bbox_inches="tight")
    plt.close(figure)
    # A line for each part, with numbers of one decimal.
    text = re.sub(r"\s+", " ", path.read_text())
    text = re.sub(r"\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}", text)
    path.write_text(text.replace("> <", "><").replace("<g id=", "\n<g id=").strip() + "\n")


def draw_usage(record: dict[str, Any], place: int, label: str, divisor: int, path: Path) -> None:
    figure, axes = plt.subplots()
    for number, samples in sorted(record["usage"].items(), key=lambda item: int(item[0])):
        seconds: dict[int, list[float]] = {}
        for sample in samples:
            # A process that is not there has nothing.
            seconds.setdefault(int(sample[0]), []).append((sample[place] or 0) / divisor)
        windows = joined(seconds, window(record))
        axes.plot(
            list(windows),
            [max(values) for values in windows.values()],
            label=number,
            linewidth=1.6 if int(number) < 2 else 0.8,
        )
    axes.set(xlabel="seconds", ylabel=label, ylim=(0, None), xlim=(0, record["figures"]["seconds"]))
    axes.locator_params("y", integer=True)
    axes.legend(title="process", ncols=8, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    save(figure, path)


def draw_latencies(record: dict[str, Any], path: Path) -> None:
    figure, several = plt.subplots(1, 3, sharey=True)
    for axes, kind in zip(several, ("reads", "writes", "requests"), strict=True):
        windows = joined(record["latencies"][kind], window(record))
        for share, label in SHARES:
            # Not less than a microsecond, which a logarithm has to have.
            values = [max(percentile(values, share), 0.001) for values in windows.values()]
            axes.plot(list(windows), values, label=label)
        axes.set(title=kind, xlabel="seconds", yscale="log", xlim=(0, record["figures"]["seconds"]))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    several[0].set_ylabel("milliseconds")
    handles, labels = several[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False)
    save(figure, path)


def draw_requests(record: dict[str, Any], path: Path) -> None:
    length, end = window(record), int(record["figures"]["seconds"])
    starts = range(0, end - length + 1, length)

    def rates(counts: dict[str, int]) -> list[float]:
        """What there was in a second of each window."""
        return [sum(counts.get(str(start + second), 0) for second in range(length)) / length for start in starts]

    operations: dict[str, int] = {}
    for kind in ("reads", "writes"):
        for second, values in record["latencies"][kind].items():
            operations[second] = operations.get(second, 0) + len(values)
    figure, axes = plt.subplots()
    axes.plot(starts, rates(operations), label="operations of the programs")
    for kind, label in (("query", "queries"), ("mutation", "mutations"), ("sign-in", "sign-ins")):
        counts = {second: counts.get(kind, 0) for second, counts in record["origin"].items()}
        axes.plot(starts, rates(counts), label=f"{label} at the origin")
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
        ("memory", "Memory of each process, the most in each window"),
        ("descriptors", "Descriptors of each process, the most in each window"),
        ("latencies", f"Latencies, in windows of {window(record)} s"),
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
