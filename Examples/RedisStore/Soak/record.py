"""What is recorded of a soaked fleet while it runs."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Record:
    """What the members have said, and what they used; times are seconds since the beginning."""

    began: float = field(default_factory=time.time)
    done: set[str] = field(default_factory=set)
    queued: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    # The most that a process had at once.
    accounts: int = 0
    # By second, in microseconds.
    latencies: dict[str, dict[int, list[int]]] = field(
        default_factory=lambda: {"reads": {}, "writes": {}, "requests": {}}
    )
    # By member: (time, memory in KiB, descriptors).
    usage: dict[int, list[tuple[float, int | None, int | None]]] = field(default_factory=dict)
    events: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> float:
        return time.time() - self.began

    def note(self, event: str) -> None:
        with self.lock:
            self.events.append((round(self.now(), 2), event))

    def violate(self, text: str) -> None:
        print(f"VIOLATION: {text}", flush=True)
        with self.lock:
            self.violations.append(text)

    def receive(self, number: int, event: dict[str, Any]) -> None:
        if "violation" in event:
            self.violate(f"member {number}: {event['violation']}")
        with self.lock:
            if "done" in event:
                self.done.add(event["done"])
            if "queued" in event:
                self.queued.add(event["queued"])
            if "dropped" in event:
                self.dropped.add(event["dropped"])
            if "refused" in event:
                self.refused[event["refused"]] = event["because"]
            if "operations" in event:
                self.operations.update(event["operations"])
                self.failures.update(event["failures"])
                self.attempts += event["attempts"]
                self.accounts = max(self.accounts, event["accounts"])
                second = int(event["time"] - self.began)
                for kind, bins in self.latencies.items():
                    bins.setdefault(second, []).extend(event[kind])

    def sample(self, number: int, memory: int | None, descriptors: int | None) -> None:
        with self.lock:
            self.usage.setdefault(number, []).append((round(self.now(), 2), memory, descriptors))

    def growth(self, number: int) -> tuple[int, int]:
        """What has grown since the first quarter: the medians of the last and the second quarter, in KiB and number."""
        samples = [sample for sample in self.usage.get(number, []) if sample[1] and sample[2]]
        quarter = max(len(samples) // 4, 1)
        first, last = samples[quarter : 2 * quarter] or samples, samples[-quarter:]

        def median(part: list[Any], place: int) -> int:
            values = sorted(sample[place] for sample in part)
            return int(values[len(values) // 2]) if values else 0

        return median(last, 1) - median(first, 1), median(last, 2) - median(first, 2)

    def write(self, path: Path, **others: object) -> None:
        """Write all of it as JSON, for `report.py`."""
        members = {
            "latencies": self.latencies,
            "usage": self.usage,
            "events": self.events,
            "operations": self.operations,
            "failures": self.failures,
            "attempts": self.attempts,
            "began": self.began,
        }
        path.write_text(json.dumps({**members, **others}))
