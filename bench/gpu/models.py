"""Small shapes of every bundled model, for checks that run each of them."""
from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import npy

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "bf16_true")
BATCH = 4
SAMPLES = 8
IMAGE = ("float32", (SAMPLES, 3, 32, 32), 0)
LABEL = ("int64", (SAMPLES,), 10)
TOKENS = ("int64", (SAMPLES, 12), 50)
SEQUENCES = {"source": TOKENS, "target_in": TOKENS, "target": TOKENS}
CROSS_ENTROPY = [{"use": "cross_entropy"}]
SEQUENCE_LOSS = [{"use": "sequence_cross_entropy"}]


@dataclasses.dataclass(frozen=True)
class SmallModel:
    """A bundled model with parameters that disable its random operators, and the fields that it needs."""

    use: str
    params: dict[str, Any]
    fields: dict[str, tuple[str, tuple[int, ...], int]]
    loss: list[dict[str, Any]]

    def plan(self, data: pathlib.Path, steps: int, precision: str, samples: int = SAMPLES) -> dict[str, Any]:
        """Returns a run file without validation, checkpoints and shuffling. Writes the data if it does not exist."""
        folder = data / f"{self.use}-{samples}"
        if not folder.exists():
            npy.write_folder(folder, {name: (dtype, (samples, *shape[1:]), below)
                                      for name, (dtype, shape, below) in self.fields.items()})
        return {
            "run": {"threads": 1},
            "model": {"use": self.use, "params": self.params},
            "data": {"batch_size": min(BATCH, samples), "workers": 1, "shuffle": False,
                     "train": {"use": "arrays", "params": {"path": str(folder)}}},
            "loss": self.loss,
            "train": {"steps": steps, "precision": precision},
            "optimizer": {"use": "sgd", "lr": 0.01},
            "validation": {"every": "never"},
            "checkpoint": {"every": "never"},
            "log": {"every": "1 step", "tensorboard": False},
        }


MODELS = [
    SmallModel("mlp", {"inputs": 3 * 32 * 32, "hidden": [16]}, {"image": IMAGE, "label": LABEL}, CROSS_ENTROPY),
    SmallModel("small_cnn", {"channels": 3, "width": 8}, {"image": IMAGE, "label": LABEL}, CROSS_ENTROPY),
    SmallModel("resnet", {"depth": 18, "width": 8, "stem": "cifar", "classes": 10},
               {"image": IMAGE, "label": LABEL}, CROSS_ENTROPY),
    SmallModel("efficientnet", {"width": 0.2, "depth": 0.2, "classes": 10, "dropout": 0.0, "stochastic_depth": 0.0},
               {"image": ("float32", (SAMPLES, 3, 64, 64), 0), "label": LABEL}, CROSS_ENTROPY),
    SmallModel("vit", {"variant": "ti_16", "image_size": 32, "width": 32, "depth": 2, "heads": 2, "mlp_width": 64,
                       "classes": 10}, {"image": IMAGE, "label": LABEL}, CROSS_ENTROPY),
    SmallModel("unet", {"classes": 4, "depth": 2, "width": 8},
               {"image": IMAGE, "label": ("int64", (SAMPLES, 32, 32), 4)}, CROSS_ENTROPY),
    SmallModel("siamese_cnn", {"width": 4}, {"first": IMAGE, "second": IMAGE, "label": ("int64", (SAMPLES,), 2)},
               [{"use": "bce_with_logits", "inputs": {"logits": "model.same", "target": "data.label"}}]),
    SmallModel("seq2seq_transformer", {"vocabulary_size": 50, "width": 32, "heads": 2, "encoder_layers": 1,
                                       "decoder_layers": 1, "feed_forward": 64, "dropout": 0.0}, SEQUENCES,
               SEQUENCE_LOSS),
    SmallModel("gpt", {"vocabulary_size": 50, "context": 12, "layers": 2, "heads": 2, "width": 32},
               {"tokens": TOKENS, "target": TOKENS}, SEQUENCE_LOSS),
]
