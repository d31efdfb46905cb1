"""The processes of a soaked fleet: its members, and what they talk to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Any

HERE = Path(__file__).resolve().parent


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for_port(port: int, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > end:
            raise TimeoutError(f"nothing listens on port {port}")
        time.sleep(0.02)


class Kept:
    """A program that does not mind its input, kept by a shell: once this process has gone, also by SIGKILL, it is ended.

    The shell is in a group of its own, where no terminal and no `timeout` reaches it before what it keeps.
    """

    SCRIPT = """
    last=$1
    shift
    "$@" </dev/null &
    while read -r signal; do kill -s "$signal" $!; done
    kill -s "$last" $!
    { wait $!; } 2>/dev/null
    """

    def __init__(self, last: str, *command: str) -> None:
        path = os.environ.get("PATH", "") + ":/usr/sbin"
        # Else the shell alone would know that there is no such program.
        if not shutil.which(command[0], path=path):
            raise FileNotFoundError(f"{command[0]} is not installed")
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", self.SCRIPT, "sh", last, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PATH": path},
            start_new_session=True,
            text=True,
        )

    def send(self, signal: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(signal + "\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Service:
    """A Python program that prints its port first, and its counts, if it has any, when its input closes."""

    def __init__(self, log: Path, program: Path, *arguments: object) -> None:
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(program), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self.process.stdout
        self.counts: dict[str, int] = {}
        self.port = int(json.loads(self.process.stdout.readline())["port"])

    def stop(self) -> dict[str, int]:
        """End the program, if it has not ended; what it has counted."""
        if self.process.poll() is None:
            try:
                text, _ = self.process.communicate("", timeout=10)
                self.counts = json.loads(text) if text.strip() else {}
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.counts


class Redis:
    """A Redis that keeps nothing on disk: one that is started again is empty."""

    def __init__(self) -> None:
        self.port = free_port()
        self.start()

    def start(self) -> None:
        options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.kept = Kept("KILL", "redis-server", "--port", str(self.port), *options)
        try:
            wait_for_port(self.port)
        except BaseException:
            self.stop()
            raise

    def command(self, *words: str) -> str:
        client = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(client, capture_output=True, text=True, check=False).stdout

    def stop(self) -> None:
        self.kept.stop()


class Gateway:
    """nginx, with HTTP/2 in front and HTTP/1.1 behind."""

    def __init__(self, folder: Path, origin: int, proxy: int) -> None:
        self.port = free_port()
        self.folder = folder
        self.configuration = folder / "nginx.conf"
        self.configure(origin, proxy)
        self.kept = Kept("TERM", "nginx", "-e", str(folder / "nginx.log"), "-c", str(self.configuration))
        try:
            wait_for_port(self.port)
        except BaseException:
            self.stop()
            raise

    def configure(self, origin: int, proxy: int) -> None:
        """Write the configuration for the next start or reload: half of the requests go to each of two ports."""
        template = Template((HERE / "nginx.conf.template").read_text())
        self.configuration.write_text(
            template.safe_substitute(FOLDER=self.folder, PORT=self.port, ORIGIN=origin, PROXY=proxy)
        )

    def reload(self) -> None:
        """Give all connections up with GOAWAY, as for a new configuration."""
        self.kept.send("HUP")

    def stop(self) -> None:
        self.kept.stop()


class Member:
    """One process of the fleet: each line that it writes goes to a closure, with the member's number."""

    def __init__(
        self, number: int, command: list[str], log: Path, receive: Callable[[int, dict[str, Any]], None]
    ) -> None:
        self.number = number
        self.answers: dict[str, Any] = {}
        self.answered = threading.Condition()
        self.is_silent = False
        self.receive = receive
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                # The last line of a process that was killed.
                continue
            with self.answered:
                for name in ("ready", "quiet", "show", "ended"):
                    if name in event:
                        self.answers[name] = event[name]
                self.answered.notify_all()
            self.receive(self.number, event)
        with self.answered:
            self.is_silent = True
            self.answered.notify_all()

    def send(self, command: str) -> None:
        assert self.process.stdin
        with self.answered:
            self.answers.pop(command, None)
        # One that has ended does not answer.
        with suppress(OSError):
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()

    def wait(self, name: str, seconds: float) -> Any:
        """Return what the member has answered, or None if it has not in time, or has ended."""
        with self.answered:
            self.answered.wait_for(lambda: name in self.answers or self.is_silent, seconds)
            return self.answers.get(name)

    def memory(self) -> int | None:
        """What is resident, in KiB."""
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                return next((int(line.split()[1]) for line in status if line.startswith("VmRSS:")), None)
        except OSError:
            return None

    def descriptors(self) -> int | None:
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd")) or None
        except OSError:
            return None

    def terminate(self, seconds: float) -> int | None:
        """Ask the member to end; its exit code, or None if it had to be killed."""
        self.process.terminate()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        self.reader.join()
        return code

    def kill(self) -> int | None:
        """Kill the member; None, or its exit code if it had ended by itself."""
        code = self.process.poll()
        self.process.kill()
        self.process.wait()
        self.reader.join()
        return code
