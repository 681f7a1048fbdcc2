#!/usr/bin/env python3
"""Writes a PyTorch model as a .pt2 archive that the component `exported` trains.

    export_model.py --model SOURCE --input NAME=SIZE,SIZE,...[:DTYPE] [--input ...] [--output NAME ...] FILE.pt2
    export_model.py --onnx OUT.onnx [--weights MODEL.safetensors] FILE.pt2

The wheel of Tenon installs it as `tenon-export`. SOURCE is one of
    net.py:make            calls make() of net.py, which returns a torch.nn.Module
    torchvision:resnet18   calls torchvision.models.resnet18()
    timm:resnet50          calls timm.create_model("resnet50")
    transformers:CONFIG    a transformers model with random weights: CONFIG is a folder with config.json, the name of a
                           model in the local cache, or a class such as GPT2LMHeadModel, configured by --arg
--arg NAME=VALUE passes a keyword argument to the function: --arg num_classes=10.

Each --input describes an argument of forward: its name there, the sizes of an example with the batch size first, and
its dtype, which is float32 by default. The batch size becomes dynamic; example sizes of at least 2 are needed for it. A
letter in place of a size, such as tokens=2,T:int64, is another dynamic size, the same wherever the letter is.
The archive holds two graphs, of model.train() and model.eval(), over one set of weights. Archives of PyTorch 2.11, 2.13
and 2.15 have been trained. The host needs no Python.

--onnx converts the archive's graph of eval(), with its weights or those that the host trained.

Exit codes: 0 the archive is written, 1 the model cannot be exported, 2 wrong arguments, or a package is not installed.
"""
import argparse
import ast
import importlib
import importlib.util
import io
import json
import pathlib
import sys
import warnings
import zipfile


class UsageError(Exception):
    pass


def import_package(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed ({error}); run: pip install {name}") from None


def make_from_file(place, name, arguments):
    path = pathlib.Path(place)
    if not path.is_file():
        raise UsageError(f"--model: {place} is not a file")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise UsageError(f"--model: {place} has no function {name}")
    return getattr(module, name)(**arguments)


def make_transformer(name, arguments):
    transformers = import_package("transformers")
    chosen = getattr(transformers, name, None)
    if getattr(chosen, "config_class", None):
        config = chosen.config_class(**arguments)
    else:
        try:
            config = transformers.AutoConfig.from_pretrained(name, **arguments)
        except (OSError, ValueError) as error:
            raise UsageError(f"--model: {name} is no folder with config.json, cached model or class: {error}") from None
        if not config.architectures:
            raise UsageError(f"--model: the config.json of {name} names no class in `architectures`")
        chosen = getattr(transformers, config.architectures[0])
    config.use_cache = False
    return chosen(config)


def make_model(source, arguments):
    kind, _, name = source.rpartition(":")
    if not kind or not name:
        raise UsageError(f"--model: found {source}; expected net.py:FUNCTION, torchvision:NAME, timm:NAME or "
                         "transformers:CONFIG")
    if kind == "torchvision":
        return getattr(import_package("torchvision").models, name)(**arguments)
    if kind == "timm":
        return import_package("timm").create_model(name, **arguments)
    if kind == "transformers":
        return make_transformer(name, arguments)
    return make_from_file(kind, name, arguments)


def parse_argument(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--arg: found {text}; expected NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def make_example(torch, text):
    """The name, an example, and the dynamic sizes: dimension -> letter, or None for the batch size."""
    name, equals, rest = text.partition("=")
    sizes, _, dtype = rest.partition(":")
    sizes = sizes.split(",")
    letters = {i: size for i, size in enumerate(sizes) if i > 0 and len(size) == 1 and size.isalpha()}
    shape = [5 + ord(size) % 32 if i in letters else int(size) if size.isdigit() else 0 for i, size in enumerate(sizes)]
    if not equals or min(shape) < 1:
        raise UsageError(f"--input: found {text}; expected NAME=SIZE,SIZE,...[:DTYPE], such as image=2,3,224,224")
    if shape[0] < 2:
        raise UsageError(f"--input {name}: the batch size is {shape[0]}; expected 2 or more, to be exported as dynamic")
    kind = getattr(torch, dtype or "float32", None)
    if not isinstance(kind, torch.dtype):
        raise UsageError(f"--input {name}: there is no dtype {dtype}")
    example = torch.rand(shape).to(kind) if kind.is_floating_point else torch.ones(shape, dtype=kind)
    return name, example, {dimension: torch.export.Dim.DYNAMIC for dimension in (0, *letters)}


def export_graph(torch, model, examples, training, sizes=None):
    model.train(training)
    sizes = sizes or {name: {0: torch.export.Dim.DYNAMIC} for name in examples}
    return torch.export.export(model, (), kwargs=examples, dynamic_shapes=sizes)


def write_onnx(torch, archive, weights, path):
    program = importlib.import_module("torch.export.pt2_archive._package").load_pt2(archive).exported_programs["eval"]
    if weights:
        for name, tensor in import_package("safetensors.torch").load_file(weights).items():
            program.state_dict[name].data.copy_(tensor)  # also under the further names of a tied weight
    import_package("onnxscript")
    torch.onnx.export(program, (), str(path), dynamo=True, external_data=False, verbose=False)
    return 0


def write_archive(graphs, path):
    """Writes the graphs as package_pt2 does, but with the weights once: those of `eval` are the same."""
    from torch.export.pt2_archive import _package

    buffer = io.BytesIO()
    _package.package_pt2(buffer, exported_programs=graphs)
    buffer.seek(0)
    source = zipfile.ZipFile(buffer)
    root = source.namelist()[0].split("/")[0] + "/"
    records = {name[len(root):]: source.read(name) for name in source.namelist()}
    train_table, eval_table = (f"data/weights/{name}_weights_config.json" for name in ("train", "eval"))
    first, second = (json.loads(records[table])["config"] for table in (train_table, eval_table))
    if first.keys() != second.keys():
        raise RuntimeError(f"state_dict() differs between train() and eval(): {sorted(first.keys() ^ second.keys())}")
    for name, entry in second.items():
        record = "data/weights/" + entry["path_name"]
        if records.get(record) != records["data/weights/" + first[name]["path_name"]]:
            raise RuntimeError(f"{name} differs between the export of train() and that of eval()")
    shared = {"data/weights/" + entry["path_name"] for entry in first.values()}
    dropped = {"data/weights/" + entry["path_name"] for entry in second.values()} - shared
    records[eval_table] = records[train_table]
    with _package.PT2ArchiveWriter(str(path)) as writer:
        for name, data in records.items():
            written_by_writer = name.startswith(".data/") or name in ("archive_format", "archive_version", "byteorder")
            if name not in dropped and not written_by_writer:
                writer.write_bytes(name, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="SOURCE")
    parser.add_argument("--input", action="append", metavar="NAME=SIZE,...[:DTYPE]")
    parser.add_argument("--output", action="append", default=[], metavar="NAME", help="name of the next output")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--onnx", type=pathlib.Path, metavar="OUT.onnx", help="convert FILE.pt2")
    parser.add_argument("--weights", metavar="FILE.safetensors", help="for --onnx: weights of `host export`")
    parser.add_argument("file", type=pathlib.Path, metavar="FILE.pt2")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.file.suffix != ".pt2":
        parser.error(f"the file is {options.file}; expected a name that ends in .pt2")
    if (options.onnx and (options.model or options.input)) or not (options.onnx or options.model and options.input):
        parser.error("expected either --model and --input, or --onnx")
    try:
        torch = import_package("torch")
        if options.onnx:
            return write_onnx(torch, options.file, options.weights, options.onnx)
        described = [make_example(torch, text) for text in options.input]
        examples, sizes = {name: example for name, example, _ in described}, {name: size for name, _, size in described}
        model = make_model(options.model, dict(parse_argument(text) for text in options.arg))
        graphs = {name: export_graph(torch, model, examples, name == "train", sizes) for name in ("train", "eval")}
        write_archive(graphs, options.file)
    except UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        print(f"{parser.prog}: {options.model or options.file} cannot be exported: {error}", file=sys.stderr)
        return 1
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"# {options.file}: {count} parameters, inputs {', '.join(examples)}. Add to the run file:")
    outputs = f", outputs = {json.dumps(options.output)}" if options.output else ""
    print(f'[model]\nuse = "exported"\nparams = {{ path = "{options.file}"{outputs} }}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
