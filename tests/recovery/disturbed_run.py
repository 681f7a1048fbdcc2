#!/usr/bin/env python3
"""Trains for a long time while processes are killed and stopped and the disk is full: tests/recovery/disturbed_run.py BUILD [OPTION...]

  tests/recovery/disturbed_run.py build/release --minutes 60 --seed 7

BUILD is a build tree with the host and its plugins. A run of two processes is disturbed at random times, chosen by --seed:

  kill       SIGKILL for one of the two processes, or for the host that launched them
  stop       SIGSTOP for one of them, shorter or longer than distributed.timeout_s
  end        SIGTERM or SIGINT
  save       SIGUSR1
  full disk  the file system of the run folder is filled; later it has space again

After each end the host is started with --resume auto and another number of data workers. Then another run makes the same steps
without disturbance. Its memory, descriptors and threads must not grow. Both runs must end with the same history, except for
times, and the same weights. No process, no file in /dev/shm and no temporary file may be left.

  --minutes N     how long the run is disturbed, 10 by default; the other run takes less time
  --seed N        of the disturbances, 1 by default
  --every N       mean seconds between disturbances, 12 by default
  --timeout N     distributed.timeout_s, 6 by default; more on a busy machine
  --work DIR      the folder for the runs, BUILD/tests/written/disturbed_run by default. A file system of 64 MiB is mounted there if
                  that is permitted. Otherwise the limit RLIMIT_FSIZE of the processes stands for a full disk.
  --prefix WORDS  starts the host with this command, such as "chrt --idle 0"
  --wait-for FILE pauses while this file exists

Prints a table of what was done. Exit codes: 0 everything holds, 1 something differs, grew or was left, 2 wrong arguments.
"""
import argparse
import collections
import ctypes
import json
import os
import pathlib
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

RUN_FILE = """[run]
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [32] }
[data]
batch_size = 24
[data.train]
use = "digits"
subset = "40%"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
precision = "bf16"
[train.average]
use = "ema"
decay = 0.99
[validation]
every = "100 steps"
[checkpoint]
every = "60 steps"
keep = 2
[log]
every = "20 steps"
[optimizer]
use = "adamw"
lr = 1e-3
[distributed]
processes = 2
"""
DISK_MIB = 64
MANY_EPOCHS = 1_000_000_000
# Values of the history that are times or depend on them.
TIMES = ("time_s", "train/step_s", "train/data_wait_s", "train/forward_backward_s", "train/optimizer_s", "_per_s")
FULL_DISK_CODES = (5, 11)
KILL, LAUNCHER, SHORT_STOP, LONG_STOP, TERMINATE, INTERRUPT, SAVE, FULL_DISK = (
    "kill a process", "kill the launcher", "stop for 1 s", "stop for twice the timeout", "SIGTERM", "SIGINT", "SIGUSR1",
    "full disk")
CODES = {KILL: (6,), LAUNCHER: (-signal.SIGKILL,), SHORT_STOP: (), LONG_STOP: (6,), TERMINATE: (143,), INTERRUPT: (130,),
         SAVE: (), FULL_DISK: FULL_DISK_CODES}


class Failure(Exception):
    pass


def children_of(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def processes_with(word):
    """The processes with this text in their command line, without this one."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def measure(pid):
    """Memory in KiB, descriptors and threads of a process; None if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        values = dict(line.split(":", 1) for line in status.splitlines())
        return int(values["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(values["Threads"])
    except (OSError, KeyError):
        return None


class Soak:
    def __init__(self, given):
        self.given = given
        self.random = random.Random(given.seed)
        self.work = given.work or given.build / "tests/written/disturbed_run"
        self.done = collections.Counter()
        self.codes = collections.Counter()
        self.shared_memory = set(os.listdir("/dev/shm"))
        self.paused = 0.0
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "disk").mkdir(parents=True)
        (self.work / "temporary").mkdir()
        (self.work / "run.toml").write_text(RUN_FILE)
        # CLONE_NEWNS: the mount ends with this process.
        libc = ctypes.CDLL(None, use_errno=True)
        self.has_disk = libc.unshare(0x00020000) == 0 and subprocess.run(
            ["mount", "--make-rprivate", "/"], stderr=subprocess.DEVNULL, check=False).returncode == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(self.work / "disk")],
            stderr=subprocess.DEVNULL, check=False).returncode == 0

    def start(self, name, epochs, resumes, timeout):
        arguments = [*shlex.split(self.given.prefix), str(self.given.build.resolve() / "bin/host"), "--config",
                     str(self.work / "run.toml"), "--quiet", "--set", f"run.name=\"{name}\"", "--set",
                     f"run.output_dir=\"{self.work / 'disk'}\"", "--set", f"train.epochs={epochs}", "--set",
                     f"data.workers={self.random.randrange(4)}", "--set", f"distributed.timeout_s={timeout}"]
        environment = dict(os.environ, TMPDIR=str(self.work / "temporary"))
        with open(self.work / "errors.txt", "a", encoding="utf-8") as errors:
            return subprocess.Popen(arguments + (["--resume", "auto"] if resumes else []), stdin=subprocess.DEVNULL,
                                    stdout=errors, stderr=errors, env=environment)

    def must_wait(self):
        return self.given.wait_for is not None and self.given.wait_for.exists()

    def wait_for_permission(self):
        began = time.monotonic()
        while self.must_wait():
            time.sleep(1)
        self.paused += time.monotonic() - began

    def newest_run(self, name):
        runs = sorted((self.work / "disk" / name).glob("*"))
        if not runs:
            raise Failure(f"the run {name} has no folder; see {self.work / 'errors.txt'}")
        return runs[-1]

    def train_undisturbed(self, name, epochs, resumes=False):
        """Returns measurements of memory, descriptors and threads, in the order of time: those of the launcher and both ranks."""
        samples = []
        process = self.start(name, epochs, resumes, 1e5)  # longer than any pause
        while process.poll() is None:
            if self.must_wait():
                self.pause(process)
            samples.append([measure(pid) for pid in (process.pid, *children_of(process.pid))])
            time.sleep(0.5)
        if process.returncode != 0:
            raise Failure(f"the undisturbed run ended with exit code {process.returncode}; see {self.work / 'errors.txt'}")
        return [sample for sample in samples if len(sample) == 3 and None not in sample]

    def pause(self, process):
        """The launcher first and last, so that it does not see stopped processes."""
        pids = [process.pid, *children_of(process.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.wait_for_permission()
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)

    def check_level(self, samples):
        """Compares the last third of the samples with the second."""
        part = len(samples) // 3
        if part < 5:
            raise Failure(f"{len(samples)} samples of the undisturbed run; expected 15 or more: raise --minutes")
        grown = []
        print("| process | memory before | at the end | descriptors | threads |\n|---|---|---|---|---|")
        for index, process in enumerate(("launcher", "rank 0", "rank 1")):
            middle, last = ([sample[index] for sample in samples[k * part:(k + 1) * part]] for k in (1, 2))
            # Medians: some threads and files exist only during a save, and others end before the process.
            (memory, descriptors, threads) = ([sorted(one[k] for one in values)[len(values) // 2] for values in (middle, last)]
                                              for k in range(3))
            print(f"| {process} | {memory[0] / 1024:.1f} MiB | {memory[1] / 1024:.1f} MiB | {descriptors[0]}, {descriptors[1]} "
                  f"| {threads[0]}, {threads[1]} |")
            if memory[1] - memory[0] > max(2048, memory[0] // 50):
                grown.append(f"the memory of {process} grew from {memory[0]} to {memory[1]} KiB")
            for what, (before, after) in (("descriptors", descriptors), ("threads", threads)):
                if after > before:
                    grown.append(f"the {what} of {process} grew from {before} to {after}")
        print(flush=True)
        if grown:
            raise Failure("; ".join(grown))

    def fill_disk(self, process):
        if self.has_disk:
            with open(self.work / "disk/ballast", "wb", buffering=0) as ballast:
                for size in (1 << 20, 1 << 12, 1):
                    try:
                        while ballast.write(bytes(size)) == size:
                            pass
                    except OSError:
                        pass
            return
        for pid in children_of(process.pid):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))

    def empty_disk(self):
        (self.work / "disk/ballast").unlink(missing_ok=True)

    def disturb(self, process, kind):
        kind = kind or self.random.choice(list(CODES))
        ranks = children_of(process.pid)
        if len(ranks) != 2 or process.poll() is not None:
            return None
        victim = self.random.choice(ranks)
        try:
            if kind == KILL:
                os.kill(victim, signal.SIGKILL)
            elif kind in (SHORT_STOP, LONG_STOP):
                os.kill(victim, signal.SIGSTOP)
                time.sleep(1 if kind == SHORT_STOP else 2 * self.given.timeout)
                os.kill(victim, signal.SIGCONT)
            elif kind == FULL_DISK:
                self.fill_disk(process)
            else:
                process.send_signal({LAUNCHER: signal.SIGKILL, TERMINATE: signal.SIGTERM, INTERRUPT: signal.SIGINT,
                                     SAVE: signal.SIGUSR1}[kind])
        except ProcessLookupError:
            pass
        self.done[kind] += 1
        return kind

    def wait_for_end(self, process, kind):
        """Returns the exit code of a run that must end, and checks that its processes end too."""
        deadline = time.monotonic() + 60 + 4 * self.given.timeout
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if process.poll() is None:
            process.kill()
            raise Failure(f"after \"{kind}\" the run did not end within {60 + 4 * self.given.timeout} s")
        if process.returncode not in (0, *CODES[kind]):
            raise Failure(f"after \"{kind}\" the run ended with exit code {process.returncode}; expected "
                          f"{' or '.join(map(str, CODES[kind]))}; see {self.work / 'errors.txt'}")
        self.codes[process.returncode] += 1
        while processes_with(str(self.work / "run.toml")):
            if time.monotonic() > deadline:
                raise Failure(f"after \"{kind}\" these processes are left: {processes_with(str(self.work / 'run.toml'))}")
            time.sleep(0.05)

    def train_disturbed(self, name):
        """Returns the number of epochs and of starts."""
        deadline = time.monotonic() + self.given.minutes * 60
        starts = 0
        while time.monotonic() < deadline + self.paused:
            self.wait_for_permission()
            process = self.start(name, MANY_EPOCHS, starts > 0, self.given.timeout)
            starts += 1
            kind = None
            while process.poll() is None and (kind is None or not CODES[kind]):
                end = time.monotonic() + self.random.expovariate(1 / self.given.every)
                time.sleep(0.1)
                while process.poll() is None and time.monotonic() < end and not self.must_wait():
                    time.sleep(0.1)
                if process.poll() is None:
                    is_over = self.must_wait() or time.monotonic() >= deadline + self.paused
                    kind = self.disturb(process, TERMINATE if is_over else None)
            if process.poll() is not None and (kind is None or not CODES[kind]):
                raise Failure(f"the run ended by itself with exit code {process.returncode}; see {self.work / 'errors.txt'}")
            self.wait_for_end(process, kind)
            self.empty_disk()
        # The last start has no disturbance and completes the epoch after the one that was stopped.
        checkpoint = json.loads((self.newest_run(name) / "checkpoints/latest/manifest.json").read_text())
        epochs = checkpoint["epoch"] + 1
        self.train_undisturbed(name, epochs, resumes=True)
        return epochs, starts + 1

    def read_history(self, run):
        lines = [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]
        return [{key: value for key, value in line.items() if not key.endswith(TIMES)} for line in lines]

    def compare(self, whole, disturbed):
        a, b = self.read_history(whole), self.read_history(disturbed)
        # A signal saves additional checkpoints.
        a, b = ([line for line in lines if line["event"] != "checkpoint"] for lines in (a, b))
        for number, (left, right) in enumerate(zip(a, b), 1):
            if left != right:
                raise Failure(f"line {number} of the histories differs: {left} and {right}")
        if len(a) != len(b):
            raise Failure(f"the histories have {len(a)} and {len(b)} lines")
        weights = [(run / "checkpoints/latest/model.safetensors").read_bytes() for run in (whole, disturbed)]
        if weights[0] != weights[1]:
            raise Failure("the weights differ")
        return len(a)

    def check_leftovers(self):
        left = [f"/dev/shm/{name}" for name in sorted(set(os.listdir("/dev/shm")) - self.shared_memory)]
        left += [str(path) for path in sorted((self.work / "temporary").iterdir())]
        left += [str(path) for run in (self.work / "disk").glob("*/*") for path in run.rglob("*")
                 if path.name.startswith(".") or path.name.endswith(".tmp")]
        if left:
            raise Failure(f"these files are left: {', '.join(left)}")

    def run(self):
        began = time.monotonic()
        print(f"disk: {'a file system of %d MiB' % DISK_MIB if self.has_disk else 'RLIMIT_FSIZE'}; seed {self.given.seed}\n")
        epochs, starts = self.train_disturbed("disturbed")
        samples = self.train_undisturbed("whole", epochs)
        self.check_level(samples)
        lines = self.compare(self.newest_run("whole"), self.newest_run("disturbed"))
        self.check_leftovers()
        print("| disturbance | number |\n|---|---|")
        for kind in CODES:
            print(f"| {kind} | {self.done[kind]} |")
        codes = ", ".join(f"{code} ({count})" for code, count in sorted(self.codes.items()))
        print(f"\n{epochs} epochs, {lines} lines of history and the weights are identical after {starts} starts; exit codes "
              f"{codes}; nothing is left; {(time.monotonic() - began - self.paused) / 60:.0f} minutes, paused for "
              f"{self.paused / 60:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=float, default=12)
    parser.add_argument("--timeout", type=float, default=6)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--wait-for", type=pathlib.Path)
    given = parser.parse_args()
    # A shell ignores SIGINT for a command that it starts with &, and the host would then ignore it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not (given.build / "bin/host").exists():
        parser.error(f"{given.build}: there is no bin/host; expected a build tree with the host")
    try:
        Soak(given).run()
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
