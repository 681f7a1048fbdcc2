#!/usr/bin/env python3
"""Logs a run of Tenon to MLflow, Weights & Biases or another tracker, while it trains or afterwards.

    tenon-log mlflow RUN               MLFLOW_TRACKING_URI and the other variables of the package mlflow apply
    tenon-log wandb RUN                WANDB_PROJECT, WANDB_MODE and the other variables of the package wandb apply
    tenon-log print RUN                prints what would be logged
    tenon-log --tracker FILE.py RUN    the class Tracker in FILE.py, with the methods of the class Print of this program

RUN is the folder of a run, such as runs/digits/2026-11-21T11-30-05. Its settings become parameters, and the values of
its history metrics. A run that is training is followed to its end. RUN/tracker.json has what was logged: after an
interruption, or when the run was resumed, the same command continues and logs nothing twice.

Exit codes: 0 everything was logged, 1 the tracker failed or its server is away (run the command again to continue),
2 wrong arguments, 3 a package is missing or FILE.py cannot be used, 5 RUN is no run or cannot be read, 130 and 143
stopped by a signal.
"""
from __future__ import annotations

import argparse
import fcntl
import getpass
import importlib.util
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from datetime import datetime
from types import ModuleType
from typing import Any, NamedTuple

try:
    import tomllib
except ImportError:
    print(f"error: tenon-log needs Python 3.11 or later; this is {sys.version.split()[0]}", file=sys.stderr)
    sys.exit(3)

POLL_S = 1.0
CRASHED_S = 30.0  # longer than host --restarts needs to start the next process
LINES = 200  # in a call of metrics()


class Failure(Exception):
    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code


class Line(NamedTuple):
    step: int
    time: float  # in seconds since 1970, as all times here
    values: dict[str, float]


class End(NamedTuple):
    status: str  # FINISHED, KILLED or FAILED
    time: float
    tags: dict[str, str]
    files: list[str]  # paths relative to the run folder


class Run:
    """A run folder. Trackers read name, folder, params and start."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder.resolve()
        if not (folder / "plan.toml").is_file():
            runs = sorted(folder.glob("*/plan.toml"))
            meant = f"; did you mean {runs[-1].parent}?" if runs else ""
            found = "has no plan.toml" if folder.exists() else "does not exist"
            raise Failure(5, f"{folder}: {found}; expected the folder of a run, such as "
                             f"runs/digits/2026-11-21T11-30-05{meant}")
        self.params = dict(flatten(tomllib.loads(self._read("plan.toml"))))
        self.name: str = self.params["run.name"]
        self.start = time_of(self.record().get("start")) or time.time()
        self._losses = [value for key, value in self.params.items() if re.fullmatch(r"loss\.\d+\.name", key)]

    def _read(self, name: str) -> str:
        return (self.folder / name).read_text(errors="replace")

    def record(self) -> dict[str, Any]:
        return json.loads(self._read("run.json")) if (self.folder / "run.json").exists() else {}  # {}: it is starting

    def is_held(self) -> bool:
        """Whether a process trains in the folder, or writes its report."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)

    def end(self, patterns: list[str]) -> End | None:
        """None while the run trains."""
        if self.is_held():
            return None
        record = self.record()
        status, code, tags = record.get("status", "running"), record.get("exit_code") or 0, {}
        if record.get("resumed_from"):
            tags["tenon.resumed_from"] = record["resumed_from"]
        ended = time_of(record.get("end"))
        if status == "running":  # the process was killed, or is about to lock the folder, or is on another machine
            ended = max(file.stat().st_mtime for name in ("plan.toml", "run.json", "history.jsonl")
                        if (file := self.folder / name).exists())
            is_here = record.get("machine", {}).get("hostname") in (None, socket.gethostname())
            if not is_here or time.time() - ended < CRASHED_S:
                return None
            tags["tenon.error"] = "the process was killed or crashed"
        elif status == "failed":
            tags["tenon.error"] = record.get("reason") or f"exit code {code}"
        is_killed = status == "running" or code > 128
        files = {str(file.relative_to(self.folder)) for pattern in patterns for file in self.folder.glob(pattern)
                 if file.is_file() and file.name != "tracker.json"}
        return End("FAILED" if status == "failed" else "KILLED" if is_killed else "FINISHED", ended or time.time(), tags,
                   sorted(files))

    def line(self, line: dict[str, Any], start: float) -> Line:
        values = {self._name_of(line["event"], name): float(value) for name, value in line.items()
                  if name not in ("event", "epoch", "step", "time_s")}
        return Line(line["step"], start + line["time_s"], values)

    def _name_of(self, event: str, metric: str) -> str:
        """A loss that is a mean over an epoch gets a suffix: in other lines it is the mean since the last one."""
        short = metric.removeprefix("train/")
        is_loss = any(short == loss or short.startswith(loss + ".") for loss in ["loss", *self._losses])
        return metric + "_epoch" if event == "epoch" and short != metric and is_loss else metric


def flatten(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The values of plan.toml with keys such as optimizer.lr and loss.0.weight."""
    is_list_of_tables = isinstance(value, list) and value and all(isinstance(child, dict) for child in value)
    if isinstance(value, dict) or is_list_of_tables:
        for name, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flatten(child, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


def time_of(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Print:
    """Prints. Another tracker has the same methods. An exception of one ends tenon-log; the next call continues."""

    where = ""  # the address of the server; another one gets everything again

    def start(self, run: Run, run_id: str | None) -> str:
        """Creates a run, or continues run_id, and logs run.params. Returns the id of the run on the server."""
        for key, value in run.params.items():
            print(f"param {key} = {as_text(value)}")
        return run_id or run.folder.name

    def metrics(self, lines: list[Line]) -> None:
        """Logs values, which are not passed again if this returns."""
        for line in lines:
            for name, value in line.values.items():
                print(f"step {line.step}: {name} = {value}")
        sys.stdout.flush()

    def finish(self, end: End) -> None:
        for key, value in end.tags.items():
            print(f"tag {key} = {value}")
        for file in end.files:
            print(f"file {file}")
        print(f"status {end.status}")


class Mlflow:
    def __init__(self) -> None:
        mlflow, self._entities = import_package("mlflow"), import_package("mlflow.entities")
        self._client = mlflow.MlflowClient()
        self.where = re.sub(r"//[^/]*@", "//", mlflow.get_tracking_uri())  # without a password

    @staticmethod
    def _name(name: str) -> str:
        return re.sub(r"[^\w\-./ ]", "_", name)[:250]

    def _log(self, kind: str, entries: list[Any], most: int = 100) -> None:
        for begin in range(0, len(entries), most):
            self._client.log_batch(self._id, **{kind: entries[begin:begin + most]})

    def start(self, run: Run, run_id: str | None) -> str:
        self._folder = run.folder
        params = {self._name(key): as_text(value)[:6000] for key, value in run.params.items()}
        before = {}
        if run_id:
            self._id = run_id
            before = self._client.get_run(run_id).data.params
            self._client.update_run(run_id, status="RUNNING")
        else:
            tags = {"mlflow.source.name": "tenon", "mlflow.source.type": "LOCAL", "mlflow.user": getpass.getuser(),
                    "tenon.folder": str(run.folder)}
            self._id = self._client.create_run(self._experiment(run.name), start_time=int(run.start * 1000), tags=tags,
                                               run_name=run.folder.name).info.run_id
        self._log("params", [self._entities.Param(*param) for param in params.items() if param[0] not in before])
        # MLflow does not change a parameter.
        self._log("tags", [self._entities.RunTag(f"tenon.changed.{key}", value[:5000]) for key, value in params.items()
                           if before.get(key, value) != value])
        return self._id

    def _experiment(self, run_name: str) -> str:
        name, number = os.environ.get("MLFLOW_EXPERIMENT_NAME"), os.environ.get("MLFLOW_EXPERIMENT_ID")
        if number and not name:
            return number
        found = self._client.get_experiment_by_name(name or run_name)
        return found.experiment_id if found else self._client.create_experiment(name or run_name)

    def metrics(self, lines: list[Line]) -> None:
        self._log("metrics", [self._entities.Metric(self._name(name), value, int(line.time * 1000), line.step)
                              for line in lines for name, value in line.values.items()], 1000)

    def finish(self, end: End) -> None:
        self._log("tags", [self._entities.RunTag(key, value[:5000]) for key, value in end.tags.items()])
        for file in end.files:
            self._client.log_artifact(self._id, str(self._folder / file), os.path.dirname(file) or None)
        self._client.set_terminated(self._id, end.status, int(end.time * 1000))


class Wandb:
    where = ""

    def __init__(self) -> None:
        self._wandb = import_package("wandb")

    def start(self, run: Run, run_id: str | None) -> str:
        self._folder = run.folder
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT") or re.sub(r"[/\\#?%:]", "_", run.name),
            name=os.environ.get("WANDB_NAME") or run.folder.name, id=run_id, resume="allow" if run_id else None,
            settings=self._wandb.Settings(console="off"))
        self._run.config.update(run.params, allow_val_change=True)
        # wandb takes only one entry for a step of its count, but several lines of the history have the same step.
        self._run.define_metric("*", step_metric="step")
        return self._run.id

    def metrics(self, lines: list[Line]) -> None:
        for line in lines:
            self._run.log(line.values | {"step": line.step})

    def finish(self, end: End) -> None:
        self._run.summary.update(end.tags | {"status": end.status})
        for file in end.files:
            self._run.save(str(self._folder / file), base_path=str(self._folder), policy="now")
        self._run.finish(exit_code=0 if end.status == "FINISHED" else 1)


TRACKERS = {"mlflow": Mlflow, "wandb": Wandb, "print": Print}


def import_package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name != name:
            raise Failure(3, f"the package {name} cannot be used: {error}") from None
        raise Failure(3, f"{name} is not installed for {sys.executable}: pip install {name}") from None


def import_tracker(file: pathlib.Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if not spec or not spec.loader or not file.is_file():
        raise Failure(3, f"{file} is no file that ends in .py; expected one with a class Tracker")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "Tracker"):
        raise Failure(3, f"{file} has no class Tracker")
    return module.Tracker()


class Memory:
    """What one tracker has: an entry of RUN/tracker.json. Several processes may log a run, each to another tracker."""

    def __init__(self, path: pathlib.Path, name: str):
        self.name = name
        self._file = os.open(os.devnull if name == "print" else path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if name != "print":
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1 + zlib.crc32(name.encode()))
        except BlockingIOError:
            raise Failure(1, f"another process logs {path.parent} to {name}") from None
        entry = self._read().get(name, {})
        self.id: str | None = entry.get("id")
        self.start: float | None = entry.get("start")  # when time_s was 0
        self.end: Any = entry.get("end")  # the end of the run that was logged last
        # A resumed run repeats the lines after its checkpoint. Those of earlier steps than `step` are logged, and these.
        self._step: int = entry.get("step", 0)
        self._lines: set[tuple[int, str]] = {(step, line) for step, line in entry.get("lines", [])}

    def _read(self) -> dict[str, Any]:
        text = os.pread(self._file, os.fstat(self._file).st_size, 0).decode(errors="replace")
        return json.JSONDecoder().raw_decode(text)[0] if text else {}

    def save(self) -> None:
        if self.name == "print":
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, 0)
        entry = {"id": self.id, "start": self.start, "end": self.end, "step": self._step, "lines": sorted(self._lines)}
        text = json.dumps(self._read() | {self.name: entry}).encode()
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, 0)

    def add(self, line: dict[str, Any]) -> bool:
        """Returns whether the line is new. A step has one line of each event, and of each set of data."""
        step, key = line["step"], " ".join([line["event"], *list(line)[4:5]])
        if step < self._step or (step, key) in self._lines:
            return False
        self._lines.add((step, key))
        if line["event"] == "checkpoint" or len(self._lines) > 10_000:
            self._step = step
            self._lines = {one for one in self._lines if one[0] >= step}
        return True


class History:
    """history.jsonl. A run that resumes replaces the file, which is then read from its beginning."""

    def __init__(self, path: pathlib.Path):
        self._path = path
        self._file: Any = None

    def size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def read(self) -> list[dict[str, Any]]:
        """Returns the complete lines since the last call."""
        if not self._path.exists():
            return []
        if not self._file or os.fstat(self._file.fileno()).st_ino != self._path.stat().st_ino:
            self._file = self._path.open("rb")
        lines = []
        while (text := self._file.readline()).endswith(b"\n"):
            lines.append(json.loads(text))
        self._file.seek(-len(text), os.SEEK_CUR)
        return lines

    def start(self, last_line: dict[str, Any]) -> float:
        return os.fstat(self._file.fileno()).st_mtime - last_line["time_s"]


def log_run(run: Run, tracker: Any, memory: Memory, given: argparse.Namespace, stop: threading.Event) -> None:
    def report(text: str) -> None:
        print(f"{memory.name} {text}", file=sys.stderr)

    history = History(run.folder / "history.jsonl")

    # run.json has whole seconds: a run that was continued may end in the same one, with more lines.
    def describe(end: End) -> list[Any]:
        return [end.status, end.time, history.size()]

    end = run.end(given.artifacts)
    if end and memory.end == describe(end):
        report(f"already has everything of {run.folder} as {memory.id}")
        return
    memory.id, memory.end = tracker.start(run, memory.id), None
    memory.save()
    report(f"logs {run.folder} as {memory.id}")
    while not stop.is_set():
        end = run.end(given.artifacts)  # first, so that the history is complete if there is an end
        lines = history.read()
        if lines and memory.start is None:
            memory.start = history.start(lines[-1])
        for begin in range(0, len(lines), LINES):
            new = [run.line(line, memory.start) for line in lines[begin:begin + LINES] if memory.add(line)]
            if any(line.values for line in new):
                tracker.metrics([line for line in new if line.values])
            memory.save()
            if stop.is_set():
                return
        if end:
            tracker.finish(end)
            memory.end = describe(end)
            memory.save()
            report(f"has everything of the run, which is {end.status}")
        if end or given.no_follow:
            return
        stop.wait(POLL_S)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tenon-log", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="tenon-log mlflow|wandb|print RUN [--artifacts PATTERN ...] [--no-follow]\n"
              "       tenon-log --tracker FILE.py RUN [--artifacts PATTERN ...] [--no-follow]")
    parser.add_argument("words", nargs="+", metavar="RUN", help="the folder of a run, after the name of the tracker")
    parser.add_argument("--tracker", type=pathlib.Path, metavar="FILE.py", help="a file with a class Tracker")
    parser.add_argument("--artifacts", nargs="*", default=["plan.toml", "report.html"], metavar="PATTERN",
                        help="files of RUN to log at its end, such as 'plots/*'; default: plan.toml report.html")
    parser.add_argument("--no-follow", action="store_true", help="log what the run has so far, and do not wait")
    given = parser.parse_intermixed_args()
    if not given.tracker and given.words[0] not in TRACKERS:
        parser.error(f"{given.words[0]} is not a tracker; expected {', '.join(TRACKERS)} or --tracker FILE.py")
    if len(given.words) != (1 if given.tracker else 2):
        parser.error("expected the folder of one run" + ("" if given.tracker else " after the name of the tracker"))
    for pattern in given.artifacts:
        if not pattern or pattern.startswith("/"):
            parser.error(f"--artifacts {pattern!r}: expected a path relative to RUN, in which * matches any name")
    given.name = given.tracker.name if given.tracker else given.words[0]
    return given


def main() -> int:
    given = parse_arguments()
    signals: list[int] = []
    stop = threading.Event()

    def request_stop(number: int, _: Any) -> None:
        signals.append(number)
        stop.set()
        signal.signal(number, signal.SIG_DFL)  # the next one ends the process at once

    try:
        try:
            run = Run(pathlib.Path(given.words[-1]))
        except (OSError, ValueError, KeyError) as error:
            raise Failure(5, f"{given.words[-1]} cannot be read: {error}") from None
        try:
            tracker = import_tracker(given.tracker) if given.tracker else TRACKERS[given.name]()
            name = f"{given.name} {getattr(tracker, 'where', '')}".strip()
            if given.name == "print":
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, request_stop)
            log_run(run, tracker, Memory(run.folder / "tracker.json", name), given, stop)
        except Failure:
            raise
        except Exception as error:  # of any tracker
            again = "run the command again to continue"
            memory = run.folder / "tracker.json"
            if memory.exists() and memory.stat().st_size > 0:
                again += f", or remove {memory} to log everything to a new run"
            raise Failure(1, f"{given.name}: {type(error).__name__}: {error}\n{again}") from None
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.code
    return 128 + signals[0] if signals else 0


if __name__ == "__main__":
    sys.exit(main())
