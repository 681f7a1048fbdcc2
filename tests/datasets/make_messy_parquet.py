"""Writes reference/messy_parquet: files as pandas, Spark and datasets write them, which parquet_messy_test.cpp reads.

Needs pandas and pyarrow.

    python3 tests/datasets/make_messy_parquet.py
"""

import pathlib
import shutil

import pandas
import pyarrow
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).parent / "reference" / "messy_parquet"


def write(name, table):
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, path)


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)

rows = pandas.DataFrame({"x": [0.5, 1.5, 2.5], "y": [0, 1, 0]})
rows.iloc[[1, 2, 0]].to_parquet(FOLDER / "shuffled_index.parquet")
rows.rename_axis("row_id").to_parquet(FOLDER / "named_index.parquet", index=True)

for year, city, x in ((2023, "a%2Fb", 0.5), (2024, "c", 1.5), (2024, "d", 2.5)):
    write(f"hive/year={year}/city={city}/part-0.parquet", pyarrow.table({"x": [x]}))
(FOLDER / "hive" / "_temporary").mkdir()
(FOLDER / "hive" / "_temporary" / "part-0.parquet").write_text("not yet complete")
(FOLDER / "hive" / "_common_metadata.parquet").write_text("no rows")

image = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
write("paths.parquet", pyarrow.table({"image": pyarrow.array([{"bytes": None, "path": "a.png"}], image), "y": [1]}))
untyped = pyarrow.struct({"bytes": pyarrow.null(), "path": pyarrow.string()})
write("untyped_paths.parquet", pyarrow.table({"image": pyarrow.array([{"bytes": None, "path": "a.png"}], untyped), "y": [1]}))

write("lists.parquet", pyarrow.table({"x": [0.5, 1.5, 2.5, 3.5], "labels": [[0, 2], [1], [], [2, 2]]}))
write("text_lists.parquet", pyarrow.table({"x": [0.5, 1.5, 2.5], "tags": [["dog", "cat"], [], ["odd"]]}))
for label in ("01", "02"):
    write(f"zeros/label={label}/part-0.parquet", pyarrow.table({"x": [0.5]}))
for label in ("1", "__HIVE_DEFAULT_PARTITION__"):
    write(f"missing/label={label}/part-0.parquet", pyarrow.table({"x": [0.5]}))
for label in ("cat", "dog"):
    write(f"same/label={label}/part-0.parquet", pyarrow.table({"x": [0.5, 1.5], "label": [label, label]}))
write("contradicting/label=cat/part-0.parquet", pyarrow.table({"x": [0.5, 1.5], "label": ["cat", "owl"]}))
write("contradicting_number/year=2024/part-0.parquet", pyarrow.table({"x": [0.5], "year": [2023]}))
write("numbers.parquet", pyarrow.table({"y": ["10", " 2", "-1", "2"]}))
write("missing_text.parquet", pyarrow.table({"y": ["cat", "NA", "dog"]}))
write("tags.parquet", pyarrow.table({"y": ["cat|dog", "cat"]}))
