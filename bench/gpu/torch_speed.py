"""Trains a network with PyTorch in slices, as requests on standard input arrive.

    python3 torch_speed.py SETTINGS.json eager|compile

Prints one JSON object per line: first that the network is ready, then one for each request. `time` runs the warm-up
and the timed steps, `trace` runs steps under torch.profiler and prints the idle share of the device. Memory for
activations is given back after each request, so that other programs can use the device.

Batches are bytes in pinned memory and are copied asynchronously. Normalisation, the optimizer and autocast are those of
the host. There is no data loader: the four batches exist before the first step, which favours PyTorch.
"""
from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import time
from typing import Any

import torch

import torch_networks
from device_time import idle_share

BATCHES = 4


class Trainer:
    def __init__(self, settings: dict[str, Any], is_compiled: bool):
        self.settings = settings
        self.device = settings["device"]
        self.format = torch.channels_last if settings["use"] != "gpt" else torch.contiguous_format
        torch.manual_seed(0)
        torch_networks.use_full_precision()
        torch.backends.cudnn.benchmark = True
        with torch.device(self.device):
            self.network = torch_networks.make_network(settings["use"], settings["params"])
        self.network.to(memory_format=self.format).train()
        self.optimizer = torch_networks.make_optimizer(self.network, 1e-4)
        self.forward = torch.compile(self.network, dynamic=False) if is_compiled else self.network
        self.batches = [self.make_batch() for _ in range(BATCHES)]
        self.next_batch = 0

    def make_batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns inputs and targets, in pinned memory if there is a CUDA device."""
        settings, params = self.settings, self.settings["params"]
        batch = settings["batch"]
        if settings["use"] == "gpt":
            tokens = torch.randint(params["vocabulary_size"], (batch, params["context"] + 1))
            pair = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        else:
            side = settings["side"]
            pair = (torch.randint(256, (batch, side, side, 3), dtype=torch.uint8),
                    torch.randint(params["classes"], (batch,)))
        return (pair[0].pin_memory(), pair[1].pin_memory()) if self.device == "cuda" else pair

    def step(self) -> torch.Tensor:
        """Runs one optimizer step. Returns the loss of its last batch, on the device."""
        accumulate = self.settings["accumulate"]
        self.optimizer.zero_grad()
        loss = torch.zeros(())
        for _ in range(accumulate):
            inputs, targets = (part.to(self.device, non_blocking=True) for part in self.batches[self.next_batch])
            self.next_batch = (self.next_batch + 1) % BATCHES
            if self.settings["use"] != "gpt":
                inputs = torch_networks.normalize(inputs)
            with torch_networks.autocast(self.device, self.settings["precision"]):
                loss = torch_networks.cross_entropy(self.forward(inputs), targets)
            (loss / accumulate).backward()
        self.optimizer.step()
        return loss.detach()

    def synchronize(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def give_back_memory(self) -> None:
        self.optimizer.zero_grad()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def time(self) -> dict[str, Any]:
        """Runs the warm-up and the timed steps. Returns seconds per step and the peak memory of tensors in MiB."""
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for _ in range(self.settings["steps"]):
            self.step()
        self.synchronize()
        print(json.dumps({"event": "timed"}), flush=True)
        begin = time.perf_counter()
        for _ in range(self.settings["steps"]):
            loss = self.step()
        value = loss.item()
        seconds = (time.perf_counter() - begin) / self.settings["steps"]
        peak = torch.cuda.max_memory_allocated() / 2**20 if self.device == "cuda" else None
        return {"seconds": seconds, "peak_mib": peak, "loss": value}

    def trace(self) -> dict[str, Any]:
        """Runs some steps under the profiler. Returns the share of their time in which no kernel or copy ran."""
        for _ in range(3):
            self.step()
        self.synchronize()
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if self.device == "cuda":
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        with torch.profiler.profile(activities=kinds) as profiler:
            for _ in range(self.settings["traced_steps"]):
                self.step()
            self.synchronize()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "trace.json"
            profiler.export_chrome_trace(str(file))
            return idle_share(file)


def main() -> None:
    trainer = Trainer(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2] == "compile")
    begin = time.perf_counter()
    trainer.step()
    trainer.synchronize()
    first = time.perf_counter() - begin
    trainer.give_back_memory()
    print(json.dumps({"event": "ready", "first_step_s": first}), flush=True)
    for line in sys.stdin:
        request = line.strip()
        if request not in ("time", "trace"):
            break
        result = trainer.time() if request == "time" else trainer.trace()
        trainer.give_back_memory()
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
