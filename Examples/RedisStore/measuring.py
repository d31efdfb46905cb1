"""What measure and measure-costs share: processes of a fleet, over a Redis of their own, and what is said when one fails."""
import contextlib, os, queue, shutil, signal, socket, subprocess, sys, tempfile, threading, time

# Seconds, until a line or a server comes.
LIMIT = 60


class Failure(Exception):
    """What went wrong, as one line, and the exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class Process:
    """One process of the fleet: the lines that it reads, and those that it writes."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            microseconds, text = line.rstrip("\n").split(" ", 1)
            self.lines.put((int(microseconds), text))
        self.lines.put(None)

    def send(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"a process has ended with {self.process.wait()} before '{line}'") from None

    def wait(self, prefix):
        """The time and the text of the next line that begins with a text. Fails if a read has failed before it."""
        while True:
            try:
                line = self.lines.get(timeout=LIMIT)
            except queue.Empty:
                raise Failure(f"a process has written nothing for {LIMIT} s, while '{prefix}' was expected") from None
            if line is None:
                raise Failure(f"a process has ended with {self.process.wait()}, while '{prefix}' was expected")
            words = line[1].split(" ")
            if words[0] in ("failed", "what?") or (words[0] == "got" and words[2] == "-"):
                raise Failure(f"a process says '{line[1]}', while '{prefix}' was expected")
            if line[1].startswith(prefix):
                return line


class Fleet:
    """Processes that share a Redis and an origin. Nothing of them stays after `with`."""

    def __init__(self, program):
        self.program = program
        self.processes = []

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            self.origin = os.path.join(folder, "origin")
            open(self.origin, "w").close()
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                self.port = listener.getsockname()[1]
            self.server = subprocess.Popen(
                ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", folder, "--save", "",
                 "--appendonly", "no"], stdout=subprocess.DEVNULL)
            stack.callback(self.end)
            deadline = time.monotonic() + LIMIT
            while "PONG" not in self.try_redis("PING").stdout:
                if self.server.poll() is not None or time.monotonic() > deadline:
                    raise Failure(f"redis-server does not respond on port {self.port}; its exit code: {self.server.poll()}")
                time.sleep(0.05)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def end(self):
        for program in [*(process.process for process in self.processes), self.server]:
            program.kill()
            program.wait()

    def start(self, count, delay, lifetime):
        """Starts processes whose origin takes a while, and whose values are fresh for a while, in milliseconds."""
        started = [Process(self.program, self.port, self.origin, delay, lifetime) for _ in range(count)]
        self.processes += started
        for process in started:
            process.wait("ready")
        return started

    def read_for(self, seconds, key):
        """Lets all processes read a key for a while, and returns how long that took, and the requests of the origin."""
        before, began, rounds = os.path.getsize(self.origin), time.monotonic(), 0
        while time.monotonic() - began < seconds:
            for process in self.processes:
                process.send(f"get {key}")
            rounds += 1
            time.sleep(0.01)
        elapsed = time.monotonic() - began
        for process in self.processes:
            for _ in range(rounds):
                process.wait(f"got {key} ")
        self.check_redis()
        requests = os.path.getsize(self.origin) - before
        if requests == 0:
            raise Failure(f"no process has asked the origin for {key} in {elapsed:.1f} s")
        return elapsed, requests

    def check_redis(self):
        """Fails if Redis has ended: the processes read without it."""
        if self.server.poll() is not None:
            raise Failure(f"redis-server has ended with {self.server.returncode}")

    def try_redis(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True)

    def redis(self, *words):
        """What Redis responds to a command."""
        response = self.try_redis(*words)
        if response.returncode or response.stdout.startswith(("ERR", "(error)")):
            raise Failure(f"Redis says '{(response.stdout + response.stderr).strip()}' to {' '.join(words)}")
        return response.stdout


def run(name, measure):
    """Measures with the program that the argument names. What goes wrong is said in one line."""
    program = sys.argv[1] if len(sys.argv) > 1 else ".build/release/fleet"
    # What was started ends, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if not os.access(program, os.X_OK):
            raise Failure(f"there is no program {program}; build it by `swift build -c release`", 64)
        for tool in ("redis-server", "redis-cli"):
            if not shutil.which(tool):
                raise Failure(f"{tool} was not found; on Debian: apt-get install redis-server redis-tools", 69)
        measure(program)
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)
