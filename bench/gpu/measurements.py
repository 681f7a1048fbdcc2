"""Measurements that compare settings of the host: the experiment with EfficientNet, inference, checkpoints."""
from __future__ import annotations

import array
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
from typing import Any

import npy
from kit import ROOT, Context, Failed, Skipped, last_line, torch_environment

Row = dict[str, Any]
CLASSES = ("circle", "square", "triangle")
VALIDATION_EVERY = 10  # every tenth picture of a class is for validation


def write_pictures(context: Context, side: int) -> pathlib.Path:
    """Decodes the drawn pictures, scales and crops them to squares, and writes bytes for the dataset `arrays`."""
    folder = context.work / f"pictures-{side}"
    if (folder / "validation/label.npy").exists():
        return folder
    try:
        from PIL import Image
    except ImportError:
        raise Skipped("no module PIL") from None
    source = context.work / "classes"
    if not source.exists():
        with tarfile.open(ROOT / "data/classes.tar") as archive:
            archive.extractall(source, filter="data")
    with (source / "classes.csv").open() as stream:
        listed = [(row["path"], CLASSES.index(row["label"])) for row in csv.DictReader(stream)]
    listed = listed[::16] if context.small else listed
    parts = {"validation": listed[::VALIDATION_EVERY],
             "train": [one for number, one in enumerate(listed) if number % VALIDATION_EVERY]}
    for name, part in parts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        pixels = bytearray()
        for path, _ in part:
            with Image.open(source / path) as picture:
                scale = side / min(picture.size)
                size = max(side, round(picture.width * scale)), max(side, round(picture.height * scale))
                scaled = picture.convert("RGB").resize(size, Image.Resampling.BILINEAR)
            left, top = (size[0] - side) // 2, (size[1] - side) // 2
            pixels += scaled.crop((left, top, left + side, top + side)).tobytes()
        npy.write(folder / name / "image.npy", "uint8", (len(part), side, side, 3), bytes(pixels))
        npy.write(folder / name / "label.npy", "int64", (len(part),), array.array("q", [label for _, label in part]))
    return folder


def check_experiment(context: Context) -> Row:
    """Trains EfficientNet-B5 on the drawn pictures: memory, time per epoch and accuracy by precision and batch."""
    side, variant, epochs = context.choose((456, "b5", 3), (32, "b0", 2))
    folder = write_pictures(context, side)
    rows: list[Row] = []
    for precision in context.choose(("bf16", "fp16", "fp32"), ("bf16", "fp32")):
        for batch, accumulate in ((6, 8), (12, 4)):
            plan = {
                "model": {"use": "efficientnet", "params": {"variant": variant, "classes": 3}},
                "data": {"batch_size": batch, "workers": max(1, min(4, (os.cpu_count() or 1) - 1)),
                         **{part: {"use": "arrays", "params": {"path": str(folder / part)}}
                            for part in ("train", "validation")}},
                "data.batch_transform": [{"use": "normalize"}],
                "loss": [{"use": "cross_entropy"}],
                "metric": [{"use": "accuracy"}],
                "train": {"epochs": epochs, "accumulate": accumulate, "precision": precision,
                          "memory_format": "channels_last"},
                "optimizer": {"use": "adamw", "lr": 1e-3},
                "schedule": {"use": "one_cycle"},
                "checkpoint": {"every": "never"},
                "log": {"every": "1 epoch", "tensorboard": False, "samples": 0},
            }
            run = context.train(plan, f"experiment-{precision}-{batch}")
            row: Row = {"precision": precision, "batch x accumulate": f"{batch} x {accumulate}", "problem": ""}
            rows.append(row)
            if run.exit_code != 0:
                row["problem"] = run.error()
                continue
            epoch_lines = [line for line in run.history if line["event"] == "epoch"]
            ends = [0.0, *(line["time_s"] for line in epoch_lines)]
            validation = [line for line in run.history if line["event"] == "validation"][-1]
            row |= {"peak memory, MiB": round(run.peak_mib() or run.record["peak_bytes"] / 2**20),
                    "first epoch, s": round(ends[1], 2),
                    "later epochs, s": round(statistics.median(b - a for a, b in zip(ends[1:], ends[2:])), 2),
                    "accuracy": round(validation["validation/accuracy"], 4),
                    "validation loss": round(float(validation["validation/loss"]), 4),
                    "training loss": round(float(epoch_lines[-1]["train/loss"]), 4), "epochs": epochs}
            context.save({"rows": rows})
    problems = [f"{row['precision']} {row['batch x accumulate']}: {row['problem']}" for row in rows if row["problem"]]
    if problems:
        raise Failed("; ".join(problems))
    return {"summary": f"EfficientNet-{variant} at {side} pixels, {epochs} epochs, validation included in their times",
            "rows": rows}


def check_unet_inference(context: Context) -> Row:
    """Times the evaluation of one batch of the U-Net in each precision, in the host and in PyTorch eager."""
    params, side, batch, repeats = context.choose(({"classes": 4, "depth": 4, "width": 64}, 512, 8, 30),
                                                  ({"classes": 4, "depth": 2, "width": 4}, 32, 2, 3))
    rows: list[Row] = []
    for precision in ("fp32", "fp16", "bf16"):
        plan = {
            "model": {"use": "unet", "params": params},
            "data": {"batch_size": batch, "workers": 1,
                     "train": {"use": "arrays", "params": {"path": str(unet_data(context, side, batch))}}},
            "loss": [{"use": "cross_entropy"}],
            "train": {"steps": 1, "precision": precision, "memory_format": "channels_last"},
            "optimizer": {"use": "sgd", "lr": 0.1},
        }
        file = context.run_file(plan, f"unet-{precision}")
        run = context.run_host(["profile", "--config", str(file), "--json", "--repeats", str(repeats)], file.parent)
        row: Row = {"case": f"host, {precision}", "problem": ""}
        rows.append(row)
        if run.exit_code != 0:
            row["problem"] = run.error()
            continue
        found = json.loads(run.output)
        seconds, memory = found["evaluation_seconds"], found["memory"]["evaluation_peak"]
        row |= latency_row(seconds["median"], seconds["percentile_10"], seconds["percentile_90"], batch,
                           (found["bytes"] + memory) / 2**20)
        context.save({"rows": rows})
    if not context.torch_problem:
        rows += torch_inference(context, {"params": params, "side": side, "batch": batch, "repeats": repeats})
    problems = [f"{row['case']}: {row['problem']}" for row in rows if row.get("problem")]
    if problems:
        raise Failed("; ".join(problems))
    return {"summary": f"width {params['width']}, {batch} images of {side} x {side}, channels_last", "rows": rows}


def latency_row(median: float, low: float, high: float, batch: int, memory_mib: float | None) -> Row:
    return {"ms per batch": round(1e3 * median, 3), "10th to 90th percentile": f"{1e3 * low:.3f} to {1e3 * high:.3f}",
            "images/s": round(batch / median, 1),
            "peak memory with weights, MiB": None if memory_mib is None else round(memory_mib, 1)}


def unet_data(context: Context, side: int, batch: int) -> pathlib.Path:
    """Writes one batch of images with a class per pixel."""
    folder = context.work / f"pixels-{side}-{batch}"
    if not folder.exists():
        npy.write_folder(folder, {"image": ("float32", (batch, 3, side, side), 0),
                                  "label": ("int64", (batch, side, side), 4)})
    return folder


def torch_inference(context: Context, settings: Row) -> list[Row]:
    """Times the same network in PyTorch eager."""
    folder = context.work / "unet-torch"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({**settings, "device": context.device}))
    with (folder / "torch.log").open("w") as log:
        done = subprocess.run([sys.executable, str(ROOT / "bench/gpu/torch_inference.py"),
                               str(folder / "settings.json")], stdout=subprocess.PIPE, stderr=log, text=True,
                              stdin=subprocess.DEVNULL, env=torch_environment())
    if done.returncode != 0:
        return [{"case": "PyTorch eager", "problem": last_line(folder / "torch.log")}]
    return [{"case": f"PyTorch eager, {found['precision']}", "problem": "",
             **latency_row(found["median"], found["percentile_10"], found["percentile_90"], settings["batch"],
                           found["peak_mib"])} for found in map(json.loads, done.stdout.splitlines())]


def check_checkpoint(context: Context) -> Row:
    """Measures the seconds per GB of a checkpoint, and how long training waits for one."""
    params = context.choose({"vocabulary_size": 50257, "context": 64, "layers": 12, "heads": 12, "width": 768},
                            {"vocabulary_size": 64, "context": 16, "layers": 2, "heads": 2, "width": 32})
    count, steps = 3, 12
    samples = 2 * steps
    folder = context.work / f"checkpoint-tokens-{params['context']}"
    if not folder.exists():
        field = ("int64", (samples, params["context"]), params["vocabulary_size"])
        npy.write_folder(folder, {"tokens": field, "target": field})
    rows: list[Row] = []
    for is_asynchronous in (False, True):
        plan = {
            "model": {"use": "gpt", "params": params},
            "data": {"batch_size": 2, "workers": 1, "train": {"use": "arrays", "params": {"path": str(folder)}}},
            "loss": [{"use": "sequence_cross_entropy"}],
            "train": {"steps": steps},
            "optimizer": {"use": "adamw", "lr": 1e-4},
            "validation": {"every": "never"},
            "checkpoint": {"every": f"{steps // count} steps", "keep": 1, "asynchronous": is_asynchronous},
            "log": {"every": "1000 steps", "tensorboard": False},
        }
        run = context.train(plan, f"checkpoint-{'asynchronous' if is_asynchronous else 'synchronous'}").expect()
        assert run.folder
        size = sum(file.stat().st_size for file in (run.folder / "checkpoints/latest/").iterdir()) / 1e9
        written = sum(line["event"] == "checkpoint" for line in run.history)
        stall = float(run.record["stages"].get("checkpoint", 0.0)) / max(1, written)
        rows.append({"case": "asynchronous" if is_asynchronous else "synchronous", "checkpoints": written,
                     "GB": round(size, 6), "training waits, s per checkpoint": round(stall, 4),
                     "s per GB": round(stall / size, 3), "training, s": round(float(run.history[-1]["time_s"]), 2)})
        context.save({"rows": rows})
    return {"summary": f"{rows[0]['s per GB']} s per GB written, {rows[1]['s per GB']} s per GB of waiting when "
                       "asynchronous", "rows": rows}
