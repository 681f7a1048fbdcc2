"""Writes reference/decode: small image files of many kinds, each with its pixels as decoded by Pillow.

    python3 -m venv venv && venv/bin/pip install pillow==13.0.0 numpy==2.4.6
    venv/bin/python make_decode_reference.py

NAME.EXTENSION is the file. NAME.EXTENSION.ppm has its pixels, after ImageOps.exif_transpose and convert("RGB").
One kind is computed here instead: the upper 8 bits of 16-bit grey.
reference/background has the pixels of files with alpha over a colour, as pasted by Pillow.
The test needs no Python.
"""

import io
import pathlib
import struct
import zlib

import numpy
import PIL.Image
import PIL.ImageOps

FOLDER = pathlib.Path(__file__).parent / "reference" / "decode"
WIDTH, HEIGHT = 29, 22  # not multiples of a block


def photo(channels):
    """Returns slopes, noise and hard edges, so that subsampled chroma and rounding change the result."""
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    slopes = numpy.stack([x * 8.0, y * 11.0, (x + y) * 4.5, 255 - x * 5.0], axis=-1)[:, :, :channels]
    pixels = slopes + random.normal(0, 20, (HEIGHT, WIDTH, channels))
    pixels[6:13, 9:20] = random.integers(0, 255, channels)
    return pixels.clip(0, 255).astype(numpy.uint8)


def image(mode):
    channels = len(PIL.Image.new(mode, (1, 1)).getbands())
    pixels = photo(channels)
    return PIL.Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)


def encoded(picture, kind, **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def exif(orientation):
    block = PIL.Image.Exif()
    block[274] = orientation
    return block.tobytes()


def deep_colour_png():
    """Returns a 16-bit colour PNG, which Pillow cannot write."""
    pixels = photo(3).astype(numpy.uint16) * 256 + 200
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make_files():
    colour, grey, bits = image("RGB"), image("L"), image("L").convert("1")
    deep = PIL.Image.fromarray(photo(1)[:, :, 0].astype(numpy.uint16) * 256 + 200)
    palette = colour.quantize(17)
    sparse = palette.copy()
    sparse.info["transparency"] = 3
    for name, subsampling in {"444": "4:4:4", "422": "4:2:2", "420": "4:2:0"}.items():
        yield f"{name}.jpg", encoded(colour, "JPEG", quality=85, subsampling=subsampling)
    yield "progressive.jpg", encoded(colour, "JPEG", quality=85, progressive=True)
    yield "restarts.jpg", encoded(colour, "JPEG", quality=85, restart_marker_blocks=2)
    yield "rgb.jpg", encoded(colour, "JPEG", quality=85, keep_rgb=True)
    yield "grey.jpg", encoded(grey, "JPEG", quality=85)
    yield "cmyk.jpg", encoded(image("CMYK"), "JPEG", quality=85)
    for orientation in range(1, 9):
        yield f"turned_{orientation}.jpg", encoded(colour, "JPEG", quality=85, exif=exif(orientation))
        yield f"turned_{orientation}.tiff", encoded(colour, "TIFF", exif=exif(orientation))
    for kind, extension, options in [("PNG", "png", {}), ("WEBP", "webp", {"lossless": True})]:
        yield f"turned_6.{extension}", encoded(colour, kind, exif=exif(6), **options)
    yield "colour.png", encoded(colour, "PNG")
    yield "grey.png", encoded(grey, "PNG")
    yield "bits.png", encoded(bits, "PNG")
    yield "palette.png", encoded(palette, "PNG")
    yield "palette_with_hole.png", encoded(sparse, "PNG", transparency=3)
    yield "alpha.png", encoded(image("RGBA"), "PNG")
    yield "grey_alpha.png", encoded(image("LA"), "PNG")
    yield "deep_grey.png", encoded(deep, "PNG")
    yield "deep_colour.png", deep_colour_png()
    yield "lossless.webp", encoded(colour, "WEBP", lossless=True)
    yield "lossy.webp", encoded(colour, "WEBP", quality=85)
    yield "lossless_alpha.webp", encoded(image("RGBA"), "WEBP", lossless=True, exact=True)
    yield "lossy_alpha.webp", encoded(image("RGBA"), "WEBP", quality=85, exact=True)
    yield "colour.tiff", encoded(colour, "TIFF")
    yield "lzw.tiff", encoded(colour, "TIFF", compression="tiff_lzw")
    yield "deflate.tiff", encoded(colour, "TIFF", compression="tiff_adobe_deflate")
    yield "jpeg.tiff", encoded(colour, "TIFF", compression="jpeg", quality=85)
    yield "grey.tiff", encoded(grey, "TIFF")
    yield "bits.tiff", encoded(bits, "TIFF")
    yield "palette.tiff", encoded(palette, "TIFF")
    yield "packbits.tiff", encoded(colour, "TIFF", compression="packbits")
    yield "strips.tiff", encoded(colour, "TIFF", compression="tiff_lzw", strip_size=5 * 3 * WIDTH)
    yield "alpha.tiff", encoded(image("RGBA"), "TIFF")
    yield "alpha_deflate.tiff", encoded(image("RGBA"), "TIFF", compression="tiff_adobe_deflate")
    yield "grey_alpha.tiff", encoded(image("LA"), "TIFF")
    yield "cmyk.tiff", encoded(image("CMYK"), "TIFF")
    yield "deep_grey.tiff", encoded(deep, "TIFF")
    yield "colour.bmp", encoded(colour, "BMP")
    yield "palette.bmp", encoded(palette, "BMP")
    yield "grey.bmp", encoded(grey, "BMP")
    yield "colour.ppm", encoded(colour, "PPM")
    yield "grey.pgm", encoded(grey, "PPM")
    yield "bits.pbm", encoded(bits, "PPM")
    yield "deep_grey.pgm", encoded(deep, "PPM")


def upright(file):
    picture = PIL.Image.open(io.BytesIO(file))
    PIL.ImageOps.exif_transpose(picture, in_place=True)
    if picture.mode.startswith("I"):
        picture = PIL.Image.fromarray((numpy.asarray(picture) >> 8).astype(numpy.uint8))
    return picture.convert("RGB")


def over_background(file, background):
    picture = upright_with_alpha(file)
    canvas = PIL.Image.new("RGB", picture.size, background)
    canvas.paste(picture.convert("RGB"), mask=picture.getchannel("A"))
    return canvas


def upright_with_alpha(file):
    picture = PIL.Image.open(io.BytesIO(file))
    PIL.ImageOps.exif_transpose(picture, in_place=True)
    return picture.convert("RGBA")


BACKGROUNDS = FOLDER.parent / "background"  # the same files over this colour
BACKGROUND = (200, 100, 0)

FOLDER.mkdir(parents=True, exist_ok=True)
BACKGROUNDS.mkdir(exist_ok=True)
for old in [*FOLDER.iterdir(), *BACKGROUNDS.iterdir()]:
    old.unlink()
for name, file in make_files():
    (FOLDER / name).write_bytes(file)
    (FOLDER / f"{name}.ppm").write_bytes(encoded(upright(file), "PPM"))
    if PIL.Image.open(io.BytesIO(file)).has_transparency_data and name != "grey_alpha.tiff":  # which is refused
        (BACKGROUNDS / f"{name}.ppm").write_bytes(encoded(over_background(file, BACKGROUND), "PPM"))
