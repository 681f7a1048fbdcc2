#!/usr/bin/env python3
"""Checks tenon-log with runs of the host: python3 tests/logging/check_tenon_log.py TENON_LOG HOST

The tracker of these tests writes its calls to a file. Exit status 0: it received every value of history.jsonl once, the
settings of plan.toml and the end of the run; from complete, followed, killed, resumed and failed runs, and after it was
away.
"""
import collections
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from logged_run import LIMIT_S, LoggedRun, read_lines, wait_until

TENON_LOG, HOST = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
CSV_TRACKER = pathlib.Path(__file__).resolve().parents[2] / "examples/python/csv_tracker.py"
TRACKER = '''
import json
import pathlib

class Tracker:
    def __init__(self):
        self.folder = pathlib.Path(__file__).parent
        self.where = (self.folder / "where").read_text() if (self.folder / "where").exists() else ""

    def write(self, *call):
        if (self.folder / "away").exists():
            raise ConnectionError("the server is away")
        with (self.folder / "calls").open("a") as file:
            file.write(json.dumps(call) + "\\\\n")

    def start(self, run, run_id):
        self.write("start", run_id, run.name, run.folder.name, run.params)
        return "run of " + run.name

    def metrics(self, lines):
        self.write("metrics", lines)

    def finish(self, end):
        self.write("finish", *end)
'''.replace("\\\\", "\\")

class Case(LoggedRun):
    """A run, and a tracker that writes its calls."""

    def __init__(self, folder):
        super().__init__(folder, name="logged", batch_size=400, epochs=3, log_every="1 step", checkpoint_every="3 steps")
        (folder / "tracker.py").write_text(TRACKER)

    def host(self, *arguments, expected=0):
        return self.run(HOST, *arguments, expected=expected)

    def log_command(self, *arguments):
        return (sys.executable, TENON_LOG, "--tracker", "tracker.py", self.run_folder(), *arguments)

    def log(self, *arguments, expected=0):
        return self.run(*self.log_command(*arguments), expected=expected)

    def calls(self, name):
        return [call[1:] for call in read_lines(self.folder / "calls") if call[0] == name]

    def values(self):
        return [(name, step, value) for (lines,) in self.calls("metrics") for step, _, values in lines
                for name, value in values.items()]

    def check_values(self, has_repeated_steps=False):
        """The tracker has the values of the history, and no other. The times of repeated steps differ."""
        expected = collections.Counter()
        for line in self.history():
            for name, value in line.items():
                if name not in ("event", "epoch", "step", "time_s"):
                    is_mean = line["event"] == "epoch" and name in ("train/loss", "train/cross_entropy")
                    expected[name + "_epoch" * is_mean, line["step"], float(value)] += 1
        logged = collections.Counter(self.values())
        if has_repeated_steps:
            expected, logged = (collections.Counter(
                {(name, step, "a time" if name.endswith("_s") else value): count
                 for (name, step, value), count in values.items()}) for values in (expected, logged))
        assert len(expected) > 50, expected
        assert logged == expected, (logged - expected, expected - logged)

    def ends(self):
        return [(status, tags) for status, _, tags, _ in self.calls("finish")]


def check_complete(case):
    case.host("--config", "run.toml")
    output = case.log("--artifacts", "plan.toml", "report.html", "plots/*", "checkpoints/best/*.safetensors", "none")
    assert "has everything of the run, which is FINISHED" in output, output
    case.check_values()
    names = {name for name, _, _ in case.values()}
    assert {"train/loss", "train/loss_epoch", "validation/accuracy", "test/loss"} <= names, names
    ((run_id, name, folder, params),) = case.calls("start")
    assert (run_id, name, folder) == (None, "logged", case.run_folder().name)
    assert params["optimizer.lr"] == 0.1 and params["loss.0.weight"] == 0.5 and params["model.params.hidden"] == [16]
    assert len(params) > 60, params
    ((status, end, tags, files),) = case.calls("finish")
    assert (status, tags) == ("FINISHED", {}), (status, tags)
    assert {"plan.toml", "report.html", "checkpoints/best/model.safetensors"} <= set(files), files
    assert any(file.startswith("plots/") for file in files), files
    times = [time for (lines,) in case.calls("metrics") for _, time, _ in lines]
    assert times == sorted(times) and end - 60 < times[0] <= times[-1] < end + 2, (times[0], times[-1], end)

    before, count = (case.folder / "calls").read_text(), len(case.values())
    assert "already has everything" in case.log()
    assert (case.folder / "calls").read_text() == before

    printed = case.run(sys.executable, TENON_LOG, "print", case.run_folder()).splitlines()
    assert sum(line.startswith("step ") for line in printed) == len(case.values())
    assert "param optimizer.lr = 0.1" in printed and "status FINISHED" in printed and "file report.html" in printed
    case.run(sys.executable, TENON_LOG, "--tracker", CSV_TRACKER, case.run_folder())
    assert len((case.folder / "metrics.csv").read_text().splitlines()) == len(case.values())
    assert list(json.loads((case.run_folder() / "tracker.json").read_text())) == ["tracker.py", "csv_tracker.py"]

    (case.folder / "where").write_text("another server")
    case.log()
    assert len(case.calls("start")) == 2 and len(case.values()) == 2 * count


def check_followed(case):
    """tenon-log is stopped and started again while the run trains."""
    host = case.start(HOST, "--config", "run.toml", "--set", "train.epochs=150")
    wait_until(lambda: list(case.folder.glob("runs/logged/*/run.json")), "the start of the run")
    first = case.start(*case.log_command())
    wait_until(lambda: case.values(), "the first value")
    assert host.poll() is None, "the run has already ended"
    other = case.log(expected=1)
    assert "another process logs" in other, other
    first.terminate()
    assert first.wait() == 128 + signal.SIGTERM
    case.log()
    assert host.wait() == 0
    case.check_values()
    assert case.ends() == [("FINISHED", {})]
    assert [run_id for run_id, *_ in case.calls("start")] == [None, "run of logged"]


def check_resumed(case):
    case.host("killed-run", "--config", "run.toml", "--step", "8", expected=-signal.SIGKILL)
    case.log("--no-follow")
    assert max(step for _, step, _ in case.values()) >= 7 and not case.ends()
    case.host("--config", "run.toml", "--resume", "auto")
    case.log()
    case.check_values(has_repeated_steps=True)
    ((status, tags),) = case.ends()
    assert status == "FINISHED" and "step-" in tags["tenon.resumed_from"], (status, tags)
    # A run that was logged to its end, and then trains longer.
    case.host("--config", "run.toml", "--resume", case.run_folder(), "--set", "train.epochs=4")
    case.log()
    assert [status for status, _ in case.ends()] == ["FINISHED", "FINISHED"]
    assert sum(not name.startswith("test/") for name, _, _ in case.values()) == sum(
        name not in ("event", "epoch", "step", "time_s") and not name.startswith("test/") for line in case.history()
        for name in line)
    assert case.calls("start")[-1][3]["train.epochs"] == 4


def check_followed_while_it_resumes(case):
    case.host("killed-run", "--config", "run.toml", "--step", "8", expected=-signal.SIGKILL)
    log = case.start(*case.log_command())
    wait_until(lambda: any(step >= 7 for _, step, _ in case.values()), "the last step")
    case.host("--config", "run.toml", "--resume", "auto")
    assert log.wait(timeout=LIMIT_S) == 0
    case.check_values(has_repeated_steps=True)
    assert [status for status, _ in case.ends()] == ["FINISHED"]


def check_resumed_in_a_new_folder(case):
    case.host("--config", "run.toml", "--set", "checkpoint.keep=9")
    first = case.run_folder()
    case.host("--config", "run.toml", "--set", "checkpoint.keep=9", "--set", "run.output_dir='second'", "--resume",
              first / "checkpoints/step-00000006")
    shutil.move(case.folder / "runs", case.folder / "first")
    shutil.move(case.folder / "second", case.folder / "runs")
    case.log()
    case.check_values()


def check_lines(case):
    """An incomplete line is not read. Lines that a resumed run adds between repeated ones are logged."""
    case.host("--config", "run.toml")
    run = json.loads((case.run_folder() / "run.json").read_text())
    (case.run_folder() / "run.json").write_text(json.dumps(run | {"status": "running"}))
    history = case.run_folder() / "history.jsonl"

    def write(*lines):
        history.unlink(missing_ok=True)
        history.write_text("".join(json.dumps({"event": event, "epoch": 1, "step": step, "time_s": 0.5} | values) + "\n"
                                   for event, step, values in lines))

    start = [("step", 2, {"a": 2}), ("step", 4, {"a": "NaN"}), ("checkpoint", 4, {}), ("validation", 4, {"b/loss": 1})]
    write(*start, ("step", 6, {"a": "-Infinity"}), ("step", 8, {"a": 8}))
    complete = history.read_text()
    history.write_text(complete[:-3])
    case.log("--no-follow")
    assert [(name, step) for name, step, _ in case.values()] == [("a", 2), ("a", 4), ("b/loss", 4), ("a", 6)]
    assert [str(value) for *_, value in case.values()][1::2] == ["nan", "-inf"]
    history.write_text(complete)
    case.log("--no-follow")
    write(*start, ("validation", 4, {"c/loss": 1}), ("step", 5, {"a": 5}), ("step", 6, {"a": 6}), ("step", 8, {"a": 8}),
          ("step", 9, {"a": 9}))
    case.log("--no-follow")
    assert [(name, step) for name, step, _ in case.values()][4:] == [("a", 8), ("c/loss", 4), ("a", 5), ("a", 9)]


def check_ends(case):
    case.host("--config", "run.toml", "--set", "optimizer.lr=1e30", expected=7)
    case.log()
    ((status, tags),) = case.ends()
    assert status == "FAILED" and "step" in tags["tenon.error"], (status, tags)

    shutil.rmtree(case.folder / "runs")
    host = case.start(HOST, "--config", "run.toml", "--set", "train.epochs=100000")
    wait_until(lambda: list(case.folder.glob("runs/logged/*/history.jsonl")) and case.history(), "the first line")
    host.terminate()
    assert host.wait() == 128 + signal.SIGTERM
    case.log()
    assert case.ends()[1:] == [("KILLED", {})], case.ends()

    shutil.rmtree(case.folder / "runs")
    case.host("killed-run", "--config", "run.toml", "--step", "8", expected=-signal.SIGKILL)
    for name in ("plan.toml", "run.json", "history.jsonl"):
        os.utime(case.run_folder() / name, (time.time() - 3600,) * 2)
    case.log()
    assert case.ends()[2:] == [("KILLED", {"tenon.error": "the process was killed or crashed"})], case.ends()


def check_away(case):
    case.host("--config", "run.toml")
    (case.folder / "away").touch()
    output = case.log(expected=1)
    assert "ConnectionError: the server is away\nrun the command again to continue" in output, output
    (case.folder / "away").unlink()
    case.log()
    case.check_values()


def check_errors(case):
    case.host("--config", "run.toml")
    run = case.run_folder()
    (case.folder / "empty.py").write_text("")

    def refuse(code, text, *arguments):
        output = case.run(sys.executable, "-S", "-E", TENON_LOG, *arguments, expected=code)
        assert text in output, output

    refuse(3, "mlflow is not installed for ", "mlflow", run)
    refuse(3, "pip install wandb", "wandb", run)
    refuse(2, "tensorboard is not a tracker; expected mlflow, wandb, print or --tracker FILE.py", "tensorboard", run)
    refuse(2, "expected the folder of one run after the name of the tracker", "print")
    refuse(2, "expected a path relative to RUN", "print", run, "--artifacts", "/etc/hosts")
    refuse(5, "nowhere: does not exist; expected the folder of a run", "print", "nowhere")
    refuse(5, f"has no plan.toml; expected the folder of a run, such as runs/digits/2026-11-21T11-30-05; did you mean {run}?",
           "print", run.parent)
    refuse(3, "empty.py has no class Tracker", "--tracker", "empty.py", run)
    refuse(3, "none.py is no file that ends in .py", "--tracker", "none.py", run)


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-log-") as name:
        for check in (check_complete, check_followed, check_resumed, check_followed_while_it_resumes,
                      check_resumed_in_a_new_folder, check_lines, check_ends, check_away, check_errors):
            start = time.monotonic()
            check(Case(pathlib.Path(name) / check.__name__))
            print(f"{check.__name__}: ok ({time.monotonic() - start:.1f} s)", flush=True)


main()
