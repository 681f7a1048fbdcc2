"""How much of the time a CUDA device is idle: from a timeline, or sampled by nvidia-smi."""
from __future__ import annotations

import json
import pathlib
import shutil
import statistics
import subprocess
import threading
import time
from typing import Any

DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
"""Categories of LibTorch's timeline for work on the device, in PyTorch and in the host."""


def idle_share(trace: pathlib.Path) -> dict[str, Any]:
    """Returns the share of the time between the first and the last work of a timeline in which the device is idle.

    The profiler slows the launching thread down, so the share is an upper bound. Overlapping work counts once.
    """
    content = json.loads(trace.read_text())
    events = content["traceEvents"] if isinstance(content, dict) else content
    spans = sorted((float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in events
                   if event.get("cat") in DEVICE_WORK and event.get("ph") == "X")
    if not spans:
        return {"idle": None, "kernels": 0}
    busy, reached = 0.0, spans[0][0]
    for begin, end in spans:
        busy += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return {"idle": 1 - busy / (reached - spans[0][0]), "kernels": len(spans)}


class UtilizationSampler:
    """Samples nvidia-smi's utilization.gpu, the share of time in which a kernel runs, ten times a second."""

    SETTLING = 0.5  # seconds at the beginning of an interval in which samples still include the time before it

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        self.process: subprocess.Popen[str] | None = None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(["nvidia-smi", "--id=0", "--query-gpu=utilization.gpu",
                                             "--format=csv,noheader,nounits", "--loop-ms=100"], text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process and self.process.stdout
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.samples.append((time.monotonic(), float(line)))

    def idle_between(self, begin: float, end: float) -> float | None:
        """Returns the mean idle share of an interval, or None if it has no samples."""
        values = [value for moment, value in self.samples if begin + self.SETTLING <= moment <= end]
        return 1 - statistics.mean(values) / 100 if values else None

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()
