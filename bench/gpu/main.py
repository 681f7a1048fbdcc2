"""Tests a packed Tenon on the CUDA device of this machine. DIR/gpu runs this program.

    DIR/gpu                      all checks, the most valuable ones first
    DIR/gpu --smoke              the first piece
    DIR/gpu --piece N            one piece; --minutes limits its time, 8 by default
    DIR/gpu --only NAME ...      these checks
    DIR/gpu --list               the checks with their pieces and estimated minutes
    DIR/gpu --table FILE         the results as Markdown tables

Each check runs in a separate process group, which is killed at its time limit. After each one its result is added to
the results file. Checks that have passed according to this file are not repeated, unless --again is given.

Exit codes: 0 no check failed, 1 a check failed, 2 wrong command line, 3 there is no usable CUDA device.
"""
from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import traceback
from typing import Any

sys.dont_write_bytecode = True
import results  # noqa: E402
from checks import CHECKS, Check  # noqa: E402
from kit import KIND, ROOT, Context, Failed, Skipped, faults_of_standin, torch_environment  # noqa: E402

PROBE = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "has_device": cuda,
                  "cudnn": torch.backends.cudnn.version() if cuda else None,
                  "device": torch.cuda.get_device_name() if cuda else None}))
"""
LONGEST_PIECE = 8.0
"""Minutes of a piece at most. Checks that do not fit are left to the next call."""
GRACE = 1.5
"""Minutes after which a check that takes longer than estimated is killed, so that the rest of the call can end."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--only", nargs="+", metavar="NAME", help="run these checks")
    chosen.add_argument("--smoke", action="store_true", help="run the first piece")
    chosen.add_argument("--piece", type=int, choices=sorted({check.piece for check in CHECKS}), help="run one piece")
    chosen.add_argument("--list", action="store_true", help="list the checks")
    chosen.add_argument("--table", type=pathlib.Path, metavar="FILE", help="print a results file as Markdown tables")
    chosen.add_argument("--run-check", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="results file; default: results.json")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER", help="folder for data and runs; default: work "
                        "in the folder of the kit")
    parser.add_argument("--again", action="store_true", help="repeat checks that have passed")
    parser.add_argument("--small", action="store_true", help="small shapes, to try the kit on a CPU")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="device of the checks")
    parser.add_argument("--minutes", type=float, default=0, help="start no check that could take longer than this in "
                        "all; default: 8 for a piece, otherwise none")
    parser.add_argument("--torch-problem", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.results = (arguments.results or pathlib.Path("results.json")).absolute()
    arguments.work = (arguments.work or ROOT / "work").absolute()
    unknown = set(arguments.only or []) - {check.name for check in CHECKS}
    if unknown:
        parser.error(f"unknown check {', '.join(sorted(unknown))}; DIR/gpu --list shows the names")
    return arguments


def choose_checks(arguments: argparse.Namespace) -> list[Check]:
    if arguments.only:
        return [check for check in CHECKS if check.name in arguments.only]
    piece = 1 if arguments.smoke else arguments.piece
    return [check for check in CHECKS
            if (piece is None or check.piece == piece) and (check.small or not arguments.small)]


def list_checks() -> None:
    for check in CHECKS:
        print(f"{check.piece}  {check.minutes:4.1f} min  {check.name:<24} {check.title}")
    print(f"   {sum(check.minutes for check in CHECKS):4.1f} min in all")


def probe_torch(device: str) -> tuple[dict[str, Any], str]:
    """Returns what PyTorch reports, and why it cannot be used, if so."""
    done = subprocess.run([sys.executable, "-c", PROBE], text=True, capture_output=True, stdin=subprocess.DEVNULL,
                          env=torch_environment())
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {}, "no module torch" if "No module named 'torch'" in last else f"torch cannot be imported: {last}"
    found = json.loads(done.stdout.strip().splitlines()[-1])
    missing = device == "cuda" and not found["has_device"]
    return found, "torch finds no CUDA device" if missing else ""


def query_driver() -> dict[str, str]:
    """Returns what nvidia-smi reports about the first device."""
    if not shutil.which("nvidia-smi"):
        return {}
    done = subprocess.run(["nvidia-smi", "--id=0", "--query-gpu=name,driver_version,memory.total",
                           "--format=csv,noheader"], text=True, capture_output=True, stdin=subprocess.DEVNULL)
    values = [value.strip() for value in done.stdout.split(",")]
    return dict(zip(("name", "driver_version", "memory"), values)) if done.returncode == 0 and len(values) == 3 else {}


def run_check(arguments: argparse.Namespace) -> int:
    """Runs one check in this process and writes its result."""
    check = next(check for check in CHECKS if check.name == arguments.run_check)
    work = arguments.work / check.name
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    context = Context(arguments.device, arguments.small, work, arguments.torch_problem,
                      save=lambda partial: results.write(arguments.results, {"partial": True, **partial}))
    try:
        result = {"status": "passed", **check.function(context)}
    except Skipped as reason:
        result = {"status": "skipped", "message": f"skipped: {reason}"}
    except Failed as reason:
        result = {"status": "failed", "message": str(reason)}
    except Exception as reason:
        traceback.print_exc()
        result = {"status": "failed", "message": f"{type(reason).__name__}: {reason}"}
    if faults := faults_of_standin(work):
        result = {"status": "failed", "message": "; ".join(filter(None, [result.get("message"), *faults[:4]]))}
    if result["status"] != "passed" and arguments.results.exists():
        partial = results.read(arguments.results)
        result = {key: partial[key] for key in ("rows", "notes") if key in partial} | result
    results.write(arguments.results, result)
    return 0


@dataclasses.dataclass
class Running:
    """A check that runs in a separate process group."""

    check: Check
    process: subprocess.Popen[bytes]
    file: pathlib.Path
    log: pathlib.Path
    begin: float

    def finish(self, deadline: float) -> dict[str, Any]:
        """Waits for the end, the time limit or the deadline. Returns the result."""
        remaining = max(1.0, min(self.begin + 60 * self.check.limit, deadline) - time.monotonic())
        try:
            code = self.process.wait(timeout=remaining)
            problem = f"the check ended with exit code {code}"
        except subprocess.TimeoutExpired:
            problem = f"the check was killed after {(time.monotonic() - self.begin) / 60:.1f} minutes"
        self.kill()
        result = results.read(self.file)
        if "status" not in result:
            result = {**result, "status": "failed", "message": problem}
        result.pop("partial", None)
        result.pop("checks", None)
        return {**result, "title": self.check.title, "piece": self.check.piece,
                "seconds": round(time.monotonic() - self.begin, 2)}

    def kill(self) -> None:
        """Ends all processes of the check."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def start(check: Check, arguments: argparse.Namespace, torch_problem: str) -> Running:
    folder = arguments.work / check.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file, log = folder / "result.json", folder / "log.txt"
    command = [sys.executable, str(ROOT / "bench/gpu/main.py"), "--run-check", check.name, "--results", str(file),
               "--work", str(arguments.work), "--device", arguments.device, "--torch-problem", torch_problem]
    if arguments.small:
        command.append("--small")
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                                   start_new_session=True)
    return Running(check, process, file, log, time.monotonic())


def shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else text[:197] + "..."


class Session:
    """One call of the program: runs checks and keeps the results file up to date."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.content = results.read(arguments.results)
        self.torch, self.torch_problem = probe_torch(arguments.device)
        self.content["date"] = datetime.date.today().isoformat()
        self.content["kit"] = KIND
        self.content["torch"] = self.torch
        command = " ".join(["gpu", *sys.argv[1:]])
        self.content["commands"] = [*dict.fromkeys([*self.content.get("commands", []), command])]
        self.content["device"] = {**self.content.get("device", {}), **query_driver()}
        self.background: list[Running] = []
        is_piece = arguments.smoke or arguments.piece
        self.minutes = arguments.minutes or (LONGEST_PIECE if is_piece else float("inf"))
        self.begin = time.monotonic()
        self.deadline = self.begin + 60 * (self.minutes + GRACE)

    def record(self, name: str, result: dict[str, Any]) -> None:
        if "device" in result:
            driver = query_driver()
            self.content["device"] = {**self.content["device"], **result["device"], **driver}
            self.content.update({key: result[key] for key in ("tenon", "libtorch") if key in result})
        order = [check.name for check in CHECKS]
        checks = {**self.content["checks"], name: result}
        self.content["checks"] = {key: checks[key] for key in order if key in checks}
        results.write(self.arguments.results, self.content)
        text = result.get("summary") or result.get("message", "")
        print(f"{result['status']:<8} {result['seconds']:6.1f} s  {name:<24} {shorten(text)}", flush=True)

    def join_background(self) -> None:
        for running in self.background:
            self.record(running.check.name, running.finish(self.deadline))
        self.background.clear()

    def run(self, chosen: list[Check]) -> list[str]:
        """Runs the checks that have not passed yet. Returns the names of those that were left out for lack of time."""
        passed = [name for name, result in self.content["checks"].items() if result["status"] == "passed"]
        if not self.arguments.again:
            chosen = [check for check in chosen if check.name not in passed]
        left_out = []
        self.background = [start(check, self.arguments, self.torch_problem) for check in chosen if check.background]
        for check in [check for check in chosen if not check.background]:
            if check.alone:
                self.join_background()
            if (time.monotonic() - self.begin) / 60 + check.minutes > self.minutes:
                left_out.append(check.name)
                continue
            running = start(check, self.arguments, self.torch_problem)
            try:
                self.record(check.name, running.finish(self.deadline))
            except BaseException:
                running.kill()
                raise
        self.join_background()
        return left_out


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        list_checks()
        return 0
    if arguments.table:
        print(results.markdown(results.read(arguments.table)), end="")
        return 0
    if arguments.run_check:
        return run_check(arguments)
    is_missing = not (pathlib.Path("/dev/nvidiactl").exists() or pathlib.Path("/dev/dxg").exists())
    if arguments.device == "cuda" and not KIND.get("standin") and is_missing:
        print("gpu: no CUDA device: there are no driver files in /dev", file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    session = Session(arguments)
    try:
        left_out = session.run(choose_checks(arguments))
    finally:
        for running in session.background:
            running.kill()
    print("\n" + results.markdown(session.content))
    if left_out:
        print(f"not started for lack of time: {', '.join(left_out)}; run the same command again")
    failed = [name for name, result in session.content["checks"].items() if result["status"] == "failed"]
    if failed:
        print(f"failed: {', '.join(failed)}")
    if "device" in failed and arguments.device == "cuda":
        return 3
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
