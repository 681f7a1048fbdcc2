"""Measures how long a run takes on a busy machine with different wait policies of OpenMP threads.

    python bench/busy_machine.py [--busy 0,1,2,4] [--pin CORE] [--rounds 5] [--config configs/digits.toml]
                                 [--settings host,passive] [--also GOMP_SPINCOUNT=10000] [--limit 150]
                                 [-- ARGUMENTS OF host]

Busy loops run next to `host`, on the core CORE or on any core. --busy lists their numbers, which are measured one after
another. In each round `host` runs once with each setting, so that changes of the machine's speed affect all settings:

  host            no variable: the host chooses
  passive         OMP_WAIT_POLICY=passive
  active          OMP_WAIT_POLICY=active
  libgomp         GOMP_SPINCOUNT=300000, the default of libgomp

--also adds settings of one or more variables, separated by commas. --settings selects the settings to run. Prints the
median, minimum and maximum seconds of the whole process, and the median over the rounds of the ratio to `passive`. A
run that takes longer than --limit seconds is stopped and counts as --limit seconds. The first line shows the processor
and the load before the start: measure on a machine that is otherwise idle.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
SETTINGS = {
    "host": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "active": {"OMP_WAIT_POLICY": "active"},
    "libgomp": {"GOMP_SPINCOUNT": "300000"},
}
# The loop ends when its parent ends, even if the parent is killed.
BUSY_LOOP = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1000000):
        pass
"""


@contextlib.contextmanager
def busy_loops(count, core):
    loops = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(count)]
    try:
        if core is not None:
            for loop in loops:
                os.sched_setaffinity(loop.pid, {core})
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def time_host(command, variables, limit):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        process = subprocess.Popen([*command, "--set", f'run.output_dir="{folder}"'], stdout=subprocess.DEVNULL,
                                   env=environment | variables)
        try:
            if process.wait(limit) != 0:
                raise SystemExit("the host failed")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return float(limit)
        return time.perf_counter() - begin


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def report(title, rounds):
    width = max(map(len, rounds[0]))
    print(title)
    print(f"  {'setting':<{width}} {'median':>8} {'min':>8} {'max':>8}   to passive")
    for name in rounds[0]:
        seconds = [row[name] for row in rounds]
        ratio = statistics.median(row[name] / row["passive"] for row in rounds) if "passive" in rounds[0] else None
        print(f"  {name:<{width}} {statistics.median(seconds):7.2f}s {min(seconds):7.2f}s {max(seconds):7.2f}s"
              + (f"   {ratio:10.2f}" if ratio else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", default="0,1,2,4", help="numbers of busy loops, separated by commas")
    parser.add_argument("--pin", type=int, metavar="CORE", help="the core of all busy loops; default: any")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--config", default=str(ROOT / "configs/digits.toml"))
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--also", action="append", default=[], metavar="NAME=VALUE[,NAME=VALUE]")
    parser.add_argument("--limit", type=float, default=150, help="seconds")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("arguments", nargs="*", help="further arguments of host, after --")
    arguments = parser.parse_args()
    settings = {name: SETTINGS[name] for name in arguments.settings.split(",") if name}
    settings |= {text: dict(one.split("=", 1) for one in text.split(",")) for text in arguments.also}
    command = [f"{arguments.build}/bin/host", "--config", arguments.config, "--quiet", *arguments.arguments]
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.2f}")
    time_host(command, SETTINGS["passive"], arguments.limit)  # reads the files once
    for busy in map(int, arguments.busy.split(",")):
        with busy_loops(busy, arguments.pin):
            rounds = [{name: time_host(command, variables, arguments.limit) for name, variables in settings.items()}
                      for _ in range(arguments.rounds)]
        where = "" if busy == 0 else " on any core" if arguments.pin is None else f" on core {arguments.pin}"
        report(f"{pathlib.Path(arguments.config).name}, {busy} busy loop{'s' if busy != 1 else ''}{where}, "
               f"{arguments.rounds} rounds", rounds)


if __name__ == "__main__":
    main()
