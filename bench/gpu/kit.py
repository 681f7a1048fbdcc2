"""The files of the kit, and runs of its host: run files, exit codes, histories and run records."""
from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import pathlib
import queue
import resource
import shutil
import signal
import subprocess
import threading
import time
from typing import Any, Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
"""The folder of the kit. It mirrors the folders of the repository and of the build."""

KIND = json.loads((ROOT / "kit.json").read_text()) if (ROOT / "kit.json").exists() else {}
"""What scripts/gpu packed: version, commit, and whether the device is the stand-in for CUDA."""

STANDIN = "stand-in for CUDA"
"""The name of its device. Its kernels do nothing: LibTorch's operators are computed on the CPU."""


class Skipped(Exception):
    """The check cannot run here. The message is the reason."""


class Failed(Exception):
    """The check ran and found an error. The message names what was found and expected."""


def torch_folders() -> list[pathlib.Path]:
    """Returns the folders with LibTorch's libraries and with the CUDA libraries next to the package.

    TENON_LIBTORCH overrides the package. The package is found without importing it.
    """
    named = os.environ.get("TENON_LIBTORCH")
    if named:
        places = [pathlib.Path(named), pathlib.Path(named) / "torch"]
        root = next((place for place in places if (place / "lib/libtorch_cpu.so").exists()), None)
        if root is None:
            raise SystemExit(f"gpu: TENON_LIBTORCH={named}: no lib/libtorch_cpu.so there")
    else:
        spec = importlib.util.find_spec("torch")
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f"gpu: python3 has no package torch; install torch {KIND.get('torch', '')}, or set TENON_LIBTORCH")
        root = pathlib.Path(next(iter(spec.submodule_search_locations)))
    return [root / "lib", *sorted((root.parent / "nvidia").glob("*/lib"))]


def host_environment(root: pathlib.Path = ROOT) -> dict[str, str]:
    """Returns the environment of the kit's programs: libraries of the kit, then LibTorch, then CUDA."""
    environment = {name: value for name, value in os.environ.items() if name != "TENON_PLUGIN_PATH"}
    folders = [root / "lib", *torch_folders()]
    inherited = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    environment["LD_LIBRARY_PATH"] = ":".join([*map(str, folders), *inherited])
    environment["TENON_LIBTORCH"] = str(torch_folders()[0].parent)
    environment["TENON_TEST_BUILD"] = str(root)
    if KIND.get("standin"):
        environment["LD_PRELOAD"] = str(root / "lib/libtenon_cuda_standin.so")
    return environment


def torch_environment(**variables: str) -> dict[str, str]:
    """Returns the environment of PyTorch's programs, with these variables."""
    return {**(host_environment() if KIND.get("standin") else os.environ), **variables}


def faults_of_standin(folder: pathlib.Path) -> list[str]:
    """Returns what the stand-in for CUDA reported to the programs that wrote into this folder."""
    files = [file for pattern in ("*.txt", "*.log") for file in sorted(folder.rglob(pattern))]
    return [line for file in files for line in file.read_text(errors="replace").splitlines()
            if line.startswith("CUDA stand-in: ")]


def toml_value(value: Any) -> str:
    """Writes a value in TOML's notation."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, (str, pathlib.Path)):
        return json.dumps(str(value))
    return repr(value)


def toml_text(plan: dict[str, Any]) -> str:
    """Writes a run file. Top-level dictionaries become sections, and lists become arrays of tables."""
    text = ""
    for section, content in plan.items():
        for table in content if isinstance(content, list) else [content]:
            text += f"[[{section}]]\n" if isinstance(content, list) else f"[{section}]\n"
            text += "".join(f"{key} = {toml_value(value)}\n" for key, value in table.items())
    return text


@dataclasses.dataclass
class HostRun:
    """A finished process of the host."""

    exit_code: int
    output: str
    errors: str
    seconds: float
    folder: pathlib.Path | None

    @property
    def record(self) -> dict[str, Any]:
        """run.json of the run folder."""
        if self.folder is None:
            raise Failed(f"the run left no run folder: {self.errors[-300:]}")
        return json.loads((self.folder / "run.json").read_text())

    @property
    def history(self) -> list[dict[str, Any]]:
        """The lines of history.jsonl."""
        if self.folder is None:
            raise Failed(f"the run left no run folder: {self.errors[-300:]}")
        return [json.loads(line) for line in (self.folder / "history.jsonl").read_text().splitlines()]

    def steps(self) -> list[dict[str, Any]]:
        """The history lines of steps."""
        return [line for line in self.history if line["event"] == "step"]

    def losses(self) -> list[float]:
        """The training losses in the order of the steps."""
        return [float(line["train/loss"]) for line in self.steps()]

    def peak_mib(self) -> float | None:
        """The peak memory of tensors on the device, in MiB."""
        values = [line["train/device_memory_mib"] for line in self.history if "train/device_memory_mib" in line]
        return float(max(values)) if values else None

    def error(self) -> str:
        """The first error message, shortened to one line."""
        lines = [line for line in self.errors.splitlines() if line.startswith("error:")] or self.errors.splitlines()
        return lines[0][:300] if lines else "no message"

    def expect(self, exit_code: int = 0) -> "HostRun":
        """Fails unless the process ended with this exit code."""
        if self.exit_code != exit_code:
            raise Failed(f"exit code {self.exit_code}, expected {exit_code}: {self.error()}")
        return self


@dataclasses.dataclass
class Context:
    """The settings of a check, and its folder."""

    device: str
    small: bool
    work: pathlib.Path
    torch_problem: str = ""
    save: Callable[[dict[str, Any]], None] = lambda partial: None

    @property
    def host(self) -> pathlib.Path:
        return ROOT / "bin/host"

    @property
    def is_standin(self) -> bool:
        """Whether the device is the stand-in for CUDA."""
        return self.device == "cuda" and bool(KIND.get("standin"))

    @property
    def is_real(self) -> bool:
        """Whether the device is a CUDA device that runs kernels."""
        return self.device == "cuda" and not self.is_standin

    @property
    def torch_variants(self) -> tuple[str, ...]:
        """How PyTorch runs a network. torch.compile needs kernels."""
        return () if self.torch_problem else ("eager",) if self.is_standin else ("eager", "compile")

    def choose(self, full: Any, small: Any) -> Any:
        """Returns the first value, or the second one with --small."""
        return small if self.small else full

    def require_torch(self) -> None:
        if self.torch_problem:
            raise Skipped(self.torch_problem)

    def require_device(self, what: str) -> None:
        if self.device != "cuda":
            raise Skipped(f"{what} needs a CUDA device")

    def require_kernels(self) -> None:
        """Ends a check for the stand-in for CUDA. Checks call it as late as they can, so that their code has run."""
        if self.is_standin:
            raise Skipped("no kernels")

    def run_file(self, plan: dict[str, Any], name: str) -> pathlib.Path:
        """Writes a run file into an empty folder of this name. Returns its path."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        plan = {**plan, "run": {"device": self.device, "output_dir": str(folder / "runs"), **plan.get("run", {})}}
        file = folder / "run.toml"
        file.write_text(toml_text(plan))
        return file

    def run_host(self, arguments: list[str], folder: pathlib.Path, memory_limit: int = 0) -> HostRun:
        """Runs a command of the host in this folder. `memory_limit` limits the memory of the stand-in
        for CUDA or, on the CPU, its address space, in bytes."""
        environment = host_environment()
        limits_device = bool(memory_limit) and self.device == "cuda"
        if limits_device:
            environment["TENON_STANDIN_MEMORY_MIB"] = str(memory_limit >> 20)

        def limit_memory() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))

        begin = time.monotonic()
        done = subprocess.run([str(self.host), *arguments], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, errors="replace",
                              preexec_fn=limit_memory if memory_limit and not limits_device else None)
        (folder / "output.txt").write_text(done.stdout + done.stderr)
        return HostRun(done.returncode, done.stdout, done.stderr, time.monotonic() - begin, newest_run(folder))

    def train(self, plan: dict[str, Any], name: str, *arguments: str, memory_limit: int = 0) -> HostRun:
        """Trains a plan. Returns the finished run, whatever its exit code."""
        file = self.run_file(plan, name)
        return self.run_host(["--config", str(file), "--quiet", *arguments], file.parent, memory_limit)


def newest_run(folder: pathlib.Path) -> pathlib.Path | None:
    """Returns the newest run folder in FOLDER/runs."""
    found = sorted((file.parent for file in folder.glob("runs/*/*/run.json")), key=lambda run: run.stat().st_mtime)
    return found[-1] if found else None


class Follower:
    """Runs a program and returns its output lines with their arrival times."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: pathlib.Path, name: str):
        self.log = folder / f"{name}.log"
        with self.log.open("w") as errors:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors)
        self.lines: queue.Queue[tuple[float, str] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line))
        self.lines.put(None)

    def __iter__(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """Yields the lines that are JSON objects, until the program ends."""
        while (entry := self.lines.get()) is not None:
            if entry[1].startswith("{"):
                yield entry[0], json.loads(entry[1])

    def reply(self, request: str = "") -> dict[str, Any]:
        """Sends a line, if there is one. Returns the next line of the program."""
        if request and self.process.stdin:
            try:
                self.process.stdin.write(request + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass
        for _, line in self:
            return line
        raise Failed(f"exit code {self.process.wait()}: {last_line(self.log)}")

    def stop(self) -> int:
        """Ends the program. Returns its exit code."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            return self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def last_line(file: pathlib.Path) -> str:
    """Returns the last line of a log that is not empty."""
    lines = [line for line in file.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def send_signal(process: subprocess.Popen, number: signal.Signals) -> int:
    """Sends a signal and returns the exit code as a shell reports it."""
    process.send_signal(number)
    code = process.wait(timeout=60)
    return 128 - code if code < 0 else code
