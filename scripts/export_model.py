#!/usr/bin/env python3
"""Writes a PyTorch model as a .pt2 archive that the component `exported` trains.

    export_model.py --model SOURCE --input NAME=SIZE,SIZE,...[:DTYPE] [--input ...] [--output NAME ...] FILE.pt2
    export_model.py --onnx OUT.onnx [--weights MODEL.safetensors] FILE.pt2
    export_model.py --onnx OUT.onnx MODEL.pt

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

Before it is written, outputs, gradients and changed buffers of both graphs are compared with those of the model on a
batch: torch.export leaves out the backward of an autograd.Function and hooks on gradients, and records one branch of
Python's random numbers. --no-gradcheck writes the archive without this comparison.

--onnx converts an archive's graph of eval(), with its weights or those that the host trained, or the TorchScript of
`host export --output MODEL.pt`, which the bundled models have. The number of samples is dynamic, and so are the other
sizes that differ between batches. The file has the description of the model as the metadata `tenon.json`. onnxruntime,
if it is installed, runs the result on another number of samples and compares it with PyTorch. The conversion is that of
torch.onnx with dynamo=True; it was run with PyTorch 2.15.

Exit codes: 0 the archive is written, 1 the model cannot be exported, 2 wrong arguments, or a package is not installed.
"""
import argparse
import ast
import copy
import importlib
import importlib.util
import io
import json
import pathlib
import random
import sys
import traceback
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
        try:
            return import_package("torchvision").models.get_model(name, **arguments)
        except ValueError:
            raise UsageError(f"--model: torchvision has no model {name}") from None
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


class Differs(Exception):
    pass


def place_of(torch, error):
    """The innermost line of the model's code that an error comes from: ` (net.py, line 3, in forward: x.item())`, or ""."""
    inside = str(pathlib.Path(torch.__file__).parent) + "/"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith((inside, "<")) and frame.filename != __file__]
    if not frames:
        return ""
    return f" ({frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}: {frames[-1].line})"


class GradientChanges:
    """Records what torch.export does not, while the model runs: custom backwards and hooks on gradients."""

    def __init__(self, torch, model):
        self.torch, self.model, self.found, self.seen, self.running = torch, model, [], set(), []
        self.names = {module: name for name, module in model.named_modules()}

    def add(self, line):
        if line not in self.found:
            self.found.append(line)

    def inspect(self, values):
        """Adds the custom backwards that the running module has added to the graph of gradients."""
        module = self.running[-1] if self.running else None
        nodes = [value.grad_fn for value in self.torch.utils._pytree.tree_leaves(values)
                 if isinstance(value, self.torch.Tensor)]
        while nodes:
            node = nodes.pop()
            if node is None or node in self.seen:
                continue
            self.seen.add(node)
            nodes.extend(following for following, _ in node.next_functions)
            function = getattr(type(node), "_forward_cls", None)
            if function and not function.__module__.startswith("torch."):
                self.add(f"the backward of the autograd.Function {function.__name__} in {self.names.get(module) or 'the model'}")

    def enter(self, module, inputs):
        self.inspect(inputs)
        self.running.append(module)

    def leave(self, module, inputs, outputs):
        self.inspect(outputs)
        self.running.pop()

    def __enter__(self):
        register = self.register = self.torch.Tensor.register_hook

        def register_hook(tensor, hook):
            self.add("a hook on the gradient of a tensor")
            return register(tensor, hook)

        self.torch.Tensor.register_hook = register_hook
        modules = self.torch.nn.modules.module
        self.handles = [modules.register_module_forward_pre_hook(self.enter), modules.register_module_forward_hook(self.leave)]
        for name, module in self.model.named_modules():
            if module._backward_hooks or module._backward_pre_hooks:
                self.add(f"a backward hook of the module {name or 'itself'}")
        for name, parameter in self.model.named_parameters():
            if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
                self.add(f"a hook on the gradient of the parameter {name}")
        return self

    def __exit__(self, *_):
        self.torch.Tensor.register_hook = self.register
        for handle in self.handles:
            handle.remove()


def seed_all(torch, seed):
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def run_once(torch, module, examples, seed):
    """Returns the floating-point outputs, the gradient of each parameter, and the buffers after a forward and backward."""
    for parameter in module.parameters():
        parameter.grad = None
    seed_all(torch, seed)
    outputs = [output for output in torch.utils._pytree.tree_leaves(module(**examples))
               if isinstance(output, torch.Tensor) and output.is_floating_point()]
    generator = torch.Generator().manual_seed(seed)
    loss = sum((output.float() * torch.randn(output.shape, generator=generator)).sum()
               for output in outputs if output.requires_grad)
    if isinstance(loss, torch.Tensor):
        loss.backward()
    gradients = {name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
                 for name, parameter in module.named_parameters() if parameter.requires_grad}
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers() if buffer.is_floating_point()}
    return [output.detach().clone() for output in outputs], gradients, buffers


def relative_error(torch, found, expected, least):
    """The norm of the difference by that of the larger one, or by `least` if that is larger."""
    difference, scale = (found.float() - expected.float()).norm(), max(found.float().norm(), expected.float().norm())
    return float(difference / max(scale, least)) if difference > 0 or not torch.isfinite(difference) else 0.0


def find_difference(torch, expected, found, tolerance):
    """Returns what differs between two results of run_once, or ""."""
    for number, (first, second) in enumerate(zip(expected[0], found[0], strict=True)):
        error = relative_error(torch, second, first, 1e-30)
        if not error <= tolerance:
            return f"output {number} differs by {error:.2g} of its norm"
    whole = sum(float(gradient.float().norm()) ** 2 for gradient in expected[1].values()) ** 0.5
    # A parameter without influence, such as a bias before batch normalization, has a gradient of rounding errors.
    wrong = {name: error for name in expected[1]
             if not (error := relative_error(torch, found[1].get(name, 0 * expected[1][name]), expected[1][name],
                                             1e-2 * whole + 1e-30)) <= tolerance}
    if wrong:
        last = list(wrong)[-1]
        return (f"{len(wrong)} of {len(expected[1])} gradients differ, the last of them, {last}, by {wrong[last]:.2g} of its "
                "norm; look at what forward does with its results")
    for name in expected[2]:
        if name in found[2] and not (error := relative_error(torch, found[2][name], expected[2][name], 1e-30)) <= tolerance:
            return f"the buffer {name} differs by {error:.2g} of its norm after a step"
    return ""


def explain(changes):
    if not changes:
        return ("forward depends on what torch.export records once, such as Python's random numbers or attributes that "
                "change: use tensors for it, such as torch.rand and torch.where")
    return (f"torch.export leaves out {'; '.join(changes)}. Write it with operations that have the wanted gradient: "
            "g + (v - g).detach() has the value v and the gradient of g. A straight-through round(x) is "
            "x + (torch.round(x) - x).detach(), a gradient reversal -x + (2 * x).detach()")


def compare_gradients(torch, model, graphs, examples):
    """Raises Differs if a graph computes something else than the model. Leaves the model as it is."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    low = any(parameter.dtype in (torch.float16, torch.bfloat16) for parameter in model.parameters())
    tolerance = 0.05 if low else 1e-3  # the graph has the same operations, and a lost gradient is an error of about 1
    for name, graph in graphs.items():
        for seed in range(4 if name == "train" else 1):
            model.train(name == "train")
            exported = copy.deepcopy(graph.module())  # parameters without hooks
            with GradientChanges(torch, model) as changes:
                expected = run_once(torch, model, examples, seed)
            model.load_state_dict(before)
            difference = find_difference(torch, expected, run_once(torch, exported, examples, seed), tolerance)
            if difference:
                raise Differs(f"the graph of {name}() computes something else than the model: {difference}. "
                              f"{explain(changes.found)}; --no-gradcheck exports it as it is")
    for parameter in model.parameters():
        parameter.grad = None


def check_operators(torch, graphs):
    """Raises Differs if a graph calls operators that are not part of PyTorch, which the host does not have."""
    for name, graph in graphs.items():
        for node in graph.graph.nodes:
            if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace == "aten":
                continue
            lines = [line.strip() for line in node.meta.get("stack_trace", "").splitlines() if line.strip()]
            place = f", {lines[-2]}: {lines[-1]}" if len(lines) > 1 else ""
            advice = ("pass --arg experts_implementation=batched_mm" if node.target.namespace == "transformers" else
                      "replace it by PyTorch's operators, or keep it out of forward")
            raise Differs(f"the graph of {name}() calls the operator {node.target}{place}. The host has the operators of "
                          f"PyTorch alone; {advice}")


def read_archive(archive, weights):
    """The graph of eval(), and the description of the model if `host export` wrote the archive."""
    contents = importlib.import_module("torch.export.pt2_archive._package").load_pt2(archive)
    program = contents.exported_programs["eval"]
    if weights:
        for name, tensor in import_package("safetensors.torch").load_file(weights).items():
            program.state_dict[name].data.copy_(tensor)  # also under the further names of a tied weight
    return program, (contents.extra_files or {}).get("tenon.json", "")


def make_inputs(torch, description, samples):
    """Inputs of a TorchScript of `host export`, and the dimensions of each that are dynamic."""
    inputs, dynamic = [], []
    for described in description["inputs"]:
        shape, dtype = described["shape"], described["dtype"]
        if not shape or not dtype:
            raise Differs(f"the input {described['name']} has no fixed dtype and number of dimensions; export it with data")
        kind = getattr(torch, dtype)
        # A length that differs between batches: of a text, or a side of an image, which may have to be a multiple.
        sizes = [samples] + [size or (64 if kind.is_floating_point else 8) for size in shape[1:]]
        inputs.append(torch.rand(sizes).to(kind) if kind.is_floating_point else torch.ones(sizes, dtype=kind))
        dynamic.append([place for place, size in enumerate(shape) if place == 0 or size is None])
    return tuple(inputs), dynamic


def read_torchscript(torch, file):
    """The same of a file of `host export --output MODEL.pt`, and the function of the module."""
    files = {"tenon.json": ""}
    module = torch.jit.load(str(file), _extra_files=files).eval()
    if not files["tenon.json"]:
        raise Differs("it has no tenon.json; expected a file of `host export --output MODEL.pt`")
    try:
        from torch._export.converter import TS2EPConverter
    except ImportError:
        raise UsageError(f"torch {torch.__version__} cannot convert TorchScript; install torch 2.15") from None
    text = files["tenon.json"] if isinstance(files["tenon.json"], str) else files["tenon.json"].decode()
    inputs, dynamic = make_inputs(torch, json.loads(text), 2)
    graph = TS2EPConverter(module, inputs, {}).convert().module(check_guards=False)
    sizes = tuple({place: torch.export.Dim.DYNAMIC for place in places} for places in dynamic)
    return torch.export.export(graph, inputs, dynamic_shapes=sizes), text, module


def check_onnx(torch, path, module, description):
    """Compares onnxruntime with PyTorch. Raises Differs."""
    try:
        import onnxruntime
    except ImportError:
        print("onnxruntime is not installed, so the file was not compared with PyTorch", file=sys.stderr)
        return
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs, _ = make_inputs(torch, description, 3)
    found = session.run(None, {given.name: tensor.numpy() for given, tensor in zip(session.get_inputs(), inputs)})
    with torch.no_grad():
        expected = module(*inputs)
    for name, one, other in zip(description["outputs"], found, expected if isinstance(expected, tuple) else (expected,)):
        difference = (torch.from_numpy(one).double() - other.double()).abs().max().item()
        limit = 1e-4 * max(other.double().abs().max().item(), 1e-30)
        if one.shape != tuple(other.shape) or not difference <= limit:
            raise Differs(f"onnxruntime computes {name['name']} {list(one.shape)}, which differs by {difference} from PyTorch's "
                          f"{list(other.shape)}; expected at most {limit}")


def write_onnx(torch, file, weights, path):
    import_package("onnxscript")
    module = None
    if file.suffix == ".pt":
        program, description, module = read_torchscript(torch, file)
    else:
        program, description = read_archive(file, weights)
    described = json.loads(description) if description else {}
    names = {"input_names": [one["name"] for one in described["inputs"]],
             "output_names": [one["name"] for one in described["outputs"]]} if module else {}
    converted = torch.onnx.export(program, (), dynamo=True, verbose=False, **names)
    if description:
        converted.model.metadata_props["tenon.json"] = description
    converted.save(str(path), external_data=False)
    if module:
        check_onnx(torch, path, module, described)
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
    parser.add_argument("--no-gradcheck", action="store_true", help="do not compare the graphs with the model")
    parser.add_argument("--onnx", type=pathlib.Path, metavar="OUT.onnx", help="convert FILE.pt2 or FILE.pt")
    parser.add_argument("--weights", metavar="FILE.safetensors", help="for --onnx: weights of `host export`")
    parser.add_argument("file", type=pathlib.Path, metavar="FILE.pt2|FILE.pt")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.file.suffix not in ([".pt2", ".pt"] if options.onnx else [".pt2"]):
        parser.error(f"the file is {options.file}; expected a name that ends in .pt2{' or .pt' if options.onnx else ''}")
    if options.weights and options.file.suffix == ".pt":
        parser.error("--weights works only for a .pt2 archive; a .pt file has the weights of the run")
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
        check_operators(torch, graphs)
        if not options.no_gradcheck:
            compare_gradients(torch, model, graphs, examples)
        write_archive(graphs, options.file)
    except UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except Differs as error:
        print(f"{parser.prog}: {options.model or options.file} cannot be exported: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        print(f"{parser.prog}: {options.model or options.file} cannot be exported{place_of(torch, error)}: {error}",
              file=sys.stderr)
        return 1
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"# {options.file}: {count} parameters, inputs {', '.join(examples)}. Add to the run file:")
    outputs = f", outputs = {json.dumps(options.output)}" if options.output else ""
    print(f'[model]\nuse = "exported"\nparams = {{ path = "{options.file}"{outputs} }}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
