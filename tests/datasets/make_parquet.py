"""Writes reference/parquet: the files that parquet_test.cpp reads, and the samples that the datasets package gives.

Needs datasets 5, pyarrow, torch, numpy and Pillow.

    python3 tests/datasets/make_parquet.py
"""

import io
import json
import pathlib
import shutil

import datasets
import numpy
import pyarrow
import pyarrow.parquet
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "reference" / "parquet"
random = numpy.random.default_rng(34)


def encode(pixels, form):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form)
    return stream.getvalue()


def plain(value):
    """A value of datasets' torch format as JSON."""
    return value.tolist() if hasattr(value, "tolist") else value


def expect(data, image=None):
    """Returns the samples of a dataset in the torch format. Images are lists of red, green and blue values by row."""
    samples = []
    for number in range(len(data)):
        sample = {name: plain(value) for name, value in data.with_format("torch")[number].items() if name != image}
        if image:
            sample[image] = numpy.asarray(data[number][image].convert("RGB")).flatten().tolist()
        samples.append(sample)
    return samples


def write_images():
    """Images with class labels, as push_to_hub writes them: data/SPLIT-NUMBER-of-COUNT.parquet."""
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog", "owl"])})
    expected = {}
    for split, files in {"train": 2, "validation": 1}.items():
        rows = {"image": [], "label": []}
        for number in range(7 * files):
            label = (number * 2) % 3
            pixels = random.integers(0, 60, (6, 5, 3), dtype=numpy.uint8)
            pixels[..., label] += 150
            form = "PNG" if number % 3 else "BMP"
            if number % 5 == 4:
                pixels = pixels[..., 0]  # a grey image
            rows["image"].append({"bytes": encode(pixels, form), "path": f"{number}.{form.lower()}"})
            rows["label"].append(label)
        data = datasets.Dataset.from_dict(rows, features=features)
        expected[split] = expect(data, "image")
        for file in range(files):
            path = FOLDER / "images" / "data" / f"{split}-{file:05}-of-{files:05}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            data.shard(files, file, contiguous=True).to_parquet(path, batch_size=3)
    (FOLDER / "images" / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    return expected


def write_table():
    """Numbers, lists and texts, in row groups of 4."""
    count = 11
    data = datasets.Dataset.from_dict(
        {
            "small": list(range(-5, count - 5)),
            "weight": random.normal(size=count).tolist(),
            "height": random.normal(size=count).astype("float32").tolist(),
            "ripe": [number % 3 == 0 for number in range(count)],
            "tags": [list(range(number % 4)) for number in range(count)],
            "box": random.normal(size=(count, 2)).tolist(),
            "species": [["pear", "apple", "fig"][number % 3] for number in range(count)],
            "fine": [number % 2 for number in range(count)],
        },
        features=datasets.Features(
            {
                "small": datasets.Value("int8"),
                "weight": datasets.Value("float64"),
                "height": datasets.Value("float32"),
                "ripe": datasets.Value("bool"),
                "tags": datasets.List(datasets.Value("uint16")),
                "box": datasets.List(datasets.Value("float32"), length=2),
                "species": datasets.Value("string"),
                "fine": datasets.ClassLabel(names=["smooth", "rough"]),
            }
        ),
    )
    data.to_parquet(FOLDER / "table" / "train.parquet", batch_size=4)
    encoded = data.class_encode_column("species")
    return {"samples": expect(encoded), "classes": encoded.features["species"].names}


def write(name, columns, **options):
    table = pyarrow.table(columns)
    path = FOLDER / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, path, **options)


def write_types():
    """Every type that becomes a field, without Hugging Face's metadata, and a few that do not."""
    numbers = {
        f"{sign}int{bits}": pyarrow.array([1, 2, 3], getattr(pyarrow, f"{sign}int{bits}")())
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
        if (sign, bits) != ("u", 64)
    }
    floats = {
        "half": pyarrow.array(numpy.array([1, 2, 3], "float16")),
        "single": pyarrow.array([1, 2, 3], pyarrow.float32()),
        "double": pyarrow.array([1, 2, 3], pyarrow.float64()),
    }
    lists = {
        "list": pyarrow.array([[1, 2], [], [3]], pyarrow.list_(pyarrow.int32())),
        "large_list": pyarrow.array([[1, 2], [], [3]], pyarrow.large_list(pyarrow.int64())),
        "fixed_list": pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.float64(), 2)),
        "bools": pyarrow.array([[True], [False, True], []], pyarrow.list_(pyarrow.bool_())),
    }
    texts = {
        "text": pyarrow.array(["b", "a", "b"]),
        "large_text": pyarrow.array(["b", "a", "b"], pyarrow.large_string()),
        "text_view": pyarrow.array(["b", "a", "b"], pyarrow.string_view()),
        "category": pyarrow.array(["b", "a", "b"]).dictionary_encode(),
    }
    others = {
        "unsigned": pyarrow.array([1, 2, 3], pyarrow.uint64()),
        "day": pyarrow.array([1, 2, 3], pyarrow.timestamp("s")),
        "price": pyarrow.array([1, 2, 3], pyarrow.decimal128(5, 2)),
        "nested": pyarrow.array([[[1]], [[2]], [[3]]]),
        "point": pyarrow.array([{"x": 1}, {"x": 2}, {"x": 3}]),
    }
    write("types", numbers | floats | {"bool": [True, False, True]} | lists | texts | others)
    for compression in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
        write(f"compressed/{compression}", {"number": list(range(50)), "label": ["a", "b"] * 25},
              compression=compression, row_group_size=20, write_page_checksum=compression == "zstd")


def write_turned():
    """A photo that its EXIF orientation turns next to an upright one, with coordinates and an age."""
    exif = Image.Exif()
    exif[0x0112] = 6
    stream = io.BytesIO()
    Image.fromarray(numpy.zeros((6, 4, 3), "uint8")).save(stream, "JPEG", exif=exif)
    upright = encode(numpy.zeros((6, 4, 3), "uint8"), "PNG")
    write("turned", {"a": [stream.getvalue()] * 2, "b": [upright] * 2, "x1": [3.0, 0.5], "age": [30.0, 40.0]})


def write_refused():
    write("refused/null_number", {"x": [1, 2, None, 4], "y": [1.0] * 4}, row_group_size=2)
    write("refused/null_in_list", {"x": [[1], [2, None]]})
    write("refused/null_image", {"image": pyarrow.array([{"bytes": b"x", "path": "a"}, {"bytes": None, "path": "b.png"}])})
    write("refused/damaged_image", {"image": [encode(numpy.zeros((4, 4, 3), "uint8"), "PNG"), b"no image"]})
    write("refused/empty", {"x": pyarrow.array([], pyarrow.int64())})
    write("refused/empty_text", {"x": ["a", ""]})
    write("refused/large_number", {"x": [1.0, 1e300]})
    write("refused/many_columns", {f"x{i}": [i] for i in range(65)})
    write("refused/no_name", {"": [1], "x": [2]})
    write("refused/no_elements", {"x": pyarrow.array([[], []], pyarrow.list_(pyarrow.int64(), 0)), "y": [1, 2]})
    write("refused/other_schema/a", {"x": [1, 2], "y": [1, 2]})
    write("refused/other_schema/b", {"x": [1.5], "y": [1]})
    table = pyarrow.table({"label": [0, 1, -1]})
    features = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    for name, metadata in {
        "unlabelled": json.dumps(features),
        "damaged_metadata": "{",
        "damaged_names": json.dumps(features).replace('"cat"', "3"),
    }.items():
        pyarrow.parquet.write_table(table.replace_schema_metadata({"huggingface": metadata}),
                                    FOLDER / "refused" / f"{name}.parquet")


shutil.rmtree(FOLDER, ignore_errors=True)
result = {"images": write_images(), "table": write_table()}
(FOLDER / "expected.json").write_text(json.dumps(result) + "\n")
write_types()
write_turned()
write_refused()
