"""Compares the training speed of the host with PyTorch, eager and compiled, alternating.

Each round runs the host with and without CUDA graphs, then a slice of each PyTorch program. All train the same network in bf16 with the same shapes,
fused AdamW and, for images, channels_last. The host is a new process in each round; its warm-up is as many steps as are
timed. The timed interval begins and ends with a synchronisation: in the host two lines of the log, which read the loss.
The idle share of the device is 1 minus nvidia-smi's utilization over the timed interval, which disturbs neither
program. `idle_*` checks compare timelines of the profiler, which slows both down.
"""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from typing import Any

import npy
from device_time import UtilizationSampler, idle_share
from kit import ROOT, Context, Failed, Follower, host_environment, last_line, torch_environment

Row = dict[str, Any]
ROUNDS = 2
HOSTS = {"host": "auto", "host without CUDA graphs": "off"}  # train.cuda_graph
EXTRA_STEPS = 2  # after the timed ones, so that the end of the run is not timed
RESNET = {"depth": 50, "classes": 1000}
EFFICIENTNET = {"variant": "b5", "classes": 1000}
GPT = {"vocabulary_size": 50257, "context": 1024, "layers": 12, "heads": 12, "width": 768}

SETTINGS: dict[str, Row] = {
    "efficientnet_6x8": {"use": "efficientnet", "params": EFFICIENTNET, "batch": 6, "accumulate": 8, "side": 456,
                         "steps": 12, "traced_steps": 2},
    "efficientnet_128": {"use": "efficientnet", "params": EFFICIENTNET, "batch": 128, "smaller_batches": [96, 64],
                         "mib_per_sample": 624, "accumulate": 1, "side": 456, "steps": 10, "traced_steps": 3},
    "resnet_256": {"use": "resnet", "params": RESNET, "batch": 256, "accumulate": 1, "side": 224, "steps": 30,
                   "traced_steps": 5},
    "gpt_16": {"use": "gpt", "params": GPT, "batch": 16, "accumulate": 1, "steps": 30, "traced_steps": 5},
}
SMALL: dict[str, Row] = {
    "efficientnet_6x8": {"params": {"variant": "b0", "classes": 10}, "batch": 2, "accumulate": 2, "side": 32},
    "efficientnet_128": {"params": {"variant": "b0", "classes": 10}, "batch": 4, "smaller_batches": [2],
                         "side": 32},
    "resnet_256": {"params": {"depth": 18, "classes": 10}, "batch": 2, "side": 32},
    "gpt_16": {"params": {"vocabulary_size": 64, "context": 16, "layers": 2, "heads": 2, "width": 32}, "batch": 4},
}


def settings_of(context: Context, name: str) -> Row:
    small = {**SMALL[name], "steps": 3, "traced_steps": 2} if context.small else {}
    return {**SETTINGS[name], **small, "precision": "bf16", "device": context.device}


def plan_of(context: Context, settings: Row, steps: int) -> Row:
    """Returns the run file. Its epoch is longer than the run, so that no epoch ends in the timed interval."""
    samples = settings["batch"] * settings["accumulate"] * (steps + 1)
    params = settings["params"]
    is_text = settings["use"] == "gpt"
    if is_text:
        folder = context.work / f"tokens-{params['context']}-{samples}"
        if not folder.exists():
            field = ("int64", (samples, params["context"]), params["vocabulary_size"])
            npy.write_folder(folder, {"tokens": field, "target": field})
        train: Row = {"use": "arrays", "params": {"path": str(folder)}}
    else:
        train = {"use": "synthetic", "params": {"samples": samples, "height": settings["side"],
                                                "width": settings["side"], "classes": params["classes"],
                                                "dtype": "uint8"}}
    return {
        "model": {"use": settings["use"], "params": params},
        "data": {"batch_size": settings["batch"], "workers": max(1, min(8, (os.cpu_count() or 1) - 1)), "train": train},
        **({} if is_text else {"data.batch_transform": [{"use": "normalize"}]}),
        "loss": [{"use": "sequence_cross_entropy" if is_text else "cross_entropy"}],
        "train": {"steps": steps, "accumulate": settings["accumulate"], "precision": settings["precision"],
                  **({} if is_text else {"memory_format": "channels_last"})},
        "optimizer": {"use": "adamw", "lr": 1e-4},
        "validation": {"every": "never"},
        "checkpoint": {"every": "never"},
        "log": {"every": f"{settings['steps']} steps", "tensorboard": False},
    }


def time_host(context: Context, settings: Row, name: str, sampler: UtilizationSampler, graph: str = "auto") -> Row:
    """Runs the host once. Returns seconds per step, peak memory and the idle share. graph: train.cuda_graph."""
    steps = settings["steps"]
    plan = plan_of(context, settings, 2 * steps + EXTRA_STEPS)
    plan["train"]["cuda_graph"] = graph
    file = context.run_file(plan, f"speed-{name}-{graph}")
    follower = Follower([str(context.host), "--config", str(file), "--log-format", "json"], host_environment(),
                        file.parent, "host")
    moments: dict[int, float] = {}
    lines: dict[int, Row] = {}
    for moment, line in follower:
        if line.get("event") == "step":
            moments[line["step"]], lines[line["step"]] = moment, line
    code = follower.stop()
    if code == 10:
        raise OutOfMemory("the host")
    if code != 0 or steps not in lines or 2 * steps not in lines:
        raise Failed(f"host: exit code {code}: {last_line(follower.log)}")
    return {"seconds": (lines[2 * steps]["time_s"] - lines[steps]["time_s"]) / steps,
            "peak_mib": lines[2 * steps].get("train/device_memory_mib"), "loss": lines[2 * steps]["train/loss"],
            "idle": sampler.idle_between(moments[steps], moments[2 * steps])}


class OutOfMemory(Exception):
    """The batch does not fit. The message names the program."""


class TorchProgram:
    """torch_speed.py with one network. It stays alive between the rounds."""

    def __init__(self, context: Context, settings: Row, name: str, variant: str):
        folder = context.work / f"torch-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{variant}.json"
        file.write_text(json.dumps(settings))
        command = [sys.executable, str(ROOT / "bench/gpu/torch_speed.py"), str(file), variant]
        self.follower = Follower(command, caching_environment(context), folder, variant)

    def wait_until_ready(self) -> float:
        """Returns the seconds of the first step, with compilation."""
        try:
            return float(self.follower.reply()["first_step_s"])
        except Failed:
            if "OutOfMemoryError" in self.follower.log.read_text(errors="replace"):
                raise OutOfMemory("PyTorch") from None
            raise

    def time(self, sampler: UtilizationSampler) -> Row:
        self.follower.reply("time")
        begin = time.monotonic()
        result = self.follower.reply()
        return {**result, "idle": sampler.idle_between(begin, time.monotonic())}


def caching_environment(context: Context) -> dict[str, str]:
    """Returns an environment with a cache of compiled kernels in the work folder."""
    cache = context.work.parent / "compile_cache"
    return torch_environment(TORCHINDUCTOR_CACHE_DIR=str(cache / "inductor"), TRITON_CACHE_DIR=str(cache / "triton"),
                             TORCHINDUCTOR_FX_GRAPH_CACHE="1", TORCHINDUCTOR_AUTOGRAD_CACHE="1")


def items_of(settings: Row) -> int:
    """Returns images, or tokens, of one optimizer step."""
    tokens = settings["params"]["context"] if settings["use"] == "gpt" else 1
    return settings["batch"] * settings["accumulate"] * tokens


def summarize(program: str, rounds: list[Row], items: int, unit: str) -> Row:
    """Returns the medians of a program, with the lowest and highest speed."""
    speeds = [items / row["seconds"] for row in rounds]
    idle = [row["idle"] for row in rounds if row.get("idle") is not None]
    peaks = [row["peak_mib"] for row in rounds if row.get("peak_mib") is not None]
    return {"program": program, unit: round(statistics.median(speeds), 1),
            "lowest to highest": f"{min(speeds):.1f} to {max(speeds):.1f}",
            "ms per step": round(1e3 * statistics.median(row["seconds"] for row in rounds), 2),
            "peak memory, MiB": round(max(peaks)) if peaks else None,
            "device idle, %": round(100 * statistics.median(idle), 1) if idle else None, "rounds": len(rounds)}


def fit_batch(context: Context, settings: Row, name: str, notes: list[str]) -> tuple[Row, dict[str, TorchProgram]]:
    """Returns the settings with the largest batch that fits, and PyTorch's eager program, ready."""
    sampler = UtilizationSampler()
    try:
        for batch in [settings["batch"], *settings.get("smaller_batches", [])]:
            settings = {**settings, "batch": batch}
            programs: dict[str, TorchProgram] = {}
            try:
                if "eager" in context.torch_variants:
                    programs["eager"] = TorchProgram(context, settings, name, "eager")
                    notes.append(f"first step of PyTorch eager {programs['eager'].wait_until_ready():.1f} s")
                if "smaller_batches" in settings:
                    time_host(context, settings, name, sampler)
                return settings, programs
            except OutOfMemory as program:
                notes.append(f"a batch of {batch} does not fit the memory of the device in {program}")
                for started in programs.values():
                    started.follower.stop()
    finally:
        sampler.stop()
    raise Failed("; ".join(notes))


def check_speed(context: Context, name: str) -> Row:
    """Times the host, PyTorch eager and torch.compile in alternating rounds."""
    notes: list[str] = []
    settings, programs = fit_batch(context, settings_of(context, name), name, notes)
    unit = "tokens/s" if settings["use"] == "gpt" else "images/s"
    items = items_of(settings)
    rounds: dict[str, list[Row]] = {program: [] for program in HOSTS}
    problems: list[str] = []
    if "compile" in context.torch_variants:
        programs["compile"] = TorchProgram(context, settings, name, "compile")
        try:
            notes.append(f"first step of PyTorch compile {programs['compile'].wait_until_ready():.1f} s")
        except (Failed, OutOfMemory) as error:
            problems.append(f"PyTorch compile: {error}")
            programs.pop("compile")

    def rows() -> list[Row]:
        done = [{"batch": settings["batch"],
                 **summarize(one if one in HOSTS else f"PyTorch {one}", results, items, unit)}
                for one, results in rounds.items() if results]
        for row in done:
            row["speed of the host / this"] = f"{done[0][unit] / row[unit]:.2f}"
        return done

    sampler = UtilizationSampler()
    for _ in range(1 if context.small else ROUNDS):
        for host, graph in HOSTS.items():
            rounds[host].append(time_host(context, settings, name, sampler, graph))
        for variant, program in list(programs.items()):
            try:
                rounds.setdefault(variant, []).append(program.time(sampler))
            except Failed as error:
                problems.append(f"PyTorch {variant}: {error}")
                programs.pop(variant)
        context.save({"rows": rows(), "notes": notes})
    for program in programs.values():
        program.follower.stop()
    sampler.stop()
    context.require_torch()
    if problems:
        raise Failed("; ".join(problems))
    context.require_kernels()
    text = ", ".join(f"{row['program']} {row[unit]} {unit}" for row in rows())
    return {"summary": text, "rows": rows(), "notes": notes, "rounds": rounds}


def device_mib() -> int | None:
    """Returns the memory of the first device, or None if nvidia-smi does not report it."""
    if not shutil.which("nvidia-smi"):
        return None
    done = subprocess.run(["nvidia-smi", "--id=0", "--query-gpu=memory.total", "--format=csv,noheader,nounits"],
                          text=True, capture_output=True, stdin=subprocess.DEVNULL)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else None


def likely_batch(settings: Row) -> Row:
    """Returns the settings with the batch that should fit, by the memory per sample that `host profile` reports."""
    memory = device_mib()
    for batch in [settings["batch"], *settings.get("smaller_batches", [])]:
        if memory is None or batch * settings.get("mib_per_sample", 0) < 0.95 * memory:
            return {**settings, "batch": batch}
    return settings


def check_compile_cache(context: Context) -> Row:
    """Compiles the networks of all speed checks at the same time, so that these start from a cache."""
    context.require_torch()
    context.require_kernels()
    programs = {name: TorchProgram(context, likely_batch(settings_of(context, name)), name, "compile")
                for name in SETTINGS}
    rows: list[Row] = []
    for name, program in programs.items():
        row: Row = {"case": name, "problem": ""}
        rows.append(row)
        try:
            row["first step, s"] = round(program.wait_until_ready(), 1)
        except Failed as error:
            row["problem"] = str(error)
        except OutOfMemory:
            row["first step, s"] = "out of memory"
        program.follower.stop()
        context.save({"rows": rows})
    problems = [f"{row['case']}: {row['problem']}" for row in rows if row["problem"]]
    if problems:
        raise Failed("; ".join(problems))
    return {"summary": f"{len(rows)} networks compiled", "rows": rows}


def check_idle(context: Context, name: str) -> Row:
    """Compares the idle share of the device in timelines of LibTorch's profiler."""
    context.require_torch()
    settings = settings_of(context, name)
    steps = settings["traced_steps"]
    rows: list[Row] = []
    plan = plan_of(context, settings, steps + 3)
    plan["log"] = {**plan["log"], "every": "1000 steps"}
    run = context.train(plan, f"idle-{name}", "--trace", f"steps=4..{steps + 3}").expect()
    rows.append({"case": "host", **idle_share(pathlib.Path(str(run.folder)) / "trace.json")})
    context.save({"rows": rows})
    for variant in context.torch_variants:
        program = TorchProgram(context, settings, name, variant)
        program.wait_until_ready()
        rows.append({"case": f"PyTorch {variant}", **program.follower.reply("trace")})
        program.follower.stop()
        context.save({"rows": rows})
    context.require_kernels()
    if context.is_real and any(row["idle"] is None for row in rows):
        raise Failed("a timeline has no work of the device")
    shown = [{**row, "idle": None if row["idle"] is None else f"{row['idle']:.1%}"} for row in rows]
    return {"summary": ", ".join(f"{row['case']} {row['idle']}" for row in shown), "rows": shown}
