"""The list of checks, the most valuable ones first."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import correctness
import measurements
import parity
import speed
from kit import Context


@dataclasses.dataclass(frozen=True)
class Check:
    """A check runs in a process that is killed after `limit` minutes."""

    name: str
    title: str
    piece: int
    minutes: float
    """An estimate, not measured on any device. A check that may exceed --minutes is left to the next call."""
    limit: float
    function: Callable[[Context], dict[str, Any]]
    alone: bool = False
    """Whether nothing else may run at the same time, because it times something or fills the memory."""
    background: bool = False
    """Whether it starts at the beginning and runs next to the checks that do not need to be alone."""
    small: bool = True
    """Whether --small includes it. It then has small shapes."""


def parity_of(name: str) -> Callable[[Context], dict[str, Any]]:
    return lambda context: parity.check_parity(context, name)


def speed_of(name: str) -> Callable[[Context], dict[str, Any]]:
    return lambda context: speed.check_speed(context, name)


def idle_of(name: str) -> Callable[[Context], dict[str, Any]]:
    return lambda context: speed.check_idle(context, name)


CHECKS = [
    Check("device", "a step on the device", 1, 0.1, 1, correctness.check_device),
    Check("model_steps", "first loss of deterministic steps of each model in each precision", 1, 0.7, 3,
          correctness.check_model_steps),
    Check("tests", "the tests that need a device", 1, 0.4, 2, correctness.check_tests),
    Check("parity_gpt", "losses of GPT-2 (124M) and PyTorch", 1, 0.5, 2, parity_of("gpt")),
    Check("custom_kernels", "kernels of a plugin, compared with its values on the CPU and with cross_entropy", 1, 0.1, 1,
          correctness.check_custom_kernels),
    Check("label_out_of_range", "a label without a class ends with exit code 4", 1, 0.1, 1,
          correctness.check_label_out_of_range),
    Check("killed_run", "exit codes after signals", 1, 0.1, 1, correctness.check_killed_run),
    Check("waits", "synchronisations per step between two log lines", 1, 0.3, 2, correctness.check_waits),
    Check("digits", "training on the digits in each precision", 1, 0.5, 2, correctness.check_digits, alone=True),
    Check("out_of_memory", "a step that does not fit ends with exit code 10", 1, 0.1, 1,
          correctness.check_out_of_memory, alone=True),
    Check("compile_cache", "torch.compile of the networks of the speed checks, all at the same time", 2, 0.4, 3.5,
          speed.check_compile_cache, background=True, small=False),
    Check("parity_resnet", "losses of ResNet-50 and PyTorch", 2, 0.5, 2, parity_of("resnet")),
    Check("parity_efficientnet", "losses of EfficientNet-B5 and PyTorch", 2, 0.7, 2.5, parity_of("efficientnet")),
    Check("resume", "killed and resumed runs compared with uninterrupted ones", 2, 0.4, 2, correctness.check_resume),
    Check("nccl", "NCCL with one rank", 2, 0.1, 1, correctness.check_nccl),
    Check("speed_efficientnet_6x8", "EfficientNet-B5, 456 x 456, batches of 6 accumulated 8 times, bf16", 2, 1.1, 4,
          speed_of("efficientnet_6x8"), alone=True),
    Check("speed_gpt_16", "GPT-2 (124M), batches of 16 x 1024 tokens, bf16", 2, 0.9, 3, speed_of("gpt_16"),
          alone=True),
    Check("speed_resnet_256", "ResNet-50, 224 x 224, batches of 256, bf16", 2, 0.9, 3, speed_of("resnet_256"),
          alone=True),
    Check("experiment", "EfficientNet-B5 on the drawn pictures at 456 x 456", 3, 1.8, 4, measurements.check_experiment,
          alone=True),
    Check("speed_efficientnet_128", "EfficientNet-B5, 456 x 456, batches of 128 if they fit, bf16", 3, 1.4, 5,
          speed_of("efficientnet_128"), alone=True),
    Check("unet_inference", "evaluation of the U-Net", 3, 0.4, 2, measurements.check_unet_inference, alone=True),
    Check("checkpoint", "checkpoints of GPT-2 (124M) with AdamW's state", 3, 0.4, 2, measurements.check_checkpoint,
          alone=True),
    Check("idle_efficientnet_6x8", "idle share of the device in timelines of EfficientNet-B5, batches of 6", 3, 0.6, 3,
          idle_of("efficientnet_6x8"), alone=True),
]
