"""Checks that pass or fail: tests, steps of every model, learning, synchronisations, failures and resuming."""
from __future__ import annotations

import concurrent.futures
import hashlib
import math
import os
import pathlib
import re
import signal
import subprocess
from typing import Any, Callable, Iterable, TypeVar

from kit import ROOT, STANDIN, Context, Failed, Follower, HostRun, Skipped, host_environment, last_line, send_signal
from models import MODELS, PRECISIONS, SmallModel

Row = dict[str, Any]
Item = TypeVar("Item")

TOLERANCES = {"fp32": 1e-4, "tf32": 16 * 2.0**-11, "bf16": 16 * 2.0**-8, "fp16": 16 * 2.0**-11,
              "bf16_true": 16 * 2.0**-8}
"""Largest relative difference of the first loss from fp32 on the CPU: 16 unit roundoffs of the precision, for the
layers in which errors add up. In fp32 16 roundoffs are 1e-6, but the batch norms of small batches amplify errors."""

DIGITS = {
    "model": {"use": "small_cnn"},
    "data": {"batch_size": 64, "workers": 2, "train": {"use": "digits"},
             "validation": {"use": "digits", "params": {"split": "test"}}},
    "loss": [{"use": "cross_entropy"}],
    "metric": [{"use": "accuracy"}],
    "train": {"epochs": 10},
    "optimizer": {"use": "adamw", "lr": 3e-3},
    "schedule": {"use": "one_cycle"},
}


def in_parallel(context: Context, items: Iterable[Item], run: Callable[[Item], Row]) -> list[Row]:
    """Runs the items on several cores and saves the rows as they arrive."""
    workers = max(1, min(8 if context.is_real else 2, (os.cpu_count() or 1) // (2 if context.is_real else 1)))
    rows: list[Row] = []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for row in pool.map(run, items):
            rows.append(row)
            context.save({"rows": rows})
    return rows


def conclude(rows: list[Row], summary: str) -> Row:
    """Returns the result of a check with one row per case. Fails if a row has a problem."""
    problems = [f"{row.get('case', '')}: {row['problem']}" for row in rows if row.get("problem")]
    if problems:
        raise Failed("; ".join(problems[:4]))
    return {"summary": summary, "rows": rows}


def check_device(context: Context) -> Row:
    """Trains one step on the device and reports its name."""
    plan = {**DIGITS, "train": {"steps": 1}, "validation": {"every": "never"}}
    record = context.train(plan, "device").expect().record
    found = record.get("accelerator") or {"name": record["machine"]["cpu"]}
    if context.device == "cuda" and not str(record["device"]).startswith("cuda"):
        raise Failed(f"the run used {record['device']}; expected a CUDA device")
    if (found["name"] == STANDIN) != context.is_standin:
        raise Failed(f"the device is \"{found['name']}\", but the pack is{'' if context.is_standin else ' not'} for the {STANDIN}")
    keys = ("name", "compute_capability", "driver", "cuda", "cudnn", "nccl")
    return {"summary": str(found["name"]), "device": {key: found.get(key) for key in keys}, "tenon": record["tenon"],
            "libtorch": record["libtorch"]}


def check_tests(context: Context) -> Row:
    """Runs the tests that need a device."""
    program = ROOT / "tests/bin/test_gpu"
    if context.device == "cpu":
        raise Skipped("test_gpu needs a CUDA device")
    environment = {"OMP_WAIT_POLICY": "passive", **host_environment()}  # the host chooses a policy, the tests do not
    done = subprocess.run([str(program)], cwd=context.work, env=environment, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, errors="replace")
    (context.work / "tests.txt").write_text(done.stdout + done.stderr)
    counts = re.search(r"test cases: *(\d+) *\| *(\d+) passed \| *(\d+) failed", done.stdout)
    if done.returncode != 0 or not counts:
        failed = [name for part in done.stdout.split("====") if "ERROR" in part
                  for name in re.findall(r"TEST CASE: *(.*)", part)]
        raise Failed(f"exit code {done.returncode}: {'; '.join(dict.fromkeys(failed)) or done.stderr[-200:]}")
    if "skipped, no CUDA device" in done.stdout:
        raise Failed("the tests found no device: " + done.stdout.split("skipped, no CUDA device:")[1][:200].strip())
    return {"summary": f"{counts.group(2)} test cases passed"}


def first_steps(context: Context, model: SmallModel, precision: str, name: str, device: str) -> tuple[HostRun, str]:
    """Runs two deterministic steps. Returns the run with the digest of the weights after them."""
    plan = model.plan(context.work / "data", 2, precision)
    plan["run"] = {**plan["run"], "deterministic": True, "device": device}
    plan["checkpoint"] = {"every": "1 epoch"}
    run = context.train(plan, name)
    weights = run.folder / "checkpoints/latest/model.safetensors" if run.folder else None
    digest = hashlib.sha256(weights.read_bytes()).hexdigest() if weights and weights.exists() else ""
    return run, digest


def first_loss(run: HostRun) -> float:
    """Returns the loss of the first batch. In fp16 the first line of the history can be of a later one."""
    recorded = run.record["first_loss"]
    return run.losses()[0] if recorded is None else float(recorded)


def check_model_steps(context: Context) -> Row:
    """Runs deterministic steps of every model in each precision and compares the first loss with the CPU's."""
    for model in MODELS:
        model.plan(context.work / "data", 1, "fp32")

    def run(model: SmallModel) -> Row:
        row: Row = {"case": model.use, "problem": ""}
        device = context.device
        row["device"] = device
        reference, _ = first_steps(context, model, "fp32", f"{model.use}-reference", "cpu")
        if reference.exit_code != 0:
            return {**row, "problem": f"fp32 on the CPU: {reference.error()}"}
        expected = first_loss(reference)
        digests: dict[str, str] = {}
        for precision in [*PRECISIONS, "fp32 again"]:
            if precision == "tf32" and device == "cpu":
                row["tf32"] = "CUDA only"
                continue
            actual = precision.removesuffix(" again")
            step, digests[precision] = first_steps(context, model, actual, f"{model.use}-{precision}", device)
            if step.exit_code != 0:
                row["problem"] = f"{precision}: exit code {step.exit_code}, {step.error()}"
                return row
            if precision != actual:
                continue
            loss = first_loss(step)
            row[precision] = f"{loss:.6g}"
            difference = abs(loss - expected) / abs(expected)
            if not math.isfinite(loss) or difference > TOLERANCES[precision]:
                row["problem"] = f"{precision}: loss {loss}, but fp32 on the CPU has {expected}"
        if not digests["fp32"] or digests["fp32"] != digests["fp32 again"]:
            row["problem"] = "fp32: two deterministic runs gave different weights"
        return row

    rows = in_parallel(context, MODELS, run)
    return conclude(rows, f"{len(rows)} models: first losses agree with the CPU's, repeated steps are equal")


def check_custom_kernels(context: Context) -> Row:
    """Trains with the loss of examples/cuda_loss, and compares it with its C++ on the CPU and with cross_entropy."""
    context.require_device("a plugin with CUDA kernels")
    context.require_kernels()
    folder = ROOT / "examples/cuda_loss"
    if not (folder / "cuda_loss.so").exists():
        raise Skipped("the build has no examples/cuda_loss, because nvcc was missing")
    return compare_fused_loss(context, folder)


def compare_fused_loss(context: Context, folder: pathlib.Path) -> Row:
    """Trains the mlp on the digits with fused_cross_entropy and cross_entropy, on the device and on the CPU."""
    losses: dict[str, list[float]] = {}
    for name, use, device in (("fused", "fused_cross_entropy", context.device), ("cpu", "fused_cross_entropy", "cpu"),
                              ("cross_entropy", "cross_entropy", context.device)):
        plan = {**DIGITS, "model": {"use": "mlp"}, "loss": [{"use": use}], "train": {"steps": 20},
                "validation": {"every": "never"}, "log": {"every": "1 step"},
                "run": {"device": device, "deterministic": True}}
        losses[name] = context.train(plan, f"fused-{name}", "--plugin-dir", str(folder)).expect().losses()
    rows: list[Row] = []
    for name in ("cpu", "cross_entropy"):
        pairs = list(zip(losses["fused"], losses[name], strict=True))
        first, *later = [abs(ours - theirs) / abs(theirs) for ours, theirs in pairs]
        row: Row = {"case": name, "first loss": f"{losses['fused'][0]:.6g}", "expected": f"{losses[name][0]:.6g}",
                    "largest difference": f"{max(first, *later):.1e}", "problem": ""}
        if not (first <= TOLERANCES["fp32"] and max(later) <= 10 * TOLERANCES["fp32"]):
            row["problem"] = f"the losses are {losses['fused']}; expected {losses[name]}"
        rows.append(row)
    return conclude(rows, "20 losses of the plugin's kernels agree with the CPU's and with cross_entropy's")


def check_digits(context: Context) -> Row:
    """Trains on the digits in each precision: time, accuracy and synchronisations."""
    rows: list[Row] = []
    model = context.choose({"use": "small_cnn"}, {"use": "mlp"})
    optimizer = {"use": "adamw", "lr": context.choose(3e-3, 2e-2)}
    for precision in PRECISIONS if context.device == "cuda" else [one for one in PRECISIONS if one != "tf32"]:
        plan = {**DIGITS, "model": model, "optimizer": optimizer, "train": {"epochs": 10, "precision": precision},
                "log": {"every": "1 epoch"}}
        run = context.train(plan, f"digits-{precision}")
        row: Row = {"case": precision, "problem": ""}
        rows.append(row)
        if run.exit_code != 0:
            row["problem"] = run.error()
            continue
        last = [line for line in run.history if line["event"] == "validation"][-1]
        steps = max(line["step"] for line in run.history)
        row |= {"accuracy": round(last["validation/accuracy"], 4), "training, s": round(last["time_s"], 2),
                "process, s": round(run.seconds, 2), "host_waits": run.record["host_waits"], "steps": steps}
        if row["accuracy"] <= 0.95:
            row["problem"] = f"accuracy {row['accuracy']}; expected more than 0.95"
        context.save({"rows": rows})
    return conclude(rows, f"accuracy {min(row.get('accuracy', 0) for row in rows)} or more in each precision")


def check_waits(context: Context) -> Row:
    """Compares the synchronisations of a short and a longer run without log lines in between: expected 0 per step."""
    short, long = 10, 30
    for model in MODELS:
        model.plan(context.work / "data", 1, "fp32", samples=long)

    def run(model: SmallModel) -> Row:
        row: Row = {"case": model.use, "problem": ""}
        device = context.device
        waits: list[int] = []
        for steps in (short, long):
            plan = model.plan(context.work / "data", steps, "bf16", samples=long)
            plan["run"] = {**plan["run"], "device": device}
            plan["data"] = {**plan["data"], "batch_size": 1}
            plan["log"] = {**plan["log"], "every": "1000 steps"}
            done = context.train(plan, f"waits-{model.use}-{steps}")
            if done.exit_code != 0:
                return {**row, "problem": done.error()}
            waits.append(int(done.record["host_waits"]))
        row |= {"device": device, "waits per step": (waits[1] - waits[0]) / (long - short),
                "waits of 10 steps": waits[0]}
        if row["waits per step"] != 0:
            row["problem"] = f"{waits[0]} waits in {short} steps and {waits[1]} in {long}; expected as many"
        return row

    rows = in_parallel(context, MODELS, run)
    return conclude(rows, f"{len(rows)} models: no synchronisation between log lines")


def check_out_of_memory(context: Context) -> Row:
    """A step that needs more memory than the device has ends with exit code 10, on the CPU with 11."""
    # The stand-in computes a convolution before it allocates the result, so that must be small.
    side, samples, limit = (2048, 64, 0) if context.is_real else (256, 4, 64 << 20) if context.is_standin else (2048, 4, 6 << 30)
    plan = {
        "model": {"use": "small_cnn", "params": {"channels": 3, "width": 128}},
        "data": {"batch_size": samples, "workers": 1,
                 "train": {"use": "synthetic", "params": {"samples": samples, "height": side, "width": side}}},
        "loss": [{"use": "cross_entropy"}],
        "train": {"steps": 1},
        "optimizer": {"use": "sgd", "lr": 0.1},
        "checkpoint": {"every": "never"},
    }
    run = context.train(plan, "memory", memory_limit=limit)
    run.expect(10 if context.device == "cuda" else 11)
    if "out of memory" not in run.errors:
        raise Failed(f"the message does not contain \"out of memory\": {run.error()}")
    return {"summary": run.error()[:160]}


def check_killed_run(context: Context) -> Row:
    """A run that receives SIGTERM ends with exit code 143 and leaves a checkpoint; one that is killed ends with 137."""
    rows: list[Row] = []
    for number, expected in ((signal.SIGTERM, 143), (signal.SIGKILL, 137)):
        plan = {**DIGITS, "train": {"steps": 1000000}, "log": {"every": "1 step"}, "schedule": {"use": "constant"}}
        file = context.run_file(plan, number.name)
        command = [str(context.host), "--config", str(file), "--log-format", "json"]
        follower = Follower(command, host_environment(), file.parent, "host")
        folder = None
        for _, line in follower:
            folder = line.get("folder", folder)
            if line.get("event") == "step" and line["step"] >= 3:
                break
        else:
            raise Failed(f"the run ended before step 3: {last_line(follower.log)}")
        code = send_signal(follower.process, number)
        row: Row = {"case": number.name, "exit code": code, "problem": ""}
        rows.append(row)
        if code != expected:
            row["problem"] = f"exit code {code}; expected {expected}"
        elif number == signal.SIGTERM and not (pathlib.Path(str(folder)) / "checkpoints/latest").exists():
            row["problem"] = "no checkpoint was left"
    return conclude(rows, "SIGTERM gives 143 and a checkpoint, SIGKILL 137")


def check_label_out_of_range(context: Context) -> Row:
    """A label that the model has no class for ends with exit code 4 and a message that names the field."""
    model = next(model for model in MODELS if model.use == "mlp")
    plan = model.plan(context.work / "data", 3, "fp32")
    plan["model"] = {"use": "mlp", "params": {**model.params, "classes": 5}}
    run = context.train(plan, "label").expect(4)
    if "label" not in run.errors:
        raise Failed(f"the message does not name the field label: {run.error()}")
    return {"summary": run.error()[:200]}


def check_resume(context: Context) -> Row:
    """Kills and resumes runs and compares them bit for bit with uninterrupted ones."""
    gpt = next(model for model in MODELS if model.use == "gpt").plan(context.work / "data", 24, "bf16", samples=32)
    small_cnn = {**DIGITS, "train": {"epochs": 3}, "log": {"every": "2 steps"}}
    rows: list[Row] = []
    for name, plan in (("digits", small_cnn), ("gpt", gpt)):
        file = context.run_file(plan, f"resume-{name}")
        done = context.run_host(["verify-resume", "--config", str(file), "--json"], file.parent)
        row: Row = {"case": name, "exit code": done.exit_code, "problem": ""}
        rows.append(row)
        if done.exit_code != 0:
            row["problem"] = f"exit code {done.exit_code}: {done.error() if done.errors else done.output[-300:]}"
        context.save({"rows": rows})
    return conclude(rows, "killed and resumed runs equal uninterrupted ones bit for bit")


def check_nccl(context: Context) -> Row:
    """Runs the tests of NCCL with one rank. The host joins no process group if a run has one process."""
    context.require_device("NCCL")
    done = subprocess.run([str(ROOT / "tests/bin/test_gpu"), "--test-case=*NCCL*"], cwd=context.work, text=True,
                          env=host_environment(), capture_output=True, stdin=subprocess.DEVNULL, errors="replace")
    counts = re.search(r"test cases: *(\d+) *\| *(\d+) passed", done.stdout)
    if not counts or counts.group(1) == "0":
        raise Skipped("test_gpu has no test case with NCCL in its name")
    if done.returncode != 0:
        raise Failed(f"exit code {done.returncode}: {done.stdout[-300:]}")
    return {"summary": f"{counts.group(2)} test cases passed"}
