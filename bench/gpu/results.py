"""The file with the results, and its Markdown table."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any

Result = dict[str, Any]
HIDDEN = ("problem", "event")


def read(file: pathlib.Path) -> Result:
    """Returns the content of a results file, or an empty one."""
    if not file.exists():
        return {"checks": {}}
    content = json.loads(file.read_text())
    content.setdefault("checks", {})
    return content


def write(file: pathlib.Path, content: Result) -> None:
    """Writes under a temporary name and renames, so that the file is always complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(descriptor, "w") as stream:
        json.dump(content, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, file)


def cell(value: Any) -> str:
    """Writes a value as the cell of a table."""
    if value is None or value == "":
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return " ".join(str(value).split()).replace("|", "\\|")


def table(rows: list[Result]) -> str:
    """Writes rows as a Markdown table. Its columns are the keys in order of first appearance."""
    columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in HIDDEN]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def describe_device(content: Result) -> str:
    """Names the device, the driver, CUDA, LibTorch and the commands."""
    device = content.get("device", {})
    torch = content.get("torch", {})
    parts = [f"device {device.get('name', 'unknown')}"]
    parts += [f"{title} {device[key]}" for key, title in (("compute_capability", "compute capability"),
                                                         ("driver_version", "driver"), ("driver", "driver for CUDA"),
                                                         ("cuda", "CUDA"), ("cudnn", "cuDNN"), ("nccl", "NCCL"))
              if device.get(key)]
    if content.get("libtorch"):
        parts.append(f"LibTorch {content['libtorch']}")
    parts.append(f"PyTorch {torch['version']}" if torch.get("version") else "no PyTorch")
    if content.get("tenon"):
        parts.append(f"Tenon {content['tenon']}")
    commands = "\n".join(f"    {command}" for command in content.get("commands", []))
    return ", ".join(parts) + f". {content.get('date', '')}:\n\n{commands}\n"


def markdown(content: Result) -> str:
    """Writes all results as Markdown: one row per check, then the rows of each check."""
    overview = [{"check": name, "result": check["status"], "seconds": round(check.get("seconds", 0.0), 1),
                 "": check.get("summary") or check.get("message", "")} for name, check in content["checks"].items()]
    text = describe_device(content) + "\n" + (table(overview) if overview else "no check has run\n")
    for name, check in content["checks"].items():
        if check.get("rows"):
            text += f"\n**{name}**: {check.get('title', '')}\n\n" + table(check["rows"])
        for note in check.get("notes", []):
            text += f"\n{note}\n"
    return text
