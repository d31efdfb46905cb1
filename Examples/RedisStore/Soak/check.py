"""Checks that `fleet.py` finds processes that do wrong, leaves none behind, and is not started with wrong options.

Run it with `python check.py`: it prints one line for each check, and exits with 1 if one fails. In place of soak-member
stand programs that make no load. Needs redis-server and nginx, as a fleet does.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Answers each command well, but for what MANNERS says.
MEMBER = """#!{python}
import json, os, signal, sys, threading
number, manners = sys.argv[1], os.environ["MANNERS"]
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print(json.dumps({{"ready": True}}), flush=True)
first = sys.argv[4] + "/has-crashed"
if manners == "crash" and number == "3" and not os.path.exists(first):
    open(first, "w").close()
    os.abort()
notes = [f"a{{a}}/n{{n}}" for a in range(6) for n in range(8)]
shown = {{f"{{note}} {{how}}": "" for note in notes for how in ("read", "record")}}
for a in range(6):
    shown |= {{f"a{{a}}/{{what}} by a watcher": "" for what in ("n0 polled", "n1 watched", "n2 record")}}
if manners == "mute" and number == "0":
    shown = {{note: "" for note in shown if note != "a1/n1 watched by a watcher"}}
for line in sys.stdin:
    word = line.strip()
    print(json.dumps({{word: shown if word == "show" else True}}), flush=True)
"""


class Run:
    """A fleet of programs of certain manners, which run in a folder, by which they are found."""

    def __init__(self, folder: Path, manners: str, seconds: int, path: str = os.environ.get("PATH", "")) -> None:
        self.folder = folder
        member = folder / "soak-member"
        member.write_text(MEMBER.format(python=sys.executable))
        member.chmod(0o755)
        self.output = folder / "output"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "fleet.py"), "--built", str(folder), "--seconds", str(seconds)],
                cwd=folder,
                env={**os.environ, "PATH": path, "TMPDIR": str(folder), "MANNERS": manners},
                stdout=output,
                stderr=output,
            )

    def wait_for(self, *programs: str) -> None:
        """Wait until these programs run."""
        end = time.monotonic() + 30
        while not all(any(program in command for command in processes(self.folder).values()) for program in programs):
            assert time.monotonic() < end, f"not all of {programs} run"
            time.sleep(0.05)

    def ended(self) -> str:
        """What the fleet has printed, once it has ended, and all that it had started has."""
        self.process.wait(120)
        end = time.monotonic() + 10
        while left := processes(self.folder):
            assert time.monotonic() < end, f"left behind: {left}"
            time.sleep(0.05)
        return self.output.read_text()


def processes(folder: Path) -> dict[int, str]:
    """The commands of all processes that run in a folder, by their ids."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return found


def finds_a_process_that_ends_by_itself(folder: Path) -> None:
    run = Run(folder, "crash", seconds=10)
    text = run.ended()
    assert "VIOLATION: member 3 ended by itself" in text, text
    assert "VIOLATION: not the same in the end" not in text, text
    assert run.process.returncode == 1, text


def finds_what_a_process_does_not_show(folder: Path) -> None:
    run = Run(folder, "mute", seconds=2)
    text = run.ended()
    line = "VIOLATION: not the same in the end: member 0, a1/n1 watched by a watcher: nothing"
    assert line in text, text
    assert text.count("VIOLATION: not the same in the end") == 1, text
    assert run.process.returncode == 1, text


def leaves_nothing_behind_without_redis(folder: Path) -> None:
    tools = folder / "tools"
    tools.mkdir()
    for name in ("nginx", "sh", "env"):
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
        assert path, f"{name} is missing"
        (tools / name).symlink_to(path)
    run = Run(folder, "good", seconds=60, path=str(tools))
    text = run.ended()
    assert "redis-server" in text, text
    assert run.process.returncode == 1, text


def leaves_nothing_behind_at(number: signal.Signals) -> Callable[[Path], None]:
    def check(folder: Path) -> None:
        run = Run(folder, "good", seconds=60)
        run.wait_for("nginx: worker", "redis-server", "soak-member 7")
        run.process.send_signal(number)
        run.ended()

    check.__name__ = f"leaves nothing behind at {number.name}"
    return check


def refuses_what_is_wrong(folder: Path) -> None:
    script = str(HERE.parents[2] / "Scripts" / "soak")
    for option, value in (
        *(("--seconds", value) for value in ("abc", "0", "-5", "1e9", "")),
        ("--seed", "x"),
        ("--built", str(folder)),
    ):
        for kind in ([], ["--fleet"]):
            end = subprocess.run([script, *kind, option, value], capture_output=True, text=True, timeout=30)
            assert end.returncode == 64, (option, value, end)
            assert end.stderr.startswith("Scripts/soak: ") and end.stderr.count("\n") == 1, (option, value, end)


CHECKS: list[Callable[[Path], None]] = [
    refuses_what_is_wrong,
    finds_a_process_that_ends_by_itself,
    finds_what_a_process_does_not_show,
    leaves_nothing_behind_without_redis,
    *map(leaves_nothing_behind_at, (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)),
]


def passes(check: Callable[[Path], None]) -> bool:
    name = check.__name__.replace("_", " ")
    with tempfile.TemporaryDirectory(prefix="fleet-check-") as folder:
        try:
            check(Path(folder).resolve())
        except Exception:
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
            return False
        finally:
            for number in processes(Path(folder).resolve()):
                with suppress(OSError):
                    os.kill(number, signal.SIGKILL)
    print(f"ok     {name}", flush=True)
    return True


def main() -> None:
    # Most of the time, they wait.
    with ThreadPoolExecutor(3) as pool:
        sys.exit(0 if all(list(pool.map(passes, CHECKS))) else 1)


if __name__ == "__main__":
    main()
