"""PyTorch versions of the datasets of the run files in configs/: the same samples, splits and order.

Each is a torch.utils.data.Dataset of dictionaries. Its constructor takes the parameters of `[data.train]` or
`[data.validation]` with resolved paths, and reads all images and texts. `DATASETS` maps component ids to them.
"""
import ast
import csv
import math
import pathlib

import numpy
import torch
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, default_collate
from torchvision import tv_tensors
from torchvision.transforms import v2

from summaries import train_tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
IGNORED = -100
PAD, BOS, EOS = 0, 2, 3


def hash_text(text):
    """Returns the 64-bit FNV-1a hash."""
    number = 0xCBF29CE484222325
    for byte in text.encode():
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return number


def draw_uniform(seed):
    """Returns the first number in [0, 1) of tenon::Random(seed): Philox-4x32-10 of Salmon et al., SC 2011."""
    key, counter = [seed % 2**32, seed >> 32], [0, 0, 0, 0]
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * counter[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * counter[2], 2**32)
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return ((counter[0] | counter[1] << 32) >> 11) / 2**53


def is_in_split(name, params):
    """Returns whether the sample with this name is in the split of `params`."""
    split = params.get("split", "all")
    is_validation = draw_uniform(hash_text(name)) < params.get("validation_fraction", 0.1)
    return split == "all" or is_validation == (split == "validation")


def make_normalize():
    return v2.Compose([v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
                       v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


TRANSFORMS = {"center_crop": v2.CenterCrop, "horizontal_flip": v2.RandomHorizontalFlip, "normalize": make_normalize,
              "random_resized_crop": v2.RandomResizedCrop, "resize": v2.Resize,
              "vertical_flip": v2.RandomVerticalFlip}


def make_transforms(texts):
    """Parses calls such as "random_resized_crop(64, scale=(0.5, 1))"."""
    steps = []
    for text in texts:
        call = ast.parse(text, mode="eval").body
        arguments = [ast.literal_eval(argument) for argument in call.args]
        options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        steps.append(TRANSFORMS[call.func.id](*arguments, **options))
    return v2.Compose(steps)


def read_image(path):
    return tv_tensors.Image(Image.open(path).convert("RGB"))


def read_mask(path):
    return tv_tensors.Mask(torch.from_numpy(numpy.array(Image.open(path))).long())


def read_rows(path, separator):
    with open(path, newline="", encoding="utf-8") as file:
        quoting = csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE
        return list(csv.DictReader(file, delimiter=separator, quoting=quoting))


class Samples(Dataset):
    """Base class for a list of samples. Subclasses override `__getitem__` to transform a sample."""

    target = "label"  # the default target field of losses and metrics
    collate = staticmethod(default_collate)

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]


class Digits(Samples):
    def __init__(self, params):
        lines = (ROOT / "plugins/datasets/digits/digits.csv").read_text().splitlines()
        rows = [[int(cell) for cell in line.split(",")] for line in lines if line[:1].isdigit()]
        part = [row for i, row in enumerate(rows) if (i % 5 == 4) == (params["split"] == "test")]
        super().__init__([{"image": torch.tensor(row[:64]).reshape(1, 8, 8) / 16, "label": row[64]} for row in part])


class ImageFolder(Samples):
    def __init__(self, params):
        root = pathlib.Path(params["path"])
        self.transforms = make_transforms(params["transforms"])
        classes = sorted(folder.name for folder in root.iterdir() if folder.is_dir())
        super().__init__([
            {"image": read_image(path), "label": label} for label, name in enumerate(classes)
            for path in sorted((root / name).iterdir()) if is_in_split(f"{name}/{path.name}", params)])

    def __getitem__(self, index):
        sample = self.samples[index]
        return {**sample, "image": self.transforms(sample["image"])}


class ImageTable(Samples):
    """The datasets image_csv and pairs: image columns, a class column, and number columns."""

    def __init__(self, params, fields):
        """fields: maps each image field to the column with its paths."""
        path = pathlib.Path(params["path"])
        self.fields, self.transforms = list(fields), make_transforms(params["transforms"])
        first_column = next(iter(fields.values()))
        super().__init__([
            {**{field: read_image(path.parent / row[column]) for field, column in fields.items()},
             "label": params["classes"].index(row["label"]),
             "targets": torch.tensor([float(row[column]) for column in params["targets"]])}
            for row in read_rows(path, ",") if is_in_split(row[first_column], params)])

    def __getitem__(self, index):
        sample = self.samples[index]
        return {**sample, **{field: self.transforms(sample[field]) for field in self.fields}}


def is_number(cell):
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def encode_column(cells, training):
    """Returns [rows, features]: numbers standardized with the training values, or one-hot categories."""
    if all(is_number(cell) for cell in training):
        values = torch.tensor([float(cell) for cell in training], dtype=torch.float64)
        numbers = torch.tensor([float(cell) for cell in cells], dtype=torch.float64)
        return ((numbers - values.mean()) / values.std(correction=0)).float()[:, None]
    return torch.tensor([[float(cell == category) for category in sorted(set(training))] for cell in cells])


class Table(Samples):
    """A table without missing values. Columns of categories contain no numbers, unless `categorical` names them."""

    def __init__(self, params):
        rows = read_rows(params["path"], ",")
        is_regression = params["task"] == "regression"
        self.target = "target" if is_regression else "label"

        def select(split):
            return [row for row in rows
                    if is_in_split("".join(cell + "," for cell in row.values()), {**params, "split": split})]

        part, training = select(params.get("split", "all")), select("train")
        mark = {name: "=" for name in params.get("categorical", [])}  # the prefix makes cells non-numeric
        features = torch.cat([
            encode_column(*([mark.get(name, "") + row[name] for row in some] for some in (part, training)))
            for name in rows[0] if name != params["target"] and name not in params.get("ignore", [])], dim=1)
        classes = sorted({row[params["target"]] for row in rows})
        targets = [torch.tensor([float(row[params["target"]])]) if is_regression else classes.index(row[params["target"]])
                   for row in part]
        super().__init__([{"features": one, self.target: target} for one, target in zip(features, targets)])


class Segmentation(Samples):
    target = "mask"

    def __init__(self, params):
        root = pathlib.Path(params["path"])
        self.transforms = make_transforms(params["transforms"])
        super().__init__([(read_image(path), read_mask(root / "masks" / path.name))
                          for path in sorted((root / "images").iterdir()) if is_in_split(path.name, params)])

    def __getitem__(self, index):
        image, mask = self.transforms(*self.samples[index])
        return {"image": image, "mask": mask}


class TextWindows(Samples):
    target = "target"

    def __init__(self, params):
        text = pathlib.Path(params["path"]).read_bytes().decode()
        numbers = {character: i for i, character in enumerate(sorted(set(text)))}
        tokens = torch.tensor([numbers[character] for character in text])
        end = math.floor(len(tokens) * (1 - params.get("validation_fraction", 0.1)) + 0.5)
        part = tokens[:end] if params["split"] == "train" else tokens[end:]
        self.context, stride = params["context"], params.get("stride", params["context"])
        count = 1 + max(0, -(-(len(part) - 1 - self.context) // stride))
        super().__init__([part[i * stride:i * stride + self.context + 1] for i in range(count)])

    def __getitem__(self, index):
        window = self.samples[index]
        missing = self.context + 1 - len(window)
        return {"tokens": torch.nn.functional.pad(window[:-1], (0, missing)),
                "target": torch.nn.functional.pad(window[1:], (0, missing), value=IGNORED)}


class TextPairs(Samples):
    target = "target"

    def __init__(self, params):
        rows = read_rows(params["path"], "\t")
        other = read_rows(params["tokenizer_text"], "\t") if "tokenizer_text" in params else rows
        tokenizer = train_tokenizer([row[side] for row in other for side in ("source", "target")], params)

        def encode(text, longest):
            return torch.tensor(tokenizer.encode(text)[:longest - 1] + [EOS])

        super().__init__([(encode(row["source"], params.get("max_source_tokens", 256)),
                           encode(row["target"], params.get("max_target_tokens", 256)))
                          for row in rows if is_in_split(row["source"], params)])

    def lengths(self):
        return torch.tensor([max(len(source), len(target)) for source, target in self.samples])

    @staticmethod
    def collate(pairs):
        begin = torch.tensor([BOS])
        sources, targets = zip(*pairs)
        shifted = [torch.cat([begin, target[:-1]]) for target in targets]
        return {"source": pad_sequence(sources, batch_first=True, padding_value=PAD),
                "target_in": pad_sequence(shifted, batch_first=True, padding_value=PAD),
                "target": pad_sequence(targets, batch_first=True, padding_value=IGNORED)}


DATASETS = {
    "digits": Digits,
    "image_csv": lambda params: ImageTable(params, {"image": params.get("image", "path")}),
    "image_folder": ImageFolder,
    "pairs": lambda params: ImageTable(params, {"first": "first", "second": "second"}),
    "segmentation": Segmentation,
    "table": Table,
    "text_pairs": TextPairs,
    "text_windows": TextWindows,
}
