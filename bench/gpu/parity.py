"""Compares the losses of the host with PyTorch's: same weights, same batches, 20 steps of AdamW.

The bound of a step is derived from the conditioning of the training. A computed step is the exact step of data that are
changed by some unit roundoffs u of the precision (backward error), and later steps amplify such changes. PyTorch
measures the amplification: it repeats the training with weights that are changed by one u, which changes the loss of
step t by d(t). The bound is FACTOR times the largest d so far, for the roundings of both programs in all layers, but
at least FLOOR: 1e-5 in fp32, where u = 2^-24, and one unit roundoff of bfloat16, 2^-8, in bf16. In early steps d is
small, so the bound is the floor.
"""
from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from typing import Any

from kit import ROOT, Context, Failed, last_line, torch_environment

FACTOR = 8
EARLY = 3
FLOOR = {"fp32": 1e-5, "bf16": 2.0**-8}

SETTINGS: dict[str, dict[str, Any]] = {
    "gpt": {"use": "gpt", "batch": 4, "steps": 20, "lr": 1e-4,
            "params": {"vocabulary_size": 50257, "context": 256, "layers": 12, "heads": 12, "width": 768}},
    "resnet": {"use": "resnet", "batch": 16, "steps": 20, "lr": 1e-4, "side": 128,
               "params": {"depth": 50, "classes": 1000}},
    "efficientnet": {"use": "efficientnet", "batch": 8, "steps": 20, "lr": 1e-4, "side": 160,
                     "params": {"variant": "b5", "classes": 1000, "dropout": 0.0, "stochastic_depth": 0.0}},
}
SMALL: dict[str, dict[str, Any]] = {
    "gpt": {"batch": 2, "steps": 5,
            "params": {"vocabulary_size": 64, "context": 16, "layers": 2, "heads": 2, "width": 32}},
    "resnet": {"batch": 4, "steps": 4, "side": 64, "params": {"depth": 18, "classes": 10}},
    "efficientnet": {"batch": 4, "steps": 3, "side": 64,
                     "params": {"variant": "b0", "classes": 10, "dropout": 0.0, "stochastic_depth": 0.0}},
}


def plan_of(settings: dict[str, Any], folder: str, precision: str) -> dict[str, Any]:
    """Returns the run file with the weights and batches that PyTorch has written."""
    is_text = settings["use"] == "gpt"
    return {
        "run": {"deterministic": "warn"},
        "model": {"use": settings["use"], "params": settings["params"], "weights": f"{folder}/weights.safetensors"},
        "data": {"batch_size": settings["batch"], "workers": 2, "shuffle": False,
                 "train": {"use": "arrays", "params": {"path": f"{folder}/data"}}},
        "loss": [{"use": "sequence_cross_entropy" if is_text else "cross_entropy"}],
        "train": {"steps": settings["steps"], "precision": precision},
        "optimizer": {"use": "adamw", "lr": settings["lr"]},
        "validation": {"every": "never"},
        "checkpoint": {"every": "never"},
        "log": {"every": "1 step", "tensorboard": False},
    }


def compare(precision: str, host: list[float], torch: dict[str, list[float]]) -> dict[str, Any]:
    """Compares the losses of each step with the bound. Returns a row of the table."""
    largest, worst, problem = 0.0, 0.0, ""
    differences = []
    for step, (found, expected, changed) in enumerate(zip(host, torch["losses"], torch["perturbed"]), 1):
        largest = max(largest, abs(changed - expected) / abs(expected))
        bound = max(FLOOR[precision], FACTOR * largest)
        difference = abs(found - expected) / abs(expected)
        differences.append(difference)
        worst = max(worst, difference / bound)
        if not (math.isfinite(found) and difference <= bound) and not problem:
            problem = f"step {step}: loss {found}, PyTorch has {expected}; relative difference {difference:.2g}, " \
                      f"bound {bound:.2g}"
    if len(host) != len(torch["losses"]):
        problem = f"{len(host)} losses; expected {len(torch['losses'])}"
    return {"case": precision, "steps": len(host), "step 1": f"{differences[0]:.2g}",
            f"steps 1 to {EARLY}": f"{max(differences[:EARLY]):.2g}", "all steps": f"{max(differences):.2g}",
            "perturbed PyTorch": f"{largest:.2g}", "largest share of the bound": f"{worst:.2f}",
            "first loss": round(host[0], 6), "last loss": round(host[-1], 6), "problem": problem}


def check_parity(context: Context, name: str) -> dict[str, Any]:
    """Trains with PyTorch, then with the host, in fp32 and bf16."""
    context.require_torch()
    settings = {**SETTINGS[name], **(SMALL[name] if context.small else {}), "precisions": ["fp32", "bf16"],
                "device": context.device}
    folder = context.work / f"parity-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps(settings))
    with (folder / "torch.log").open("w") as log:
        done = subprocess.run([sys.executable, str(ROOT / "bench/gpu/torch_parity.py"), str(folder / "settings.json"),
                               str(folder)], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              env=torch_environment(CUBLAS_WORKSPACE_CONFIG=":4096:8"))
    if done.returncode != 0:
        raise Failed(f"PyTorch ended with exit code {done.returncode}: {last_line(folder / 'torch.log')}")
    torch = json.loads((folder / "losses.json").read_text())
    rows: list[dict[str, Any]] = []
    for precision in settings["precisions"]:
        run = context.train(plan_of(settings, str(folder), precision), f"parity-{name}-{precision}")
        if run.exit_code != 0:
            rows.append({"case": precision, "problem": run.error()})
            continue
        rows.append(compare(precision, run.losses(), torch[precision]))
        context.save({"rows": rows})
    problems = [f"{row['case']}: {row['problem']}" for row in rows if row["problem"]]
    if problems:
        raise Failed("; ".join(problems))
    return {"summary": "; ".join(f"{row['case']} differs by {row['all steps']} or less" for row in rows), "rows": rows}
