"""A folder with a run that tenon-log logs, for the tests in this folder."""
import json
import os
import string
import subprocess
import time

LIMIT_S = 120  # no wait of these tests is that long, unless something is wrong
RUN_FILE = string.Template("""
[run]
name = "$name"
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = $batch_size
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
epochs = $epochs
[optimizer]
use = "sgd"
lr = 0.1
[log]
every = "$log_every"
[checkpoint]
every = "$checkpoint_every"
""")


def wait_until(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {LIMIT_S} s"
        time.sleep(0.05)


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class LoggedRun:
    """Creates the folder with run.toml: RUN_FILE with these settings."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self.name = settings["name"]
        self.environment = dict(os.environ)
        self.started = 0
        folder.mkdir()
        (folder / "run.toml").write_text(RUN_FILE.substitute(settings))

    def start(self, *command):
        """Returns the process, with the file of its output as `output`."""
        self.started += 1
        path = self.folder / f"output{self.started}"
        with path.open("w") as output:
            process = subprocess.Popen([*map(str, command)], cwd=self.folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        process.output = path
        return process

    def run(self, *command, expected=0):
        process = self.start(*command)
        code = process.wait(timeout=LIMIT_S)
        output = process.output.read_text(errors="replace")
        assert code == expected, f"{command}: exit code {code}; expected {expected}\n{output}"
        return output

    def run_folder(self):
        return next((self.folder / "runs" / self.name).iterdir())

    def history(self):
        files = list(self.folder.glob(f"runs/{self.name}/*/history.jsonl"))
        return read_lines(files[0]) if files else []
