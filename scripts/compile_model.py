"""Compiles the graphs of an exported model for the host: `export_model.py --compile` calls it.

Each graph becomes a shared library that torch.compile's compiler, Inductor, generates ahead of time. The graph of
model.train() becomes two, as in torch.compile: forward, which also returns the tensors that backward reads, and backward.
The weights are arguments of each. https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html
"""
import contextlib
import copy
import json
import pathlib
import subprocess
from unittest import mock

import sympy
import torch
import torch._inductor
import torch._inductor.compile_fx
import torch._inductor.lowering  # noqa: F401  (its decompositions need it)
from torch._dispatch.python import enable_python_dispatcher
from torch._functorch.aot_autograd import aot_export_joint_simple
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import detect_fake_mode
from torch._inductor import cpp_builder, cpu_vec_isa
from torch._inductor.codegen import cpp
from torch._inductor.decomposition import select_decomp_table
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

FORMAT_VERSION = 1
TYPICAL_BATCH_SIZE = 61
LEVELS = {"avx2": ("x86-64-v3", 256), "avx512": ("x86-64-v4", 512)}  # the compiler's name, and the bits of a vector
OPTIONS = {
    "aot_inductor.package": True,
    "aot_inductor.link_libtorch": False,  # the host's LibTorch is loaded
    "cpp.dynamic_threads": True,  # the run file's threads, not those of this machine
    "fallback_random": True,  # the host's generator, as without compilation
}


class CannotCompile(Exception):
    pass


def sums_in_chunks(kernel, reduction_type, dtype, use_scalar):
    """Whether a sum adds chunks, for precision. For a dynamic size, Inductor decides by the example and then assumes it."""
    count = sympy.prod(kernel.call_ranges[kernel.reduction_depth:])
    is_long = bool(count.free_symbols) or count > 4096
    return reduction_type == "welford_reduce" or (reduction_type == "sum" and dtype == torch.float and is_long)


def typical(tensor):
    """A tensor of the example's sizes, as numbers."""
    sizes, strides = hints(tensor)
    return torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device)


def select_conv_backend(select):
    """Chooses the implementation of a convolution for the example. All that it chooses from have the same strides."""
    return lambda input, *args, **kwargs: select(typical(input), *args, **kwargs)


@contextlib.contextmanager
def assumptions(level):
    """Generates code for a level of instructions instead of this processor's, and for any batch size."""
    name, bits = LEVELS[level]
    available = cpu_vec_isa.valid_vec_isa_list()  # the list that Inductor reads, too
    fitting = [isa for isa in available if isa.bit_width() == bits and "amx" not in str(isa)]
    if not fitting:
        raise CannotCompile(f"this processor cannot run {level} instructions")
    before, flags = list(available), cpp_builder._get_optimization_cflags

    def optimization_flags(*args, **kwargs):
        compile_flags, link_flags = flags(*args, **kwargs)
        return [f"march={name}" if flag == "march=native" else flag for flag in compile_flags], link_flags

    available[:] = fitting
    try:
        with mock.patch.object(cpp_builder, "_get_optimization_cflags", optimization_flags), \
                mock.patch.object(cpp.CppKernel, "need_use_acc_helper", sums_in_chunks), \
                mock.patch.object(torch._C, "_select_conv_backend", select_conv_backend(torch._C._select_conv_backend)):
            yield
    finally:
        available[:] = before


def best_level():
    widest = max((isa.bit_width() for isa in cpu_vec_isa.valid_vec_isa_list()), default=0)
    found = [level for level, (_, bits) in LEVELS.items() if bits <= widest]
    if not found:
        raise CannotCompile("compiling needs a processor with AVX2 or AVX-512")
    return found[-1]


def placeholders(graph_module):
    return [node for node in graph_module.graph.nodes if node.op == "placeholder"]


def output_node(graph_module):
    return next(node for node in reversed(graph_module.graph.nodes) if node.op == "output")


def outputs(graph_module):
    return output_node(graph_module).args[0]


def hints(tensor):
    """The sizes and strides of the example."""
    return tuple([each.node.hint if isinstance(each, torch.SymInt) else each for each in numbers]
                 for numbers in (tensor.shape, tensor.stride()))


def dimension_order(tensor):
    """The dimensions from the outermost in memory: [0, 2, 3, 1] for channels_last."""
    sizes, strides = hints(tensor)
    order = sorted(range(tensor.dim()), key=lambda i: (-strides[i], sizes[i] == 1, i))
    elements = 1
    for i in reversed(order):
        if sizes[i] != 1 and strides[i] != elements:
            raise CannotCompile(f"a tensor of sizes {sizes} has strides {strides}, with gaps or overlaps")
        elements *= sizes[i]
    return order


def describe_tensor(tensor):
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "order": dimension_order(tensor)}


def describe_value(tensor):
    """Of a tensor that forward keeps for backward. It may be a view with gaps: then with the strides that are fixed."""
    try:
        return describe_tensor(tensor)
    except CannotCompile:
        return {"dtype": str(tensor.dtype).removeprefix("torch."),
                "strides": [None if isinstance(each, torch.SymInt) else each for each in tensor.stride()]}


def replace_sizes(graph_module):
    """Computes the sizes among the arguments from the tensors among them: compiled code is called with tensors."""
    graph, nodes = graph_module.graph, placeholders(graph_module)
    sources = {}  # the tensor and the dimension with each size
    for node in nodes:
        if isinstance(node.meta["val"], torch.Tensor):
            for i, size in enumerate(node.meta["val"].shape):
                if isinstance(size, torch.SymInt):
                    sources.setdefault(size.node.expr, (node, i))
    with graph.inserting_before(next(node for node in graph.nodes if node.op != "placeholder")):
        for node in nodes:
            size = node.meta["val"]
            if isinstance(size, torch.Tensor):
                continue
            known = {size.node.expr} if size.node.expr in sources else size.node.expr.free_symbols
            if not known <= sources.keys():
                raise CannotCompile(f"backward needs the size {size}, which no tensor has")
            symbols = {each: torch.fx.Proxy(graph.call_function(torch.ops.aten.sym_size.int, sources[each]))
                       for each in known}
            computed = symbols[size.node.expr] if size.node.expr in sources else sympy_interp(
                PythonReferenceAnalysis, symbols, size.node.expr)
            node.replace_all_uses_with(computed.node)
            graph.erase_node(node)
    graph_module.recompile()


def set_values(graph_module, nodes):
    """Makes these nodes, each once, what the graph returns. Returns the place of each node among them."""
    output = output_node(graph_module)
    places = {node: i for i, node in enumerate(dict.fromkeys(nodes))}
    output.args = (tuple(places),)
    output.meta = {}
    graph_module.recompile()
    return places


def read_inputs(program, is_training):
    """What the graph is called with: descriptions for the host, and example tensors without data."""
    signature = program.graph_signature
    nodes = placeholders(program.graph_module)
    described, examples, user_inputs = [], [], 0
    for node, spec in zip(nodes, signature.input_specs):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            raise CannotCompile(f"the argument {node.name} is no tensor")
        is_state = spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and spec.target in program.state_dict
        if spec.kind == InputKind.USER_INPUT:
            source = {"input": user_inputs}
            user_inputs += 1
        else:
            source = {"weight" if is_state else "constant": spec.target}
        if is_training and spec.kind == InputKind.PARAMETER and program.state_dict[spec.target].requires_grad:
            value = value.detach().requires_grad_(True)
        described.append({**source, **describe_tensor(value)})
        examples.append(value)
    return described, examples


class Sizes:
    """The sizes of inputs that vary, and what compiling assumes about them."""

    def __init__(self, described, examples):
        self.places = [(spec["input"], i, size.node) for spec, example in zip(described, examples) if "input" in spec
                       for i, size in enumerate(example.shape) if isinstance(size, torch.SymInt)]
        self.environments = {id(node.shape_env): node.shape_env for _, _, node in self.places}.values()
        self.before = [len(environment.guards) for environment in self.environments]

    def ranges(self):
        """The sizes for which the code is right. To call after compiling; the compiler adds what it assumes."""
        for environment, before in zip(self.environments, self.before):
            for guard in environment.guards[before:]:
                if environment._maybe_evaluate_static(guard.expr) is None:
                    raise CannotCompile(f"the compiled code would need sizes with {guard.expr}")
        ranges = []
        for index, dimension, node in self.places:
            size = node.shape_env.replace(node.expr)
            if not size.free_symbols:
                raise CannotCompile(f"the compiled code would need {size} as size {dimension} of input {index}")
            if size.is_Symbol:
                found = node.shape_env.var_to_range[size]
                largest = int(found.upper) if found.upper.is_Integer else None
                ranges.append({"input": index, "dimension": dimension, "min": int(found.lower), "max": largest})
        return ranges


def read_outputs(program):
    """What the graph returns: descriptions for the host, by the position among the outputs of the graph."""
    described, count = {}, 0
    for i, (spec, node) in enumerate(zip(program.graph_signature.output_specs, outputs(program.graph_module))):
        if not isinstance(getattr(node, "meta", {}).get("val"), torch.Tensor):
            continue
        if spec.kind == OutputKind.BUFFER_MUTATION:
            described[i] = {"buffer": spec.target}
        elif spec.kind == OutputKind.USER_OUTPUT:
            described[i] = {"output": count}
            count += 1
        else:
            raise CannotCompile(f"forward has an output of the kind {spec.kind.name}")
    return described


def compile_library(graph_module):
    examples = tuple(node.meta["val"] for node in placeholders(graph_module))
    return torch._inductor.aot_compile(graph_module, examples, options=OPTIONS)


def read_library(name, paths):
    """The records of a library: its code without symbols, and calls of operators that LibTorch's C interface lacks."""
    records = {}
    for path in map(pathlib.Path, paths):
        if path.suffix == ".so":
            subprocess.run(["strip", "--strip-all", path], check=True)
            records[f"{name}/{name}.so"] = path.read_bytes()
        elif path.suffix == ".json" and not path.stem.endswith("_metadata"):
            records[f"{name}/{name}.json"] = path.read_bytes()
    return records


def compile_graph(program, precision, is_training):
    """The description of a compiled graph, and its libraries by name."""
    program = program.run_decompositions({})
    for node in program.graph.nodes:
        # With gradients, attention may return other strides than in the export.
        if node.target == torch.ops.aten.view.default:
            node.target = torch.ops.aten.reshape.default
    program.graph_module.recompile()
    inputs, examples = read_inputs(program, is_training)
    described = read_outputs(program)
    graph_module = program.graph_module

    def forward(*arguments):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            results = graph_module(*arguments)
        return tuple(results[i].detach() if "buffer" in described[i] else results[i] for i in described)

    sizes = Sizes(inputs, examples)
    with detect_fake_mode(examples), enable_python_dispatcher():
        has_gradient = [result.requires_grad for result in forward(*examples)]
    is_training = is_training and any(has_gradient)
    graph = aot_export_joint_simple(forward, tuple(examples), trace_joint=is_training,
                                    decompositions=select_decomp_table())
    if not is_training:
        places = set_values(graph, outputs(graph))
        results = [{**spec, "value": places[node]} for spec, node in zip(described.values(), outputs(graph))]
        libraries = {"forward": compile_library(graph)}
        return {"inputs": inputs, "outputs": results, "sizes": sizes.ranges()}, libraries

    first, second = min_cut_rematerialization_partition(graph, None, num_fwd_outputs=len(described))
    results = outputs(first)[:len(described)]
    kept = [node for node in outputs(first)[len(described):] if isinstance(node.meta["val"], torch.Tensor)]
    arguments = placeholders(first)
    places = set_values(first, [*results, *(node for node in kept if node not in arguments)])
    replace_sizes(second)
    wanting = [places[result] for result, wants in zip(results, has_gradient) if wants]
    if len(set(wanting)) < len(wanting):
        raise CannotCompile("two outputs are one tensor")
    tangents = iter(wanting)
    sources = iter(kept)
    read = []
    for node in placeholders(second):
        if node.name.startswith("tangents"):
            source = {"gradient": next(tangents)}
        else:
            tensor = next(sources)
            source = {"input": arguments.index(tensor)} if tensor in arguments else {"value": places[tensor]}
        describe = describe_value if "value" in source else describe_tensor
        read.append({**source, **describe(node.meta["val"])})
    gradients = outputs(second)
    gradient_places = set_values(second, [node for node in gradients if node is not None])
    libraries = {"forward": compile_library(first), "backward": compile_library(second)}
    description = {
        "inputs": inputs,
        "sizes": sizes.ranges(),
        "outputs": [{**spec, "value": places[node]} for spec, node in zip(described.values(), results)],
        "backward": {"inputs": read, "gradients": [None if node is None else gradient_places[node]
                                                   for node in gradients]},
    }
    return description, libraries


def export(model, examples, sizes, is_training):
    model.train(is_training)
    return torch.export.export(model, (), kwargs=examples, dynamic_shapes=sizes)


def compile_graphs(model, examples, sizes, precision, level):
    """Returns records for the archive by their names: compiled.json, and the files of each library in its folder.

    examples, sizes: the keyword arguments and dynamic_shapes of torch.export.export. precision: fp32 or bf16.
    level: avx2, avx512 or native.
    """
    # The compiler takes the examples for typical. A size that equals another one by chance could become fixed.
    examples = {name: example[:1].repeat(TYPICAL_BATCH_SIZE, *[1] * (example.dim() - 1))
                for name, example in examples.items()}
    # The host stores convolutional networks and their inputs in channels_last: docs/decisions/0032.
    if any(tensor.dim() == 4 for tensor in model.state_dict().values()):
        model = copy.deepcopy(model).to(memory_format=torch.channels_last)
        examples = {name: example.contiguous(memory_format=torch.channels_last) if example.dim() == 4 else example
                    for name, example in examples.items()}
    level = best_level() if level == "native" else level
    record = {"version": FORMAT_VERSION, "torch": torch.__version__.split("+")[0], "instructions": level,
              "precision": precision, "graphs": {}}
    records = {}
    with assumptions(level):
        for name in ("train", "eval"):
            program = export(model, examples, sizes, name == "train")
            record["graphs"][name], libraries = compile_graph(program, precision, name == "train")
            for part, paths in libraries.items():
                records.update(read_library(f"{name}_{part}", paths))
    return {"compiled.json": json.dumps(record).encode(), **records}
