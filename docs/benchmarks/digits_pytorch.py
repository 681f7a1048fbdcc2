"""A timed PyTorch version of configs/digits.toml: python docs/benchmarks/digits_pytorch.py

Requires only torch. Prints the seconds from the start of the process to the end of the imports, to the first optimizer step
and to the end, the seconds of the epochs, and the validation accuracy. Network, data, optimizer, schedule and validation after
each epoch are those of the run file. The model is in channels_last, and the DataLoader has no worker processes: both are the
fastest settings for such a network and such small samples.
"""
import os
import pathlib
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "plugins/datasets/digits/digits.csv"
EPOCHS, BATCH, LR = 10, 64, 3e-3


def seconds_since_start():
    """Seconds since the start of this process, including imports."""
    ticks = float(pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def make_network(width=32, classes=10):
    def convolution(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    return nn.Sequential(
        *convolution(1, width), *convolution(width, width), nn.MaxPool2d(2), *convolution(width, 2 * width),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(2 * width * 4, classes),
    )


def main():
    imported = seconds_since_start()
    torch.manual_seed(0)
    lines = [line for line in DIGITS.read_text().splitlines() if line[:1].isdigit()]
    rows = torch.tensor([[int(cell) for cell in line.split(",")] for line in lines])
    images, labels = rows[:, :64].float().reshape(-1, 1, 8, 8) / 16, rows[:, 64]
    is_test = torch.arange(len(rows)) % 5 == 4
    train = DataLoader(TensorDataset(images[~is_test], labels[~is_test]), BATCH, shuffle=True)
    test = DataLoader(TensorDataset(images[is_test], labels[is_test]), BATCH)

    model = make_network().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LR, total_steps=EPOCHS * len(train), cycle_momentum=False)
    first_step, begin = None, seconds_since_start()
    for _ in range(EPOCHS):
        model.train()
        for image, label in train:
            loss = nn.functional.cross_entropy(model(image), label)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            first_step = first_step or seconds_since_start()
        model.eval()
        with torch.inference_mode():
            correct = sum(int((model(image).argmax(1) == label).sum()) for image, label in test)
    end = seconds_since_start()
    print(f"imported {imported:.2f} s, first step {first_step:.2f} s, epochs {end - begin:.2f} s, end {end:.2f} s, "
          f"accuracy {correct / int(is_test.sum()):.4f}")


if __name__ == "__main__":
    main()
