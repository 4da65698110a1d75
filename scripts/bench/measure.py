"""What the benchmarks share: they build what they run, measure commands, and compare two releases of pouch.

With --peer each command runs in turns, ours, the peer's, ours, the peer's, so that both meet the same
machine. Ratios are medians over the turns; below 1 is faster than the peer.
"""

import collections
import json
import os
import signal
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# How often a command runs where a median is wanted.
TURNS = 3

# Wall seconds, CPU seconds in both modes and in user mode alone, peak resident MiB, and both outputs.
# The CPU time is that of all threads, and of all processes that the command itself waited for; `own` leaves these out,
# and is nought where the system does not tell (to a hundredth of a second on Linux).
Run = collections.namedtuple("Run", "wall cpu user own peak out err")

# A program to be measured; what it writes is marked with the suffix.
Program = collections.namedtuple("Program", "path suffix")


class Failed(Exception):
    pass


class Limit:
    """How long what is measured now may take, all of it together; nothing, until somebody says so."""

    def __init__(self):
        self.seconds = self.until = None

    def begin(self, seconds):
        """From now on there are so many seconds."""
        self.seconds, self.until = seconds, time.monotonic() + seconds

    def end(self):
        """From now on there is no limit."""
        self.seconds = self.until = None

    def left(self):
        """The seconds that are left; none without a limit. Fails where there are none."""
        if self.until is None:
            return None
        left = self.until - time.monotonic()
        if left <= 0:
            self.failed()
        return left

    def failed(self):
        raise Failed(f"not done in {self.seconds:g} s")


LIMIT = Limit()


def say(text):
    print(text, file=sys.stderr, flush=True)


# What lets everything through: a benchmark measures what is published, and not what a limit keeps back.
LIMITS = {
    "objectsPerRegion": 10_000_000,
    "objectsPerNamespace": 10_000_000,
    "credentialsPerNamespace": 10_000_000,
    "sealedBytesPerNamespace": "64Gi",
}


def flags(parser):
    """Adds the flags that all benchmarks have."""
    parser.add_argument("--pouch", help="the program (default: what this checkout builds)")
    parser.add_argument("--peer", help="another release's pouch, measured in turns with it")
    parser.add_argument("--times", type=int, help="how often each command is run, instead of what suits it")
    parser.add_argument("--dir", help="the folder to work in, such as one in memory (default: that of temporary files)")
    parser.add_argument("--scale", type=int, default=1, help="divide every size by this, to try the script itself")


def sizes(parser, **defaults):
    """Adds flags of sizes, which --scale divides."""
    for name, most in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=most, help=f"default {most:,}")
    parser.set_defaults(sized=list(defaults))


def parsed(parser):
    """The arguments, the sizes divided by --scale."""
    args = parser.parse_args()
    for name in getattr(args, "sized", []):
        setattr(args, name, max(1, getattr(args, name) // args.scale))
    return args


def scratch(args):
    """A folder to work in, which goes with the block that asks for it."""
    # A program that was ended a moment ago may still write there.
    folder = tempfile.TemporaryDirectory(prefix="pouch-bench-", dir=args.dir, ignore_cleanup_errors=True)
    args.file_system = file_system(folder.name)
    return folder


def file_system(path):
    """The kind of the file system that a path is in; `?` where the system does not say."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return "?"
    path = os.path.realpath(path)
    of = [(mount[4], mount[mount.index("-") + 1]) for mount in mounts if os.path.commonpath([mount[4], path]) == mount[4]]
    return max(of, key=lambda it: len(it[0]), default=("", "?"))[1]


def prepare(args, *examples):
    """Builds what is to be measured and was not named; sets `args.programs`, and returns the examples' paths."""
    wanted = [] if args.pouch else ["--bin", "pouch"]
    wanted += [word for example in examples for word in ("--example", example)]
    built = build(wanted, args.scale == 1) if wanted else {}
    args.pouch = os.path.abspath(args.pouch or built["pouch"])
    args.programs = [Program(args.pouch, "")]
    if args.peer:
        args.programs.append(Program(os.path.abspath(args.peer), "-peer"))
    for program in args.programs:
        if not os.access(program.path, os.X_OK):
            sys.exit(f"bench: there is no program {program.path}")
    return [built[example] for example in examples]


def build(targets, optimised):
    """Builds targets of pouch; gives the paths of their programs by name. A script is tried with what is built soon."""
    say("building ...")
    command = ["cargo", "build", "--quiet", *(["--release"] if optimised else []), "--message-format", "json-render-diagnostics"]
    command += ["--manifest-path", os.path.join(ROOT, "Cargo.toml"), "-p", "pouch", *targets]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        sys.exit("bench: cargo build failed")
    artifacts = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    return {artifact["target"]["name"]: artifact["executable"] for artifact in artifacts if artifact.get("executable")}


def run(command, what=None, cwd=None):
    """Runs a command to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        left = LIMIT.left()
        began = time.monotonic()
        child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                 start_new_session=left is not None)
        ended = []
        timer = threading.Timer(left or 0, lambda: (ended.append(True), os.killpg(child.pid, signal.SIGKILL)))
        if left is not None:
            timer.start()
        try:
            own = own_cpu(child.pid)
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            # It has a session of its own, which hears no Ctrl-C.
            child.kill() if left is None else os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if ended:
            LIMIT.failed()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if child.returncode != 0:
        raise Failed(f"{what or ' '.join(map(str, command))}: exit {child.returncode}\n{texts[1][-2000:]}")
    # Kibibytes on Linux, bytes on macOS.
    peak = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_utime, own, peak, *texts)


def kustomize():
    """The program, installed where there is none."""
    found = shutil.which("kustomize")
    if found:
        return found
    get = os.path.join(ROOT, "scripts", "tools", "get")
    folder = subprocess.run([get, "kustomize"], stdout=subprocess.PIPE, text=True, check=False)
    if folder.returncode != 0:
        raise Failed("there is no kustomize, and it cannot be installed")
    return os.path.join(folder.stdout.strip(), "kustomize")


def own_cpu(process):
    """Waits until a process has ended, and gives the CPU seconds that it took without its children."""
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            # The second field is a name in brackets, whatever stands in it; the fourteenth and the next are ticks.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def aside(path):
    """Takes away what a run would find, without deleting it.

    A file system may look for seconds or minutes past every inode that was freed a moment ago (ext4 without a
    journal does), so that what is made next costs ten times as much of the kernel's time, by chance of the order.
    """
    if os.path.lexists(path):
        os.rename(path, os.path.join(tempfile.mkdtemp(prefix="aside-", dir=os.path.dirname(path)), "it"))


def in_turns(args, usual, function):
    """The runs of each program; `function` runs one once. `usual` is how often, without a peer."""
    count = args.times or (max(usual, TURNS) if args.peer else usual)
    runs = [[] for _ in args.programs]
    for _ in range(count):
        for program, own in zip(args.programs, runs):
            own.append(function(program))
    return runs


def least(runs, field):
    """The least of a field over the runs, for each program."""
    return [min(getattr(run, field) for run in own) for own in runs]


def ratio(runs, field):
    """The median of ours over the peer's, turn by turn; none without a peer."""
    if len(runs) == 1:
        return None
    turns = [(getattr(ours, field), getattr(theirs, field)) for ours, theirs in zip(*runs)]
    return statistics.median(ours / theirs for ours, theirs in turns if theirs) if all(b for _, b in turns) else None


class Table:
    """What is printed at the end: figures beside goals, and beside the peer's."""

    def __init__(self, args, at_once=False):
        """With `at_once` each line is said as soon as it is known, too: whatever comes after it may be ended."""
        self.args, self.has_peer, self.at_once = args, bool(args.peer), at_once
        self.rows = []

    def add(self, *line):
        self.rows.append(line)
        if self.at_once:
            say("  ".join(part for part in line if part not in ("", "-")))

    def row(self, what, values, unit="", goal=None, most=True, ratio=None):
        """Adds a line of a figure for each program; `goal` is the most that ours may be, or with most=False the least."""
        values = values if isinstance(values, list) else [values]
        bound = verdict = ""
        if goal is not None:
            verdict = "PASS" if (values[0] <= goal if most else values[0] >= goal) else "MISS"
            bound = f"{'<=' if most else '>='} {goal:g}"
        if ratio is None and len(values) == 2 and min(values) > 0:
            ratio = values[0] / values[1]
        shown = [number(value) + unit for value in values] + ["-"] * (2 - len(values))
        self.add(what, *shown, "-" if ratio is None else f"{ratio:.3f}x", bound, verdict)

    def timed(self, what, runs, goal=None, factor=1, unit=" s"):
        """Adds the least wall time and the least CPU time of some runs."""
        for name, field, bound in ((what, "wall", goal), ("  CPU time", "cpu", None)):
            self.row(name, [factor * value for value in least(runs, field)], unit, bound, ratio=ratio(runs, field))

    def peaked(self, runs, goal=None):
        """Adds the least peak memory of some runs."""
        self.row("  peak memory", least(runs, "peak"), " MiB", goal, ratio=ratio(runs, "peak"))

    def failed(self, what, why):
        """Adds a line of what could not be measured."""
        self.add(what, why, "-", "-", "", "MISS")

    def print(self):
        """Prints all lines below each other, without the peer's columns where there is no peer."""
        rows = [("what", "measured", "peer", "ratio", "goal", ""), *self.rows]
        if not self.has_peer:
            rows = [(what, value, bound, verdict) for what, value, _, _, bound, verdict in rows]
        widths = [max(len(line[at]) for line in rows) for at in range(len(rows[0]))]
        print()
        for line in rows:
            columns = [f"{line[0]:<{widths[0]}}"]
            columns += (f"{text:>{width}}" for text, width in zip(line[1:-2], widths[1:-2]))
            print("  ".join([*columns, f"{line[-2]:<{widths[-2]}}", line[-1]]).rstrip())
        where = getattr(self.args, "file_system", None)
        place = f", on {where}" if where else ""
        scale = f", sizes divided by {self.args.scale}" if self.args.scale != 1 else ""
        print(f"\n{os.cpu_count()} cores, {os.uname().sysname} {os.uname().machine}{place}{scale}")


def number(value):
    """A figure with up to three decimals."""
    text = f"{value:,.3f}"
    return text.rstrip("0").rstrip(".")


def self_test():
    """What does not end is ended, with all that it started, and what comes after it is not."""
    began = time.monotonic()
    LIMIT.begin(0.5)
    try:
        run(["sh", "-c", "sleep 60; true"])
        raise AssertionError("it was not ended")
    except Failed as error:
        assert str(error) == "not done in 0.5 s", error
    for is_over in (lambda: run(["true"]), LIMIT.left):
        try:
            is_over()
            raise AssertionError("something was begun after the end")
        except Failed:
            pass
    LIMIT.end()
    assert file_system("/proc") == "proc" or not os.path.exists("/proc/self/mountinfo")
    assert time.monotonic() - began < 30 and run(["echo", "x"]).out == "x\n" and LIMIT.left() is None


if __name__ == "__main__":
    self_test()
