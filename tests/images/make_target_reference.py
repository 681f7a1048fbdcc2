"""Writes reference/targets/cases.txt: how boxes, keypoints and masks move with an image.

Each case has an image size, boxes, keypoints, a mask made of rectangles, and one to four operations. The moved values
come from torchvision.transforms.v2.functional. Needs torch, torchvision 0.29 and numpy.

torchvision clamps boxes in each operation except flips. It does not clamp keypoints. A box that once has no area is
written as `moved_box dropped`. Three things of torchvision are corrected here. Its flips count keypoints from the middle
of the first pixel, and its other operations from the edge, so that one pixel is added after a flip. After rotate with
expand = 1, its image size of boxes and keypoints can differ from that of the mask, and they are up to one pixel left of
and above the pixels; the mask's size and place are used. It resizes masks from the corner of each pixel; the masks are
resized with NEAREST_EXACT, from the middle.

Parameters are drawn again if a shift of 0.001 pixels changes the mask or its size, or if the mask loses all its labels.
A calculation in float64 gives the same masks as torchvision.

    python3 tests/images/make_target_reference.py
"""

import math
import pathlib
import zlib

import numpy
import torch
import torchvision
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

assert torchvision.__version__.startswith("0.29"), torchvision.__version__
FILE = pathlib.Path(__file__).parent / "reference" / "targets" / "cases.txt"
SHIFT = 1e-3
NAMES = ["resize", "crop", "flip_horizontal", "flip_vertical", "affine", "rotate"]


def draw_interval(rng, size):
    """Returns an interval of at least one pixel in multiples of 1/64. Some intervals touch the border."""
    first, last = sorted(float(v) / 64 for v in rng.integers(0, 64 * size + 1, 2))
    first = min(first, size - 1.0)
    border = rng.integers(8)
    return (0.0 if border in (0, 1) else first), (float(size) if border in (1, 2) else max(last, first + 1.0))


def draw_targets(rng, width, height):
    boxes, points, rectangles = [], [], []
    for _ in range(rng.integers(0, 7)):
        (left, right), (top, bottom) = draw_interval(rng, width), draw_interval(rng, height)
        boxes.append((left, top, right, bottom))
    for _ in range(rng.integers(0, 6)):
        points.append((float(rng.integers(0, 64 * width)) / 64, float(rng.integers(0, 64 * height)) / 64))
    for _ in range(rng.integers(1, 7)):
        left, top = int(rng.integers(0, width)), int(rng.integers(0, height))
        part = int(rng.integers(1, width - left + 1)), int(rng.integers(1, height - top + 1))
        rectangles.append((left, top, *part, int(rng.integers(0, 5))))
    return boxes, points, rectangles


def draw_crop(rng, size):
    """Returns the start and length of a crop that shares at least four pixels with the image."""
    start = int(rng.integers(-12, size - 3))
    return start, int(rng.integers(max(8, 4 - start), 65))


def draw_step(rng, name, width, height):
    """Returns the numbers of an operation and a function that applies it to a tensor."""
    if name.startswith("flip"):
        return (), F.horizontal_flip if name == "flip_horizontal" else F.vertical_flip
    if name == "resize":
        left, top = int(rng.integers(0, width - 3)), int(rng.integers(0, height - 3))
        part = int(rng.integers(4, width - left + 1)), int(rng.integers(4, height - top + 1))
        size = int(rng.integers(8, 65)), int(rng.integers(8, 65))
        exact = InterpolationMode.NEAREST_EXACT
        return (left, top, *part, *size), lambda t: F.resize(F.crop(t, top, left, part[1], part[0]), size[::-1], exact)
    if name == "crop":
        (left, new_width), (top, new_height) = draw_crop(rng, width), draw_crop(rng, height)
        return (left, top, new_width, new_height), lambda t: F.crop(t, top, left, new_height, new_width)
    angle, mode = round(rng.uniform(-180, 180), 4), InterpolationMode.NEAREST
    if name == "affine":
        translate, scale = [int(v) for v in rng.integers(-12, 13, 2)], round(rng.uniform(0.5, 1.6), 4)
        shear = [round(rng.uniform(-25, 25), 4) if rng.random() < 0.7 else 0.0 for _ in range(2)]
        numbers = (angle, *translate, scale, *shear)
        return numbers, lambda t: F.affine(t, angle, translate, scale, shear, interpolation=mode, fill=0)
    turn = float(rng.choice([-90, 90, 180, 270])) if rng.random() < 0.15 else angle
    expand = int(rng.integers(0, 2))
    return (turn, expand), lambda t: F.rotate(t, turn, interpolation=mode, expand=bool(expand), fill=0)


def sample(mask, x, y):
    """Returns the pixels with the centres nearest to x, y, and zero outside the mask."""
    x, y = numpy.rint(x).astype(int), numpy.rint(y).astype(int)
    inside = (x >= 0) & (y >= 0) & (x < mask.shape[1]) & (y < mask.shape[0])
    return numpy.where(inside, mask[numpy.where(inside, y, 0), numpy.where(inside, x, 0)], 0)


def warp(mask, angle, translate_x, translate_y, scale, shear_x, shear_y, expand):
    """Calculates affine and rotate in float64. Returns None if a small shift changes the mask or its size."""
    size = numpy.array(mask.shape[::-1])
    turn, tan_x, tan_y = math.radians(angle), math.tan(math.radians(shear_x)), math.tan(math.radians(shear_y))
    rotation = numpy.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    matrix = scale * rotation @ numpy.array([[1, 0], [-tan_y, 1]]) @ numpy.array([[1, -tan_x], [0, 1]])
    new_width, new_height = size
    if expand:
        half = numpy.abs(matrix) @ size / 2
        sizes = [numpy.ceil(size / 2 + half + s) - numpy.floor(size / 2 - half - s) for s in (-SHIFT, SHIFT)]
        if angle % 90 == 0:
            sizes = [numpy.rint(2 * half)] * 2
        if (sizes[0] != sizes[1]).any():
            return None
        new_width, new_height = sizes[0].astype(int)
    y, x = numpy.mgrid[0:new_height, 0:new_width]
    offsets = numpy.stack([x + 0.5 - new_width / 2 - translate_x, y + 0.5 - new_height / 2 - translate_y])
    x, y = numpy.tensordot(numpy.linalg.inv(matrix), offsets, 1) + (size / 2 - 0.5)[:, None, None]
    result = sample(mask, x, y)
    shifted = [sample(mask, x + dx, y + dy) for dx in (-SHIFT, SHIFT) for dy in (-SHIFT, SHIFT)]
    return result if all((s == result).all() for s in shifted) else None


def resize(mask, left, top, width, height, new_width, new_height):
    """Calculates resize with whole numbers. Returns None if float32 or float64 gives other source positions."""
    sources = []
    for size, new_size in [(width, new_width), (height, new_height)]:
        sources.append((2 * numpy.arange(new_size) + 1) * size // (2 * new_size))
        for dtype in [numpy.float32, numpy.float64]:
            positions = (numpy.arange(new_size).astype(dtype) + dtype(0.5)) * (dtype(size) / dtype(new_size))
            if (numpy.floor(positions) != sources[-1]).any():
                return None
    return mask[top : top + height, left : left + width][numpy.ix_(sources[1], sources[0])]


def is_stable(name, numbers, mask, moved_mask):
    """Reports if the mask does not depend on rounding, and compares it with a second calculation."""
    if name not in ("resize", "affine", "rotate"):
        return True
    if name == "resize":
        result = resize(mask, *numbers)
    else:
        result = warp(mask, *(numbers + (0,) if name == "affine" else (-numbers[0], 0, 0, 1, 0, 0, numbers[1])))
    assert result is None or numpy.array_equal(result, moved_mask), (name, numbers)
    return result is not None


def find_offset(angle, size, new_size):
    """Returns the distance from torchvision's boxes to the pixels after rotate with expand = 1."""
    cos, sin = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
    extents = size[0] * cos + size[1] * sin, size[0] * sin + size[1] * cos
    return torch.tensor([(new - extent) / 2 for new, extent in zip(new_size, extents)], dtype=torch.float32)


def make_case(rng):
    width, height = (int(v) for v in rng.integers(17, 61, 2))
    boxes, points, rectangles = draw_targets(rng, width, height)
    mask = numpy.zeros((height, width), numpy.uint8)
    for left, top, part_width, part_height, label in rectangles:
        mask[top : top + part_height, left : left + part_width] = label
    rows = [("case", width, height)] + [("rectangle", *r) for r in rectangles]
    rows += [("box", *b) for b in boxes] + [("point", *p) for p in points]
    boxes, points = torch.tensor(boxes).reshape(-1, 4), torch.tensor(points).reshape(-1, 2)
    dropped = torch.zeros(len(boxes), dtype=torch.bool)
    for name in rng.choice(NAMES, rng.integers(1, 5)):
        stable = False
        while not stable:
            numbers, apply = draw_step(rng, name, *mask.shape[::-1])
            moved_mask = apply(tv_tensors.Mask(torch.from_numpy(mask))).contiguous().numpy()
            stable = is_stable(name, numbers, mask, moved_mask) and mask.any() == moved_mask.any()
        boxes = apply(tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=mask.shape)).as_subclass(torch.Tensor)
        points = apply(tv_tensors.KeyPoints(points, canvas_size=mask.shape)).as_subclass(torch.Tensor)
        if name.startswith("flip"):
            points = points + torch.tensor([1, 0] if name == "flip_horizontal" else [0, 1])
        elif name == "rotate" and numbers[1] == 1:
            offset = find_offset(numbers[0], mask.shape[::-1], moved_mask.shape[::-1])
            boxes, points = boxes + offset.repeat(2), points + offset
        dropped |= (boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1])
        mask = moved_mask
        rows.append(("step", name, *numbers))
    rows += [("moved_size", *mask.shape[::-1])]
    for box, is_dropped in zip(boxes.numpy(), dropped):
        rows.append(("moved_box", "dropped") if is_dropped else ("moved_box", *box))
    return rows + [("moved_point", *p) for p in points.numpy()] + [("moved_mask", zlib.crc32(mask.tobytes()))]


def main():
    FILE.parent.mkdir(parents=True, exist_ok=True)
    rows = [row for number in range(200) for row in make_case(numpy.random.default_rng(number))]
    FILE.write_text("".join(" ".join(str(v) for v in row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
