"""Writes reference/detection: images, boxes and masks after perspective, letterbox, clahe and mosaic.

Needs torch, torchvision 0.29, numpy, Pillow 12 and OpenCV (opencv-python-headless), which albumentations uses for CLAHE.
Each kind has 200 cases with random sizes and parameters. make_image is repeated in C++ for the inputs.

    python3 tests/images/make_detection_reference.py
"""

import math
import pathlib
import zlib

import cv2
import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms.functional import _get_perspective_coeffs
from torchvision.transforms.v2 import functional as F

assert PIL.__version__.startswith("12."), PIL.__version__
assert torchvision.__version__.startswith("0.29"), torchvision.__version__
FOLDER = pathlib.Path(__file__).parent / "reference" / "detection"
CASES = 200
WIDTH = 24  # of the file with all results, one below the other


def make_image(number, width, height):
    """Returns waves of triangles in whole numbers, with an edge."""
    y, x = numpy.mgrid[0:height, 0:width]
    channels = []
    for channel in range(3):
        wave = (x * (7 + (number * 5 + channel * 3) % 23) + y * (5 + (number * 3 + channel * 7) % 29) + number * 37) & 511
        channels.append(numpy.where(wave < 256, wave, 511 - wave))
    image = numpy.stack(channels, -1)
    image[height // 2 :, width // 3 : width // 2] = (number * 11) % 256
    return image.astype(numpy.uint8)


def make_mask(number, width, height):
    y, x = numpy.mgrid[0:height, 0:width]
    return ((x * 3 + y * 5 + number) // 9 % 5).astype(numpy.uint8)


def draw_boxes(rng, width, height):
    boxes = []
    for _ in range(rng.integers(0, 4)):
        left, top = rng.integers(0, width - 1), rng.integers(0, height - 1)
        boxes.append([left, top, rng.integers(left + 1, width + 1), rng.integers(top + 1, height + 1)])
    return torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4)


def is_stable(mask, coefficients):
    """Reports if the image is in front of the viewer, and a shift of 0.001 pixels does not change the nearest pixels."""
    height, width = mask.shape
    y, x = numpy.mgrid[0:height, 0:width] + 0.5
    a, b, c, d, e, f, g, h = coefficients
    w = g * x + h * y + 1
    if w.min() < 0.05:
        return False
    results = []
    for shift_x, shift_y in [(-1e-3, -1e-3), (1e-3, 1e-3), (-1e-3, 1e-3), (1e-3, -1e-3)]:
        column = numpy.rint((a * x + b * y + c) / w - 0.5 + shift_x).astype(int)
        row = numpy.rint((d * x + e * y + f) / w - 0.5 + shift_y).astype(int)
        inside = (column >= 0) & (row >= 0) & (column < width) & (row < height)
        results.append(numpy.where(inside, mask[row.clip(0, height - 1), column.clip(0, width - 1)], 255))
    return all((r == results[0]).all() for r in results)


def perspective_cases():
    for number in range(CASES):
        rng = numpy.random.default_rng(number)
        width, height = (int(v) for v in rng.integers(10, WIDTH + 1, 2))
        image, mask, boxes = make_image(number, width, height), make_mask(number, width, height), draw_boxes(rng, width, height)
        while True:
            corners = [[int(rng.integers(0, width // 2)), int(rng.integers(0, height // 2))],
                       [int(rng.integers(width - width // 2, width)), int(rng.integers(0, height // 2))],
                       [int(rng.integers(width - width // 2, width)), int(rng.integers(height - height // 2, height))],
                       [int(rng.integers(0, width // 2)), int(rng.integers(height - height // 2, height))]]
            start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
            coefficients = _get_perspective_coeffs(start, corners)
            if is_stable(mask, coefficients):
                break
        moved = F.perspective(torch.from_numpy(image).permute(2, 0, 1), None, None, InterpolationMode.BILINEAR,
                              fill=[20, 200, 90], coefficients=coefficients)
        moved_mask = F.perspective(tv_tensors.Mask(torch.from_numpy(mask)), None, None, coefficients=coefficients, fill=0)
        moved_boxes = F.perspective(tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width)), None, None,
                                    coefficients=coefficients)
        line = ["perspective", number, width, height] + [v for corner in corners for v in corner]
        line += [zlib.crc32(moved_mask.contiguous().numpy().tobytes()), len(boxes)]
        line += boxes.flatten().tolist() + moved_boxes.as_subclass(torch.Tensor).flatten().tolist()
        yield line, moved.permute(1, 2, 0).numpy()


def letterbox_cases():
    for number in range(CASES):
        rng = numpy.random.default_rng(1000 + number)
        width, height = (int(v) for v in rng.integers(5, 60, 2))
        new_height, new_width = (int(v) for v in rng.integers(8, WIDTH + 1, 2))
        image = Image.fromarray(make_image(number, width, height))
        scale = min(new_width / width, new_height / height)
        size = max(round(width * scale), 1), max(round(height * scale), 1)
        canvas = Image.new("RGB", (new_width, new_height), (114, 114, 114))
        canvas.paste(image.resize(size, Image.BILINEAR), ((new_width - size[0]) // 2, (new_height - size[1]) // 2))
        yield ["letterbox", number, width, height, new_height, new_width], numpy.asarray(canvas)


def clahe_cases():
    for number in range(CASES):
        rng = numpy.random.default_rng(2000 + number)
        width, height = (int(v) for v in rng.integers(10, WIDTH + 1, 2))
        limit, tiles = round(float(rng.uniform(1, 6)), 3), [int(v) for v in rng.integers(1, 5, 2)]
        lab = cv2.cvtColor(make_image(number, width, height), cv2.COLOR_RGB2LAB)
        lab[:, :, 0] = cv2.createCLAHE(clipLimit=limit, tileGridSize=tuple(tiles)).apply(lab[:, :, 0])
        yield ["clahe", number, width, height, limit, *tiles], cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)


def nearest(length, scaled):
    """Returns the nearest pixels. Pillow adds up the positions of its NEAREST, which rounds some of them otherwise."""
    return numpy.floor((numpy.arange(scaled) + 0.5) * (length / scaled)).astype(int)


def mosaic_cases():
    """As in Ultralytics 8.3, Mosaic._mosaic4, with Pillow's resize. Writes checksums, because all is exact."""
    for number in range(CASES):
        rng = numpy.random.default_rng(3000 + number)
        side = int(rng.integers(4, 40))
        center_x, center_y = (int(v) for v in rng.integers(side // 2, side * 3 // 2 + 1, 2))
        canvas = numpy.full((2 * side, 2 * side, 3), 114, numpy.uint8)
        mask = numpy.full((2 * side, 2 * side), 255, numpy.uint8)
        line, moved = ["mosaic", number, side, center_x, center_y], []
        for i in range(4):
            width, height = (int(v) for v in rng.integers(3, 60, 2))
            boxes = draw_boxes(rng, width, height).numpy().astype(float)
            scale = side / max(width, height)
            w, h = (width, height) if scale == 1 else (min(math.ceil(v * scale), side) for v in (width, height))
            left, right = (max(center_x - w, 0), center_x) if i % 2 == 0 else (center_x, min(center_x + w, 2 * side))
            top, bottom = (max(center_y - h, 0), center_y) if i < 2 else (center_y, min(center_y + h, 2 * side))
            x, y = (w - (right - left) if i % 2 == 0 else 0), (h - (bottom - top) if i < 2 else 0)
            window = slice(y, y + bottom - top), slice(x, x + right - left)
            image = Image.fromarray(make_image(4 * number + i, width, height)).resize((w, h), Image.BILINEAR)
            canvas[top:bottom, left:right] = numpy.asarray(image)[window]
            rows, columns = nearest(height, h), nearest(width, w)
            mask[top:bottom, left:right] = make_mask(4 * number + i, width, height)[numpy.ix_(rows, columns)][window]
            line += [width, height, len(boxes)] + boxes.flatten().tolist()
            for x1, y1, x2, y2 in boxes:
                corners = numpy.clip(numpy.array([x1, x2]) * w / width + left - x, 0, 2 * side), numpy.clip(
                    numpy.array([y1, y2]) * h / height + top - y, 0, 2 * side)
                moved += [corners[0][0], corners[1][0], corners[0][1], corners[1][1]]
        yield line + [zlib.crc32(canvas.tobytes()), zlib.crc32(mask.tobytes())] + moved, None


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines, images = [], []
    for cases in [perspective_cases, letterbox_cases, clahe_cases, mosaic_cases]:
        for line, image in cases():
            lines.append(" ".join(str(v) for v in line))
            if image is not None:
                images.append(numpy.pad(image, ((0, 0), (0, WIDTH - image.shape[1]), (0, 0))))
    (FOLDER / "cases.txt").write_text("\n".join(lines) + "\n")
    Image.fromarray(numpy.concatenate(images)).save(FOLDER / "images.png", optimize=True)


if __name__ == "__main__":
    main()
