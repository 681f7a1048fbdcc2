"""Times the evaluation of a U-Net with PyTorch: torch_inference.py SETTINGS.json. Prints one JSON object a precision."""
from __future__ import annotations

import json
import pathlib
import statistics
import sys
import time

import torch

import torch_networks

WARM_UP = 3


def main() -> None:
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    device = settings["device"]
    torch.manual_seed(0)
    torch_networks.use_full_precision()
    torch.backends.cudnn.benchmark = True
    network = torch_networks.make_network("unet", settings["params"])
    network.to(device, memory_format=torch.channels_last).eval()
    side = settings["side"]
    images = torch.rand(settings["batch"], 3, side, side, device=device).to(memory_format=torch.channels_last)
    for precision in ("fp32", "fp16", "bf16"):
        seconds = []
        for number in range(WARM_UP + settings["repeats"]):
            if number == WARM_UP and device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            begin = time.perf_counter()
            with torch.inference_mode(), torch_networks.autocast(device, precision):
                network(images)
            if device == "cuda":
                torch.cuda.synchronize()
            if number >= WARM_UP:
                seconds.append(time.perf_counter() - begin)
        tenths = statistics.quantiles(seconds, n=10)
        print(json.dumps({"precision": precision, "median": statistics.median(seconds), "percentile_10": tenths[0],
                          "percentile_90": tenths[-1],
                          "peak_mib": torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None}),
              flush=True)


if __name__ == "__main__":
    main()
