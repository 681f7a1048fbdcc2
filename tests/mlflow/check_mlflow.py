#!/usr/bin/env python3
"""Checks the callback mlflow with a real server: python3 tests/mlflow/check_mlflow.py PATH/TO/host

Starts `mlflow server` on loopback with a SQLite database and reads back with the package mlflow what the host logged:
a complete run; a run during which the server starts only halfway and is away again; a run that was killed while the
server was away and then resumed; and a run that `host sync` sends after its end. Exit status 0: every value of
history.jsonl, every setting of plan.toml and every file are there once. 77: Python lacks mlflow.
"""
import collections
import json
import math
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request

os.environ.update(no_proxy="*", MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
try:
    from mlflow.tracking import MlflowClient
except ImportError as missing:
    print(f"check_mlflow: skipped: {missing}; install mlflow")
    sys.exit(77)

RUN_FILE = """
[run]
name = "digits on a server"
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 100
workers = 0
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[data.test]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
weight = 0.5
[[metric]]
use = "accuracy"
[train]
epochs = 8
[optimizer]
use = "sgd"
lr = 0.1
[log]
every = "2 steps"
[checkpoint]
every = "10 steps"
[[callback]]
use = "mlflow"
params = { wait_s = 120, artifacts = ["plan.toml", "report.html", "checkpoints/best/*", "plots/*"] }
"""
LIMIT_S = 120  # no wait of this test is that long, unless something is wrong


def wait_until(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {LIMIT_S} s"
        time.sleep(0.05)


class Server:
    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process = None

    def answers(self):
        try:
            return urllib.request.urlopen(self.uri + "/health", timeout=5).status == 200
        except OSError:
            return False

    def start(self):
        with (self.folder / "server.txt").open("a") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers",
                 "1", "--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--artifacts-destination",
                 str(self.folder / "artifacts")],
                stdout=output, stderr=output, cwd=self.folder, start_new_session=True)
        wait_until(lambda: self.process.poll() is not None or self.answers(), "the start of the server")
        assert self.process.poll() is None, (self.folder / "server.txt").read_text()

    def stop(self):
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
            wait_until(lambda: not self.answers(), "the end of the server")


class Case:
    """A folder with a run file, and what the host logs of it."""

    def __init__(self, host, server, folder):
        self.host, self.server, self.folder = host, server, folder
        folder.mkdir()
        (folder / "run.toml").write_text(RUN_FILE)
        self.environment = dict(os.environ, MLFLOW_TRACKING_URI=server.uri, MLFLOW_EXPERIMENT_NAME=folder.name)

    def start(self, *arguments):
        with (self.folder / "output.txt").open("a") as output:
            return subprocess.Popen([self.host, *map(str, arguments)], cwd=self.folder, env=self.environment,
                                    stdout=output, stderr=output)

    def run(self, *arguments, expected=0):
        code = self.start(*arguments).wait()
        assert code == expected, f"exit code {code}\n" + (self.folder / "output.txt").read_text()

    def run_folder(self):
        (found,) = (self.folder / "runs/digits on a server").iterdir()
        return found

    def lines(self):
        found = list(self.folder.glob("runs/*/*/history.jsonl"))
        return [json.loads(line) for line in found[0].read_text().splitlines()] if found else []

    def check(self, status="FINISHED", has_repeated_steps=False):
        """Compares the run on the server with the run folder. The times of repeated steps differ from the history."""
        client = MlflowClient(self.server.uri)
        experiment = client.get_experiment_by_name(self.folder.name)
        (run,) = client.search_runs([experiment.experiment_id])
        expected = collections.Counter()
        for line in self.lines():
            for name, value in line.items():
                if name in ("event", "epoch", "step", "time_s"):
                    continue
                is_mean = line["event"] == "epoch" and name in ("train/loss", "train/cross_entropy")
                is_time = has_repeated_steps and name.endswith("_s")
                expected[name + "_epoch" * is_mean, line["step"], "a time" if is_time else float(value)] += 1
        assert len(expected) > 100, expected
        logged = collections.Counter()
        for key in {name for name, _, _ in expected} | set(run.data.metrics):
            for metric in client.get_metric_history(run.info.run_id, key):
                assert math.isfinite(metric.value)
                is_time = has_repeated_steps and metric.key.endswith("_s")
                logged[metric.key, metric.step, "a time" if is_time else metric.value] += 1
        # MLflow keeps a value once that two lines of a step have in the same millisecond, such as the learning rate.
        assert logged <= expected and set(logged) == set(expected), (logged - expected, expected - logged)
        assert any(name == "test/loss" for name, _, _ in logged)

        plan = tomllib.loads((self.run_folder() / "plan.toml").read_text())
        assert run.data.params["optimizer.lr"] == "0.1"
        assert run.data.params["loss.0.weight"] == "0.5"
        assert run.data.params["train.epochs"] == str(plan["train"]["epochs"])
        assert run.data.params["run.name"] == "digits on a server"
        assert len(run.data.params) > 60, run.data.params
        assert run.info.status == status, run.info.status
        assert run.info.run_name == self.run_folder().name
        assert run.info.end_time >= run.info.start_time

        received = pathlib.Path(client.download_artifacts(run.info.run_id, "", str(self.folder)))
        files = sorted(str(path.relative_to(received)) for path in received.rglob("*") if path.is_file()
                       and path.relative_to(received).parts[0] in ("plan.toml", "report.html", "checkpoints", "plots"))
        assert {"plan.toml", "report.html", "checkpoints/best/model.safetensors"} <= set(files), files
        assert any(file.startswith("plots/") for file in files), files
        for file in files:
            assert (received / file).read_bytes() == (self.run_folder() / file).read_bytes(), file
        return run


def check_complete(case):
    case.server.start()
    case.run("--config", "run.toml")
    run = case.check()
    assert run.data.tags["mlflow.source.name"] == "tenon"
    case.server.stop()


def check_absent_for_half(case):
    """The server starts when half of the run is over, goes away again, and is back at the end."""
    (case.folder / "run.toml").write_text(RUN_FILE.replace("epochs = 8", "epochs = 60"))
    process = case.start("--config", "run.toml")
    wait_until(lambda: any(line["epoch"] >= 30 for line in case.lines()), "half of the run")
    case.server.start()
    client = MlflowClient(case.server.uri)
    wait_until(lambda: client.get_experiment_by_name(case.folder.name), "the first request")
    case.server.stop()
    wait_until(lambda: any(line["event"] == "test" for line in case.lines()), "the end of the training")
    case.server.start()
    assert process.wait() == 0, (case.folder / "output.txt").read_text()
    case.check()
    case.server.stop()


def check_killed(case):
    case.run("killed-run", "--config", "run.toml", "--step", "57", expected=-signal.SIGKILL)
    case.server.start()
    case.run("killed-run", "--config", "run.toml", "--step", "83", expected=-signal.SIGKILL)
    client = MlflowClient(case.server.uri)
    case.run("--config", "run.toml", "--resume", "auto")
    case.check(has_repeated_steps=True)
    assert len(client.search_runs([client.get_experiment_by_name(case.folder.name).experiment_id])) == 1
    case.server.stop()


def check_sync(case):
    (case.folder / "run.toml").write_text(RUN_FILE.replace("wait_s = 120", "wait_s = 0"))
    case.run("--config", "run.toml")
    case.server.start()
    case.run("sync", case.run_folder())
    case.check()
    case.run("sync", case.run_folder())  # nothing is sent twice
    case.check()
    case.server.stop()


def main():
    host = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="tenon-mlflow-") as name:
        folder = pathlib.Path(name)
        server = Server(folder)
        try:
            for check in (check_complete, check_absent_for_half, check_killed, check_sync):
                start = time.monotonic()
                check(Case(host, server, folder / check.__name__))
                print(f"{check.__name__}: ok ({time.monotonic() - start:.0f} s)")
        finally:
            server.stop()


main()
