"""Writes reference events with TensorBoard's messages and writer, and checks the events of runs with its reader.

    pip install tensorboard
    python tests/parity/make_tensorboard.py                  # writes tests/artifacts/reference/tensorboard_events.hex
    python tests/parity/make_tensorboard.py RUN_FOLDER...    # compares runs' events with their history.jsonl

The first form writes the reference of tests/artifacts/tensorboard_events_test.cpp, which compares it byte by byte: one
record per line, framed as in the file. The second form reads a run as TensorBoard does, and fails in these cases:
- A metric of the history is missing, or has another value or step.
- The steps or times of a curve decrease.
- The plan or the hyperparameters are missing.
- A picture differs from the file in samples/.
- The bins of a histogram do not add up.
"""

import io
import json
import math
import pathlib
import struct
import sys

from google.protobuf import struct_pb2
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

REFERENCE = pathlib.Path(__file__).parent.parent / "artifacts" / "reference" / "tensorboard_events.hex"
WALL_TIME = 1763721005.25


def tensor_summary(tag, plugin, content, tensor):
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin, content=content),
        data_class=summary_pb2.DATA_CLASS_TENSOR,
    )
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


def text_tensor(text):
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    return tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=[text.encode()])


def hparams_summary(tag, **info):
    data = plugin_data_pb2.HParamsPluginData(**info)
    return tensor_summary(tag, "hparams", data.SerializeToString(deterministic=True), hparams_metadata.NULL_TENSOR)


def session_start(values):
    start = plugin_data_pb2.SessionStartInfo(start_time_secs=WALL_TIME)
    for key, value in values.items():
        kind = {bool: "bool_value", float: "number_value", str: "string_value"}[type(value)]
        start.hparams[key].CopyFrom(struct_pb2.Value(**{kind: value}))
    return hparams_summary(hparams_metadata.SESSION_START_INFO_TAG, session_start_info=start)


def session_end(status):
    end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=WALL_TIME)
    return hparams_summary(hparams_metadata.SESSION_END_INFO_TAG, session_end_info=end)


def scalars(values):
    return summary_pb2.Summary(
        value=[summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
    )


def histograms(spreads):
    values = []
    for tag, (smallest, largest, total, squares, limits, counts) in spreads.items():
        histo = summary_pb2.HistogramProto(
            min=smallest, max=largest, num=sum(counts), sum=total, sum_squares=squares,
            bucket_limit=limits, bucket=counts,
        )
        values.append(summary_pb2.Summary.Value(tag=tag, histo=histo))
    return summary_pb2.Summary(value=values)


def picture(tag, height, width, png):
    image = summary_pb2.Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=png)
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, image=image)])


# The events of tests/artifacts/tensorboard_events_test.cpp, in the same order.
EVENTS = [
    {"file_version": "brain.Event:2", "source_metadata": event_pb2.SourceMetadata(writer="tenon")},
    {"session_log": event_pb2.SessionLog(status=event_pb2.SessionLog.START)},
    {"summary": tensor_summary("plan", "text", b"", text_tensor("# A plan\n\nof two lines, and of \u00fc\n"))},
    {"step": 300, "summary": tensor_summary("plan", "text", b"", text_tensor("x" * 200))},
    {
        "summary": session_start(
            {"a.off": False, "a.on": True, "loss[0].use": "cross_entropy", "optimizer.lr": 0.001, "run.seed": 0.0}
        )
    },
    {"summary": session_end(1)},
    {"summary": session_end(2)},
    {"step": 1, "summary": scalars({"train/loss": 2.5})},
    {
        "step": 1 << 40,
        "summary": scalars(
            {"train/loss": 0.1, "train/learning_rate": 1e-300, "a": math.inf, "b": -math.inf, "zero": 0.0}
        ),
    },
    {
        "step": 7,
        "summary": histograms(
            {"weights/a": (-1, 3, 4.5, 12.25, [0, 1.5, 3], [2, 0, 1]), "gradients/a": (2, 2, 4, 8, [2], [2])}
        ),
    },
    {"step": 7, "summary": picture("validation/worst/1/image", 2, 200, b"\x89\x00")},
]


def write_reference():
    lines = []
    for fields in EVENTS:
        stream = io.BytesIO()
        event = event_pb2.Event(wall_time=WALL_TIME, **fields)
        RecordWriter(stream).write(event.SerializeToString(deterministic=True))
        lines.append(stream.getvalue().hex())
    REFERENCE.parent.mkdir(exist_ok=True)
    REFERENCE.write_text("\n".join(lines) + "\n")
    print(f"wrote {len(lines)} records to {REFERENCE.name}")


def is_loss(metric, losses):
    name = metric.removeprefix("train/")
    return name != metric and (name == "loss" or any(name == one or name.startswith(one + ".") for one in losses))


def expected_scalars(run, losses):
    """Maps each tag to (step, value) of each line of the history."""
    expected = {}
    for line in (run / "history.jsonl").read_text().splitlines():
        record = json.loads(line)
        event, step = record["event"], record["step"]
        for name, value in record.items():
            if name in ("event", "epoch", "step", "time_s"):
                continue
            tag = name + "_epoch" if event == "epoch" and is_loss(name, losses) else name
            expected.setdefault(tag, []).append((step, float(value)))
    return expected


def as_float32(number):
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def same(shown, number):
    return shown == as_float32(number) or (math.isnan(shown) and math.isnan(number))


def check_pictures(run, accumulator):
    """Checks that each picture of samples/ is shown under its group, position and field. Returns their number."""
    file = run / "samples" / "samples.json"
    expected = {}
    if file.exists():
        samples = json.loads(file.read_text())
        for group in ("worst", "best"):
            for place, sample in enumerate(samples[group], 1):
                for one in sample["pictures"]:
                    tag = f"{samples['data']}/{group}/{place}/{one['field']}"
                    expected[tag] = (run / "samples" / one["file"]).read_bytes()
    assert set(accumulator.Tags()["images"]) == set(expected)
    for tag, png in expected.items():
        shown = accumulator.Images(tag)[-1]
        assert shown.encoded_image_string == png, tag
    return len(expected)


def check_histograms(accumulator):
    tags = accumulator.Tags()["histograms"]
    for tag in tags:
        for event in accumulator.Histograms(tag):
            value = event.histogram_value
            assert sum(value.bucket) == value.num > 0, tag
            assert list(value.bucket_limit) == sorted(value.bucket_limit), tag
            assert value.bucket_limit[-1] == value.max, tag
    return len(tags)


def check_run(run):
    files = list(run.glob("events.out.tfevents.*"))
    assert len(files) == 1, f"{run} has {len(files)} events files"
    accumulator = EventAccumulator(
        str(run), size_guidance={"scalars": 0, "tensors": 0, "images": 0, "histograms": 0}
    )
    accumulator.Reload()
    tags = accumulator.Tags()
    assert "plan" in tags["tensors"], tags["tensors"]
    content = accumulator.SummaryMetadata(hparams_metadata.SESSION_START_INFO_TAG).plugin_data.content
    start = hparams_metadata.parse_session_start_info_plugin_data(content)
    losses = [
        start.hparams.get(f"loss[{i}].name", start.hparams[f"loss[{i}].use"]).string_value
        for i in range(100)
        if f"loss[{i}].use" in start.hparams
    ]
    assert losses, "no loss among the hyperparameters"
    expected = expected_scalars(run, losses)
    assert set(tags["scalars"]) == set(expected), set(tags["scalars"]) ^ set(expected)
    for tag, points in expected.items():
        shown = accumulator.Scalars(tag)
        assert [event.step for event in shown] == [step for step, _ in points], tag
        assert [event.step for event in shown] == sorted(event.step for event in shown), tag
        assert all(same(event.value, value) for event, (_, value) in zip(shown, points)), tag
        times = [event.wall_time for event in shown]
        assert times == sorted(times), f"{tag}: wall times decrease"
    pictures, spreads = check_pictures(run, accumulator), check_histograms(accumulator)
    count = sum(len(points) for points in expected.values())
    print(
        f"{run}: {len(expected)} tags, {count} values, {len(start.hparams)} hyperparameters, {pictures} pictures agree "
        f"with its files; {spreads} histograms"
    )


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        check_run(pathlib.Path(folder))
    if not sys.argv[1:]:
        write_reference()
