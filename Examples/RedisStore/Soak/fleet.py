"""Keeps a fleet of eight processes under load, amid troubles, and says whether all was as it has to be.

`Scripts/soak --fleet` runs it. Each process has the accounts' notes in stores over one Redis, and sends requests by HTTP/2,
through a relay that harms connections, to nginx, behind which half of the requests pass a proxy that spoils some. All but
two of the processes are ended and started again in turn, every other time with SIGKILL.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from processes import HERE, Gateway, Member, Redis, Service
from record import Record

MEMBERS = 8
# Never restarted, so that what grows in them is seen.
LASTING = 2
ACCOUNTS = [f"a{number}" for number in range(6)]
# What a member has to show of each account.
SHOWN = [f"n{number} {how}" for number in range(8) for how in ("read", "record")] + [
    f"{what} by a watcher" for what in ("n0 polled", "n1 watched", "n2 record")
]
# What a member may take to end, when asked to: an operation may take 12 seconds.
END_LIMIT = 20
# How long after the last write all have to show the same.
SETTLE_LIMIT = 20
# In KiB.
MEMORY_GROWTH = 8 << 10
MEMORY_LIMIT = 256 << 10
DESCRIPTOR_GROWTH = 16
DESCRIPTOR_LIMIT = 128


def differences(shown: dict[str, str] | None, notes: dict[str, str]) -> list[str]:
    """What a member shows otherwise than the origin, or does not show; notes that the origin does not know are empty."""
    if shown is None:
        return ["nothing"]
    names = [f"{account}/{what}" for account in ACCOUNTS for what in SHOWN]
    wanted = {name: notes.get(name.split()[0], "") for name in names}
    return [
        f"{what}: {repr(shown[what]) if what in shown else 'nothing'} instead of {value!r}"
        for what, value in wanted.items()
        if shown.get(what) != value
    ]


class Fleet:
    """The processes, each of which ends with `ends`, from the moment that it is started."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, ends: ExitStack) -> None:
        self.arguments = arguments
        self.folder = folder
        self.random = random.Random(arguments.seed)
        self.record = Record()
        self.is_over = threading.Event()
        log = folder / "errors.log"
        self.origin = Service(log, HERE / "origin.py")
        ends.callback(self.origin.stop)
        peers = HERE.parents[2] / "Tests" / "Soak" / "Peers"
        self.proxy = Service(
            log, peers / "proxy.py", "--upstream", self.origin.port, "--rate", 0.05, "--seed", arguments.seed
        )
        ends.callback(self.proxy.stop)
        self.gateway = Gateway(folder, self.origin.port, self.proxy.port)
        ends.callback(self.gateway.stop)
        self.relay = Service(
            log, peers / "relay.py", "--upstream", self.gateway.port, "--rate", 0.3, "--seed", arguments.seed
        )
        ends.callback(self.relay.stop)
        self.redis = Redis()
        ends.callback(self.redis.stop)
        self.members: list[Member] = []
        ends.callback(lambda: [member.kill() for member in self.members])
        self.starts = 0
        self.threads: list[threading.Thread] = []
        # First, since they start processes, too.
        ends.callback(self.end_troubles)

    def start(self, number: int) -> Member:
        self.starts += 1
        outboxes = self.folder / f"member-{number}"
        outboxes.mkdir(exist_ok=True)
        command = [
            str(Path(self.arguments.built) / "soak-member"),
            *map(str, (number, self.redis.port, self.relay.port, outboxes, self.arguments.pause)),
        ]
        member = Member(number, command, self.folder / "errors.log", self.record.receive)
        if member.wait("ready", 20) is None:
            self.record.violate(f"member {number} does not start")
        return member

    def run(self) -> bool:
        for number in range(MEMBERS):
            self.members.append(self.start(number))
        for trouble in (self.sample, self.restart, self.lock_accounts, self.reload, self.cut_redis):
            self.threads.append(threading.Thread(target=self.keep, args=(trouble,), daemon=True))
            self.threads[-1].start()
        time.sleep(self.arguments.seconds)
        self.end_troubles()
        # What came to the origin by the load, of which the processes say how much they did.
        seconds = self.state()["seconds"]
        settled = self.settle()
        writes = self.state()["writes"]
        for member in self.members:
            if (code := member.terminate(END_LIMIT)) != 0:
                self.record.violate(f"member {member.number} ended with {code}")
        return self.conclude(seconds, writes, settled)

    def end_troubles(self) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def keep(self, trouble: Callable[[], None]) -> None:
        """Run one of the methods that make trouble until the run is over."""
        try:
            trouble()
        except Exception as error:
            self.record.violate(f"{trouble.__name__} failed: {error!r}")

    def state(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.origin.port}/state", timeout=10) as response:
            return json.load(response)

    def sample(self) -> None:
        while not self.is_over.wait(0.5):
            for number, member in enumerate(list(self.members)):
                self.record.sample(number, member.memory(), member.descriptors())

    def restart(self) -> None:
        """End one process after the other, and start it again."""
        turn = 0
        while not self.is_over.wait(self.random.uniform(1, 4)):
            # Each is killed in one round, and asked to end in the next.
            round, place = divmod(turn, MEMBERS - LASTING)
            number = LASTING + place
            member = self.members[number]
            if (turn + round) % 2:
                self.record.note(f"kill {number}")
                if (code := member.kill()) is not None:
                    self.record.violate(f"member {number} ended by itself with {code}")
            else:
                self.record.note(f"end {number}")
                if (code := member.terminate(END_LIMIT)) != 0:
                    self.record.violate(f"member {number} ended with {code}")
            self.members[number] = self.start(number)
            turn += 1

    def lock_accounts(self) -> None:
        """Refuse an account for a while, with status 401."""
        while not self.is_over.wait(self.random.uniform(4, 10)):
            account = self.random.choice(ACCOUNTS)
            self.record.note(f"lock {account}")
            body = json.dumps({"account": account, "seconds": self.random.uniform(0.2, 2)}).encode()
            urllib.request.urlopen(f"http://127.0.0.1:{self.origin.port}/lock", body, timeout=10).close()

    def reload(self) -> None:
        while not self.is_over.wait(self.random.uniform(6, 12)):
            self.record.note("reload the gateway")
            self.gateway.reload()

    def cut_redis(self) -> None:
        """Close the connections of Redis from time to time; in the middle, replace it by an empty one."""
        middle = time.monotonic() + self.arguments.seconds / 2
        is_replaced = False
        while not self.is_over.wait(self.random.uniform(4, 8)):
            if not is_replaced and time.monotonic() > middle:
                is_replaced = True
                self.record.note("replace Redis")
                self.redis.stop()
                self.is_over.wait(1)
                self.redis.start()
            else:
                kind = self.random.choice(("normal", "pubsub"))
                self.record.note(f"cut the connections of Redis ({kind})")
                self.redis.command("CLIENT", "KILL", "TYPE", kind)

    def settle(self) -> float | None:
        """End the load, and wait until all processes show what the origin has; the seconds that it took."""
        # No request is spoiled any more.
        self.gateway.configure(self.origin.port, self.origin.port)
        self.gateway.reload()
        for member in self.members:
            member.send("quiet")
        for member in self.members:
            if member.wait("quiet", 60) is None:
                self.record.violate(f"member {member.number} does not become quiet")
        began = time.monotonic()
        wrong: list[str] = []
        while time.monotonic() - began < SETTLE_LIMIT:
            notes = {name: last for name, (_, last) in self.state()["notes"].items()}
            wrong = []
            # In turn: what all ask for at once, a busy machine does not answer in the time that a request has.
            for member in self.members:
                member.send("show")
                wrong += [f"member {member.number}, {line}" for line in differences(member.wait("show", 30), notes)]
            if not wrong:
                return time.monotonic() - began
            time.sleep(0.1)
        for line in wrong[:20]:
            self.record.violate(f"not the same in the end: {line}")
        return None

    def conclude(self, seconds: dict[str, dict[str, int]], writes: dict[str, int], settled: float | None) -> bool:
        record = self.record
        harmed, spoiled = self.relay.stop(), self.proxy.stop()
        reported = record.done | (record.queued - record.dropped - set(record.refused))
        lost = {write for write in reported if write not in writes}
        reads = sum(count for name, count in record.operations.items() if name.startswith("read"))
        queries = sum(second.get("query", 0) for second in seconds.values())
        received = sum(sum(second.values()) for second in seconds.values())
        growth = {number: record.growth(number) for number in range(LASTING)}
        is_sampled = all(any(sample[1] and sample[2] for sample in record.usage.get(n, [])) for n in range(LASTING))
        largest = {
            place: max((sample[place] or 0 for samples in record.usage.values() for sample in samples), default=0)
            for place in (1, 2)
        }
        kills = sum(event.startswith("kill") for _, event in record.events)
        figures = {
            "seconds": self.arguments.seconds,
            "processes started": self.starts,
            "of which killed with SIGKILL": kills,
            "operations": sum(record.operations.values()),
            "reads": reads,
            "reads that the origin has not seen": max(reads - queries, 0),
            "attempts of requests": record.attempts,
            "requests at the origin": received,
            "writes reported as done": len(record.done),
            "writes kept in outboxes first": len(record.queued),
            "writes that came to the origin again": sum(count > 1 for count in writes.values()),
            "connections harmed": {kind: count for kind, count in sorted(harmed.items())},
            "requests spoiled": {kind: count for kind, count in sorted(spoiled.items())},
            "seconds until all showed the same": None if settled is None else round(settled, 1),
            "largest memory of a process, MiB": round(largest[1] / 1024, 1),
            "most descriptors of a process": largest[2],
        }
        checks = [
            ("no value was shown to another account, nothing hangs, each request ended in time", not record.violations),
            (f"no write that was reported is missing ({len(lost)})", not lost),
            (f"no write was set aside ({len(record.refused)})", not record.refused),
            ("all processes show the same in the end", settled is not None),
            ("half of the reads needed no request", 0 < queries * 2 < reads),
            ("writes were done, and kept in outboxes", bool(record.done) and bool(record.queued)),
            ("processes were ended and killed", kills > 0 and self.starts > MEMBERS + kills),
            ("connections were harmed", len([kind for kind in harmed if kind != "none"]) > 2),
            ("requests were spoiled", len([kind for kind in spoiled if kind != "none"]) > 2),
            ("memory and descriptors were looked at", is_sampled),
            *(
                (f"memory of member {number} is flat ({memory} KiB more)", memory < MEMORY_GROWTH)
                for number, (memory, _) in growth.items()
            ),
            *(
                (f"descriptors of member {number} are flat ({descriptors} more)", descriptors < DESCRIPTOR_GROWTH)
                for number, (_, descriptors) in growth.items()
            ),
            (
                f"accounts that were closed are released ({record.accounts} at most)",
                0 < record.accounts <= 2 * len(ACCOUNTS),
            ),
            (f"no process had more than {MEMORY_LIMIT >> 10} MiB", largest[1] <= MEMORY_LIMIT),
            (f"no process had more than {DESCRIPTOR_LIMIT} descriptors", largest[2] <= DESCRIPTOR_LIMIT),
        ]
        for name, value in figures.items():
            print(f"{name}: {value}")
        print("failures:", dict(record.failures.most_common(20)))
        for what, is_true in checks:
            print("ok    " if is_true else "FAILED", what)
        for write in sorted(lost)[:10]:
            print("missing:", write)
        for write, reason in list(record.refused.items())[:10]:
            print("set aside:", write, reason)
        if self.arguments.report:
            self.arguments.report.mkdir(parents=True, exist_ok=True)
            record.write(
                self.arguments.report / "record.json",
                figures=figures,
                checks=checks,
                origin={int(second) - int(record.began): counts for second, counts in seconds.items()},
            )
        return all(is_true for _, is_true in checks)


def main() -> None:
    parser = argparse.ArgumentParser(description="Keeps a fleet of eight processes under load, amid troubles.")
    parser.add_argument("--built", required=True, help="the folder that has the program soak-member")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=int, default=40, help="milliseconds between two operations of a worker")
    parser.add_argument("--report", type=Path, help="a folder for the record, of which report.py makes a report")
    arguments = parser.parse_args()
    # So that what was started is stopped then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    is_right = False
    try:
        with ExitStack() as ends:
            is_right = Fleet(arguments, folder, ends).run()
    finally:
        if is_right:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"What the processes wrote is in {folder}")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
