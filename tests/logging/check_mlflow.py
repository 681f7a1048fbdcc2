#!/usr/bin/env python3
"""Checks tenon-log with the package mlflow: python3 tests/logging/check_mlflow.py TENON_LOG HOST [CASE ...]

Starts `mlflow server` on loopback with a SQLite database and reads back with the package mlflow what tenon-log logged:
a complete run, also to a file store without a server; a run during which the server is away; and a run that was killed
and then resumed. Exit status 0: every value of history.jsonl, every setting of plan.toml and every file are there once.
77: Python lacks mlflow. With names of cases, such as `file_store`, only these are checked.
"""
import collections
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

from logged_run import LIMIT_S, LoggedRun, wait_until

os.environ.update(no_proxy="*", MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true", MLFLOW_ALLOW_FILE_STORE="true",
                  MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")
try:
    from mlflow.tracking import MlflowClient
except ImportError as missing:
    print(f"check_mlflow: skipped: {missing}; install mlflow")
    sys.exit(77)

ARTIFACTS = ("plan.toml", "report.html", "checkpoints/best/*", "plots/*")


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


class Case(LoggedRun):
    """A run, and what tenon-log logs of it."""

    def __init__(self, tenon_log, host, server, folder):
        super().__init__(folder, name="digits on a server", batch_size=100, epochs=8, log_every="2 steps",
                         checkpoint_every="10 steps")
        self.tenon_log, self.host, self.server = tenon_log, host, server
        self.point_to(server.uri)

    def point_to(self, uri):
        self.uri = uri
        self.environment |= {"MLFLOW_TRACKING_URI": uri, "MLFLOW_EXPERIMENT_NAME": self.folder.name}

    def train(self, *arguments, expected=0):
        self.run(self.host, *arguments, expected=expected)

    def log_command(self, *arguments):
        return (sys.executable, self.tenon_log, "mlflow", self.run_folder(), "--artifacts", *ARTIFACTS, *arguments)

    def log(self, *arguments, expected=0):
        return self.run(*self.log_command(*arguments), expected=expected)

    def check(self, status="FINISHED", has_repeated_steps=False):
        """Compares the run on the server with the run folder. The times of repeated steps differ from the history."""
        client = MlflowClient(self.uri)
        experiment = client.get_experiment_by_name(self.folder.name)
        (run,) = client.search_runs([experiment.experiment_id])
        expected = collections.Counter()
        for line in self.history():
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
    case.train("--config", "run.toml")
    case.server.start()
    case.log()
    run = case.check()
    assert run.data.tags["mlflow.source.name"] == "tenon"
    case.log()  # nothing is logged twice
    case.check()
    case.server.stop()


def check_file_store(case):
    case.point_to((case.folder / "store").as_uri())
    case.train("--config", "run.toml")
    case.log()
    case.check()


def check_away(case):
    """The server is away at the start and for a part of the run. Each time the command ends, and continues later."""
    host = case.start(case.host, "--config", "run.toml", "--set", "train.epochs=60")
    wait_until(case.history, "the first line")
    host.send_signal(signal.SIGSTOP)
    assert "run the command again to continue" in case.log(expected=1)
    case.server.start()
    log = case.start(*case.log_command())
    client = MlflowClient(case.uri)
    wait_until(lambda: client.get_experiment_by_name(case.folder.name), "the first request")
    case.server.stop()
    host.send_signal(signal.SIGCONT)
    assert log.wait(timeout=LIMIT_S) == 1
    case.server.start()
    case.log()
    assert host.wait() == 0
    case.check()
    case.server.stop()


def check_killed(case):
    case.server.start()
    case.train("killed-run", "--config", "run.toml", "--step", "57", expected=-signal.SIGKILL)
    case.log("--no-follow")
    case.train("killed-run", "--config", "run.toml", "--step", "83", expected=-signal.SIGKILL)
    case.train("--config", "run.toml", "--resume", "auto")
    case.log()
    run = case.check(has_repeated_steps=True)
    assert "step-" in run.data.tags["tenon.resumed_from"], run.data.tags
    case.train("--config", "run.toml", "--resume", case.run_folder(), "--set", "train.epochs=9")
    case.log()
    client = MlflowClient(case.uri)
    (run,) = client.search_runs([client.get_experiment_by_name(case.folder.name).experiment_id])
    assert run.data.params["train.epochs"] == "8" and run.data.tags["tenon.changed.train.epochs"] == "9", run.data
    case.server.stop()


def main():
    tenon_log, host = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="tenon-mlflow-") as name:
        folder = pathlib.Path(name)
        server = Server(folder)
        try:
            for check in (check_complete, check_file_store, check_away, check_killed):
                if sys.argv[3:] and check.__name__.removeprefix("check_") not in sys.argv[3:]:
                    continue
                start = time.monotonic()
                check(Case(tenon_log, host, server, folder / check.__name__))
                print(f"{check.__name__}: ok ({time.monotonic() - start:.0f} s)")
        finally:
            server.stop()


main()
