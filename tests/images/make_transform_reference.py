"""Writes reference/transforms: the images and numbers that tests/images/transform_*_test.cpp compare with.

Needs torch, torchvision 0.26, numpy and Pillow 12. Pillow 13 chooses the order of the two passes of a resize by the
sizes, which changes some pixels by one level.

    python3 tests/images/make_transform_reference.py
"""

import math
import pathlib
import re

import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

assert PIL.__version__.startswith("12."), PIL.__version__
assert torchvision.__version__.startswith("0.26"), torchvision.__version__
FOLDER = pathlib.Path(__file__).parent / "reference" / "transforms"
AUGMENTATIONS = {
    "rand_augment": v2.RandAugment._AUGMENTATION_SPACE,
    "auto_augment": v2.AutoAugment._AUGMENTATION_SPACE,
    "trivial_augment_wide": v2.TrivialAugmentWide._AUGMENTATION_SPACE,
}
MODES = {"nearest": InterpolationMode.NEAREST, "bilinear": InterpolationMode.BILINEAR}


def make_input():
    """Returns gradients, edges at every angle, greys, saturated colours, and noise."""
    y, x = numpy.mgrid[0:72, 0:96].astype(numpy.float64)
    image = numpy.stack([255 * x / 95, 255 * y / 71, 255 * (1 - x / 95)], axis=-1)
    image[(x - 30) ** 2 + (y - 25) ** 2 < 200] = (250, 10, 20)
    image[(x - 70) ** 2 + (y - 50) ** 2 < 150] = (5, 5, 240)
    image[60:70, 5:40] = 128
    image[5:15, 60:90] = (255, 255, 0)
    image[:, 48:50] = 255
    image[40:42, :] = 0
    noise = numpy.random.default_rng(7).normal(0, 6, (72, 96, 1))
    return numpy.clip(image + noise, 0, 255).astype(numpy.uint8)


def to_array(image):
    if isinstance(image, torch.Tensor):
        return image.permute(1, 2, 0).numpy()
    return numpy.asarray(image)


def pillow_cases(pillow):
    filters = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "nearest": Image.NEAREST}
    for left, top, width, height, new_width, new_height, name in [
        (0, 0, 96, 72, 48, 36, "bilinear"),
        (0, 0, 96, 72, 31, 29, "bilinear"),
        (7, 5, 61, 53, 32, 32, "bilinear"),
        (11, 3, 80, 60, 7, 5, "bilinear"),
        (20, 20, 23, 17, 64, 64, "bilinear"),
        (30, 10, 5, 62, 40, 40, "bilinear"),
        (3, 2, 90, 68, 96, 33, "bilinear"),
        (40, 30, 1, 1, 9, 9, "bilinear"),
        (7, 5, 61, 53, 32, 32, "bicubic"),
        (20, 20, 23, 17, 64, 64, "bicubic"),
        (8, 4, 61, 51, 24, 46, "nearest"),
    ]:
        crop = pillow.crop((left, top, left + width, top + height))
        yield (
            f"resize left={left} top={top} width={width} height={height} new_width={new_width} "
            f"new_height={new_height} interpolation={name}",
            crop.resize((new_width, new_height), filters[name]),
            0,
        )


def torchvision_cases(image):
    for left, top, width, height, new_width, new_height in [(7, 5, 61, 53, 32, 32), (20, 20, 23, 17, 64, 64)]:
        resized = F.resized_crop(image, top, left, height, width, [new_height, new_width], antialias=True)
        yield (
            f"resize left={left} top={top} width={width} height={height} new_width={new_width} "
            f"new_height={new_height} interpolation=bilinear",
            resized,
            1,
        )
    resized = F.resized_crop(image, 5, 7, 53, 61, [32, 32], antialias=False)
    yield "plain_resize left=7 top=5 width=61 height=53 new_width=32 new_height=32", resized, 1
    for mode in ["nearest", "bilinear"]:
        for angle, tx, ty, scale, shear_x, shear_y, fill in [
            (17.5, 0, 0, 1.0, 0.0, 0.0, 0),
            (-40.0, 9, -4, 0.7, 12.0, 0.0, 90),
            (5.0, -3, 6, 1.4, -8.0, 15.0, 255),
        ]:
            warped = F.affine(image, angle, [tx, ty], scale, [shear_x, shear_y], MODES[mode], fill)
            yield (
                f"affine angle={angle} translate_x={tx} translate_y={ty} scale={scale} shear_x={shear_x} "
                f"shear_y={shear_y} interpolation={mode} fill={fill}",
                warped,
                1,
            )
        rotated = F.rotate(image, 33.0, MODES[mode], expand=True, fill=[20, 200, 90])
        yield f"rotate angle=33 interpolation={mode}", rotated, 1
    for magnitude in [0.27, -0.15]:
        shear = math.degrees(math.atan(magnitude))
        for name, pair in [("shear_x", [shear, 0.0]), ("shear_y", [0.0, shear])]:
            sheared = F.affine(image, 0.0, [0, 0], 1.0, pair, MODES["bilinear"], 0, [0, 0])
            yield f"{name} degrees={shear!r}", sheared, 1
    for factor in [0.0, 0.55, 1.0, 1.7]:
        yield f"brightness factor={factor}", F.adjust_brightness(image, factor), 0
        yield f"contrast factor={factor}", F.adjust_contrast(image, factor), 1
        yield f"saturation factor={factor}", F.adjust_saturation(image, factor), 1
        yield f"sharpness factor={factor}", F.adjust_sharpness(image, factor), 1
    for shift in [-0.5, -0.13, 0.0, 0.08, 0.4]:
        yield f"hue shift={shift}", F.adjust_hue(image, shift), 1
    yield "grayscale", F.rgb_to_grayscale(image, num_output_channels=3), 1
    for bits in [3, 7, 8]:
        yield f"posterize bits={bits}", F.posterize(image, bits), 0
    yield "solarize threshold=130.05", F.solarize(image, 130.05), 0
    low = (image // 3 + 40).to(torch.uint8)
    yield "auto_contrast", F.autocontrast(low), 0
    yield "equalize", F.equalize(image), 0
    for kernel_width, kernel_height, sigma in [(5, 5, 1.1), (3, 9, 0.4), (23, 23, 2.0)]:
        blurred = F.gaussian_blur(image, [kernel_width, kernel_height], [sigma, sigma])
        yield f"blur width={kernel_width} height={kernel_height} sigma={sigma}", blurred, 1
    erased = F.erase(image, 10, 20, 31, 17, torch.tensor([1.0, 2.0, 250.0])[:, None, None])
    yield "erase left=20 top=10 width=17 height=31", erased, 0


def snake_case(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def augment_cases(image):
    """Yields the operations of AutoAugment and TrivialAugmentWide, each with one magnitude."""
    height, width = image.shape[-2:]
    for number, (name, (magnitudes_of, signed)) in enumerate(AUGMENTATIONS["auto_augment"].items()):
        bins, bin = 10, 3 + number % 6
        transform, ranges = v2.AutoAugment(), "rand"
        if number % 2 == 0 and name in AUGMENTATIONS["trivial_augment_wide"]:
            bins, bin = 31, 10 + number
            transform, ranges = v2.TrivialAugmentWide(), "wide"
            magnitudes_of = AUGMENTATIONS["trivial_augment_wide"][name][0]
        magnitudes = magnitudes_of(bins, height, width)
        magnitude = 0.0 if magnitudes is None else float(magnitudes[bin])
        reversed = signed and number % 3 == 0
        if reversed:
            magnitude = -magnitude
        for mode in ["nearest", "bilinear"] if signed and number < 5 else ["nearest"]:
            result = transform._apply_image_or_video_transform(
                image, name, magnitude, interpolation=MODES[mode], fill={type(image): [20.0, 200.0, 90.0]}
            )
            yield (
                f"augment_{snake_case(name)} {ranges}=1 bin={bin} bins={bins} reversed={int(reversed)} "
                f"interpolation={mode}",
                result,
                0 if name in ["Brightness", "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert"] else 1,
            )


def write_cases(pixels):
    lines = []
    image = tv_tensors.Image(torch.from_numpy(pixels).permute(2, 0, 1).contiguous())
    cases = list(pillow_cases(Image.fromarray(pixels))) + list(torchvision_cases(image)) + list(augment_cases(image))
    for number, (text, result, tolerance) in enumerate(cases):
        name = f"{number:02d}_{text.split()[0]}.png"
        Image.fromarray(to_array(result)).save(FOLDER / name, optimize=True)
        lines.append(f"{name} {tolerance} {text}\n")
    (FOLDER / "cases.txt").write_text("".join(lines))


def write_normalized(pixels):
    """Writes red, green and blue of a few pixels."""
    image = torch.from_numpy(pixels).permute(2, 0, 1)
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    planes = F.normalize(F.to_dtype(image, torch.float32, scale=True), mean, std)
    lines = []
    for y in range(0, 72, 9):
        for x in range(0, 96, 11):
            values = " ".join(repr(float(planes[c, y, x])) for c in range(3))
            lines.append(f"{x} {y} {values}\n")
    (FOLDER / "normalized.txt").write_text("".join(lines))


def write_magnitudes():
    """Writes the magnitudes of each operation; none for operations that have no magnitude."""
    lines = []
    for transform, width, height, bins in [
        ("rand_augment", 96, 72, 31),
        ("rand_augment", 331, 500, 11),
        ("auto_augment", 224, 331, 10),
        ("trivial_augment_wide", 96, 72, 31),
        ("trivial_augment_wide", 96, 72, 15),
    ]:
        for name, (magnitudes_of, signed) in AUGMENTATIONS[transform].items():
            magnitudes = magnitudes_of(bins, height, width)
            if magnitudes is None:
                values = ""
            elif name.startswith("Translate"):  # as _apply_image_or_video_transform truncates them
                values = " ".join(str(int(float(m))) for m in magnitudes)
            else:
                values = " ".join(repr(float(m)) for m in magnitudes)
            lines.append(f"{transform} {width} {height} {bins} {int(signed)} {snake_case(name)} {values}".rstrip() + "\n")
    (FOLDER / "magnitudes.txt").write_text("".join(lines))


def write_policies():
    """Writes the pairs of AutoAugment: each with two operations, their probabilities and magnitudes (-1: none)."""
    lines = []
    for policy in v2.AutoAugmentPolicy:
        for pair in v2.AutoAugment(policy)._policies:
            words = " ".join(f"{snake_case(o)} {p} {-1 if m is None else m}" for o, p, m in pair)
            lines.append(f"{policy.value} {words}\n")
    (FOLDER / "policies.txt").write_text("".join(lines))


def deciles(values):
    return " ".join(f"{q:.6f}" for q in numpy.quantile(numpy.array(values), numpy.arange(0.1, 0.95, 0.1)))


def write_draws():
    """Writes deciles of torchvision's random values: area, log ratio, and position in the free space."""
    torch.manual_seed(11)
    lines = []
    for width, height in [(500, 375), (333, 500), (640, 120)]:
        image = tv_tensors.Image(torch.zeros((3, height, width), dtype=torch.uint8))
        for name, transform in [("crop", v2.RandomResizedCrop(224)), ("erasing", v2.RandomErasing(p=1))]:
            area, ratio, place = [], [], []
            for _ in range(40000):
                drawn = transform.make_params([image])
                if name == "crop":
                    h, w, x = drawn["height"], drawn["width"], drawn["left"]
                else:
                    h, w, x = drawn["h"], drawn["w"], drawn["j"]
                    if drawn["v"] is None:
                        continue
                area.append(w * h / (width * height))
                ratio.append(math.log(w / h))
                place.append(x / max(width - w, 1))
            for what, values in [("area", area), ("ratio", ratio), ("place", place)]:
                lines.append(f"{name} {width} {height} {what} {deciles(values)}\n")
    (FOLDER / "draws.txt").write_text("".join(lines))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    pixels = make_input()
    Image.fromarray(pixels).save(FOLDER / "input.png", optimize=True)
    write_cases(pixels)
    write_normalized(pixels)
    write_magnitudes()
    write_policies()
    write_draws()


if __name__ == "__main__":
    main()
