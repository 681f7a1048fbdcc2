#!/usr/bin/env python3
"""Compares the time of a training step of the run files in configs/ with PyTorch, on the CPU.

    python bench/step_time.py [--runs NAME ...] [--precisions fp32 bf16] [--threads 1 2] [--rounds 3] [--json FILE]

Needs torch, torchvision, safetensors, the data of the run files (scripts/example-data) and a built host. A step is forward, losses,
backward, clipping and the optimizer of the run file, for one batch, without accumulation and averaged weights. All programs repeat it
with the same batch; reading samples is not included. The host is timed by `host profile`. PyTorch runs the networks of pytorch_networks.py with random values
in the shapes of the host's batch:

  eager          its defaults: contiguous tensors, torch.optim.AdamW(fused=True)
  channels_last  the same with convolutions in channels_last
  compile        torch.compile of the network, in the faster of these two memory formats

The programs take turns in each round. Prints a Markdown table of the medians over the rounds of each median step. The last columns
relate the host's time to the processor's measured peaks. FLOP: the share of the FLOP/s of a product of two square matrices of 2048
rows in the same precision, by the count of `host profile`. Bytes: the share of the bytes/s of a copy of 256 MiB, by the bytes that
PyTorch's operators read and write if none is fused. Values that are still in a cache make this share larger than 1.
"""
import argparse
import inspect
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOST = ROOT / "build/release/bin/host"
RUNS = ["digits", "digits_mlp", "efficientnet", "gpt", "multi_task", "pairs", "regression", "segmentation", "summarize",
        "tabular", "text_pairs", "vit_recipe"]
KINDS = ["eager", "channels_last", "compile"]
WARM_UP = 5


# The worker: one process per run, precision and number of threads.

def worker(name, precision, threads, shapes):
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.utils._python_dispatch import TorchDispatchMode

    sys.path.insert(0, str(ROOT / "tests/parity"))
    import gpt_network
    from make_vit import make_network as make_torchvision_vit
    from pytorch_networks import NETWORKS, make_network
    from runs_pytorch import read_plan

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    plan = read_plan(ROOT / f"configs/{name}.toml")
    params = plan["model"]["params"]

    def attend(self, x):
        """Replaces the explicit attention of gpt_network by the operator that users of PyTorch call."""
        samples, length, width = x.shape
        query, key, value = (part.view(samples, length, self.heads, -1).transpose(1, 2)
                             for part in self.c_attn(x).split(width, 2))
        joined = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.c_proj(joined.transpose(1, 2).reshape(samples, length, width))

    gpt_network.Attention.forward = attend

    class Vit(nn.Module):
        def __init__(self, channels, image_size, patch_size, width, depth, heads, mlp_width, classes):
            super().__init__()
            self.network = make_torchvision_vit(channels, image_size, patch_size, width, depth, heads, mlp_width, classes)

        def forward(self, image):
            return {"logits": self.network(image)}

    NETWORKS["vit"] = Vit

    def make_batch():
        vocabulary_size = params.get("vocabulary_size", 0)
        return {key: torch.randint(4, vocabulary_size, shape) if vocabulary_size else torch.randn(shape)
                for key, shape in shapes.items()}

    def make_losses(outputs):
        """Returns the losses of the run file, with random targets, as functions of the outputs."""
        losses = []
        for loss in plan["loss"]:
            use = loss["use"]
            default = "values" if use == "mse" else "logits"
            key = next((source.split(".")[1] for port, source in loss.get("inputs", {}).items() if source.startswith("model.")),
                       default if default in outputs else "logits")
            output, smoothing = outputs[key], loss.get("params", {}).get("label_smoothing", 0)
            weight = loss["weight"]
            if use == "mse":
                target = torch.randn_like(output)
                losses.append((weight, lambda all, key=key, target=target: functional.mse_loss(all[key], target)))
            elif use == "bce_with_logits":
                target = torch.randint(2, output.shape).float()
                losses.append((weight, lambda all, key=key, target=target:
                               functional.binary_cross_entropy_with_logits(all[key], target)))
            elif use == "soft_cross_entropy":
                target = torch.rand_like(output).softmax(1)
                losses.append((weight, lambda all, key=key, target=target:
                               functional.cross_entropy(all[key], target, label_smoothing=smoothing)))
            else:
                is_sequence = use == "sequence_cross_entropy"
                classes = output.shape[2 if is_sequence else 1]
                shape = output.shape[:2] if is_sequence else (output.shape[0], *output.shape[2:])
                target = torch.randint(classes, shape)
                losses.append((weight, lambda all, key=key, target=target: functional.cross_entropy(
                    all[key].flatten(0, 1) if is_sequence else all[key], target.flatten() if is_sequence else target,
                    label_smoothing=smoothing)))
        return losses

    def make_step(kind, memory_format):
        network = make_network(plan["model"])
        batch = make_batch()
        if memory_format == "channels_last":
            network = network.to(memory_format=torch.channels_last)
            batch = {key: value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value
                     for key, value in batch.items()}
        with torch.no_grad():
            network.eval()
            losses = make_losses({key: value.float() for key, value in network(**call_arguments(network, batch)).items()})
            network.train()
        decayed = [one for one in network.parameters() if one.dim() >= 2]
        others = [one for one in network.parameters() if one.dim() < 2]
        optimizer = torch.optim.AdamW([{"params": decayed}, {"params": others, "weight_decay": 0}], lr=1e-4, fused=True)
        run = torch.compile(network) if kind == "compile" else network
        arguments = call_arguments(network, batch)
        clip_norm = plan["train"]["clip_norm"]

        def step():
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                outputs = run(**arguments)
                loss = sum(weight * function(outputs) for weight, function in losses)
            loss.backward()
            if clip_norm:
                nn.utils.clip_grad_norm_(network.parameters(), clip_norm)
            optimizer.step()
            optimizer.zero_grad()
        return step

    def call_arguments(network, batch):
        names = inspect.signature(network.forward).parameters
        return {key: batch.get(key, next(iter(batch.values()))) for key in names}

    class CountBytes(TorchDispatchMode):
        """Adds the bytes of the tensors that operators read and write. Operators that only make views count nothing."""
        bytes = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            tensors = [one for one in torch.utils._pytree.tree_leaves((args, kwargs, result)) if isinstance(one, torch.Tensor)]
            storages = {one.untyped_storage().data_ptr() for one in torch.utils._pytree.tree_leaves((args, kwargs))
                        if isinstance(one, torch.Tensor)}
            is_view = all(one.untyped_storage().data_ptr() in storages
                          for one in torch.utils._pytree.tree_leaves(result) if isinstance(one, torch.Tensor))
            if not is_view or function._schema.is_mutable:
                self.bytes += sum(one.numel() * one.element_size() for one in tensors)
            return result

    steps, medians = {}, {}

    def measure(kind, seconds):
        if kind == "bytes":
            step = make_step("eager", "contiguous")
            step()
            with CountBytes() as counted:
                step()
            return counted.bytes
        if kind not in steps:
            memory_format = kind if kind == "channels_last" else "contiguous"
            if kind == "compile" and medians.get("channels_last", 1e9) < medians["eager"]:
                memory_format = "channels_last"
            steps[kind] = make_step(kind, memory_format)
        step, times = steps[kind], []
        for _ in range(WARM_UP):
            step()
        end = time.perf_counter() + seconds
        while len(times) < 10 or time.perf_counter() < end:
            begin = time.perf_counter()
            step()
            times.append(time.perf_counter() - begin)
        medians[kind] = statistics.median(times)
        return medians[kind]

    print("ready", flush=True)
    for line in sys.stdin:
        kind, seconds = line.split()
        print(measure(kind, float(seconds)), flush=True)


def peaks(precision, threads):
    """Prints the FLOP/s of a matrix product and the bytes/s of a copy."""
    import torch
    torch.set_num_threads(threads)
    a = torch.randn(2048, 2048, dtype={"fp32": torch.float32, "bf16": torch.bfloat16}[precision])
    source, target = torch.ones(64 << 20), torch.empty(64 << 20)
    best = [1e9, 1e9]
    for _ in range(8):
        for number, work in enumerate((lambda: a @ a, lambda: target.copy_(source))):
            begin = time.perf_counter()
            work()
            best[number] = min(best[number], time.perf_counter() - begin)
    print(2 * 2048**3 / best[0], 2 * source.numel() * 4 / best[1])


class Worker:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", json.dumps(arguments)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"the PyTorch process for {arguments[0]} did not start; its message is above. It needs torch, "
                             "torchvision and safetensors")

    def measure(self, kind, seconds=0):
        print(kind, seconds, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the PyTorch process ended while it measured {kind}; its message is above")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def profile(name, precision, threads, repeats):
    command = [HOST, "profile", "--config", ROOT / f"configs/{name}.toml", "--json", "--repeats", str(repeats),
               "--set", f"train.precision={precision}", "--set", f"run.threads={threads}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"there is no {HOST}; build it first: scripts/build host") from None
    if done.returncode:
        raise SystemExit(f"host profile --config configs/{name}.toml ended with exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def compare(name, precision, threads, rounds, seconds, kinds, peak):
    first = profile(name, precision, threads, 5)
    has_images = any(len(shape) == 4 for shape in first["inputs"].values())
    kinds = [kind for kind in kinds if kind != "channels_last" or has_images]
    repeats = max(10, min(2000, round(seconds / first["step_seconds"]["median"])))
    times = {kind: [] for kind in ["host", *kinds]}
    pytorch = Worker(name, precision, threads, first["inputs"])
    try:
        for _ in range(rounds):
            times["host"].append(profile(name, precision, threads, repeats)["step_seconds"]["median"])
            for kind in kinds:
                times[kind].append(pytorch.measure(kind, seconds))
        moved = pytorch.measure("bytes")
    finally:
        pytorch.close()
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    return {"run": name, "precision": precision, "threads": threads, "times": times, "medians": medians,
            "flop_share": first["step_flops"] / medians["host"] / peak[0], "byte_share": moved / medians["host"] / peak[1]}


def describe(row):
    host = row["medians"]["host"]
    cells = [row["run"], row["precision"], str(row["threads"]), f"{1e3 * host:.3g}"]
    for kind in KINDS:
        other = row["medians"].get(kind)
        cells.append(f"{1e3 * other:.3g} ({host / other:.2f})" if other else "")
    return "| " + " | ".join([*cells, f"{row['flop_share']:.2f}", f"{row['byte_share']:.2f}"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", nargs="+", default=RUNS, choices=RUNS)
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS, help="what to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="shortest time of one measurement")
    parser.add_argument("--json", type=pathlib.Path, help="write all times into this file, too")
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--peaks", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(*arguments.worker)
    if arguments.peaks:
        return peaks(arguments.peaks[0], int(arguments.peaks[1]))
    os.environ.setdefault("PYTHONPATH", str(ROOT / "bench"))
    rows = []
    print("| run file | precision | threads | host, ms | eager (ratio) | channels_last (ratio) | compile (ratio) | FLOP | bytes |")
    print("|" + "---|" * 9)
    for precision in arguments.precisions:
        for threads in arguments.threads:
            output = subprocess.run([sys.executable, __file__, "--peaks", precision, str(threads)], check=True, text=True,
                                    capture_output=True).stdout
            peak = [float(word) for word in output.split()]
            print(f"<!-- {precision}, {threads}: {peak[0] / 1e9:.0f} GFLOP/s, {peak[1] / 1e9:.1f} GB/s -->", flush=True)
            for name in arguments.runs:
                rows.append(compare(name, precision, threads, arguments.rounds, arguments.seconds, arguments.kinds, peak))
                print(describe(rows[-1]), flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
