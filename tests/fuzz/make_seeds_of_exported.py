#!/usr/bin/env python3
"""Writes the seeds of fuzz_exported from the archives of tests/parity: make_seeds_of_exported.py ARCHIVES SEEDS

A seed NAME.records has the records of NAME.pt2 that the reader uses, in the form that fuzz_exported.cpp describes. Left out
are entries that the reader does not read, and the graph of eval() if the archive is large: a smaller input is mutated more
often where it matters.
"""
import json
import pathlib
import sys
import zipfile

MOST_BYTES = 6000

def shorten_node(node):
    metadata = {name: text for name, text in node.get("metadata", {}).items() if name == "nn_module_stack"}
    short = {key: node[key] for key in ("target", "name", "inputs", "outputs")}
    for argument in short["inputs"]:
        argument.pop("kind", None)
        if "as_graph" in argument["arg"]:
            graph = argument["arg"]["as_graph"]["graph"]
            argument["arg"]["as_graph"] = {"graph": {"inputs": graph["inputs"], "outputs": graph["outputs"],
                                                     "nodes": [shorten_node(each) for each in graph["nodes"]]}}
    return short | ({"metadata": metadata} if metadata else {})


def shorten_nodes(nodes):
    """The first node keeps its lines of Python."""
    short = [shorten_node(node) for node in nodes]
    short[0]["metadata"] = nodes[0]["metadata"]
    return short


def shorten_model(model):
    module = model["graph_module"]
    graph, signature = module["graph"], module["signature"]
    ports = {spec[kind]["arg"]["as_tensor"]["name"] for kind in ("user_input", "user_output")
             for spec in signature["input_specs"] + signature["output_specs"] if kind in spec}
    values = {name: {key: meta[key] for key in ("dtype", "sizes")}
              for name, meta in graph["tensor_values"].items() if name in ports}
    calls = [{"fqn": "", "signature": {"out_spec": call["signature"]["out_spec"]}}
             for call in module["module_call_graph"] if call["fqn"] == ""]
    return {"schema_version": model["schema_version"],
            "graph_module": {"graph": {"nodes": shorten_nodes(graph["nodes"]), "tensor_values": values},
                             "signature": {key: signature[key] for key in ("input_specs", "output_specs")},
                             "module_call_graph": calls}}


def make_seed(path):
    archive = zipfile.ZipFile(path)
    records = {}
    for name in archive.namelist():
        record = name.split("/", 1)[1]
        if path.stat().st_size > MOST_BYTES and "eval" in record:
            continue
        if record.startswith("models/"):
            records[record] = shorten_model(json.loads(archive.read(name)))
        elif record.endswith("_config.json"):
            records[record] = json.loads(archive.read(name))
        elif record.startswith("data/"):
            records[record] = archive.getinfo(name).file_size
    return records


def main():
    paths = pathlib.Path(sys.argv[1]).glob("*.pt2")
    for path in sorted(paths):
        lines = [f"{name} {json.dumps(record, separators=(',', ':'))}\n" for name, record in make_seed(path).items()]
        (pathlib.Path(sys.argv[2]) / f"{path.stem}.records").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
