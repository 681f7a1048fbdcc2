"""Writes docs/reference/c_api.md from the headers of the plugin API: python3 scripts/c_api.py [--check]

With --check, prints how the page differs from the headers, and fails if it does.
"""

import difflib
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "plugin_api/include/tenon"
PAGE = ROOT / "docs/reference/c_api.md"

GROUPS = {
    "Plugins and the host": ["plugin", "abi", "host", "parameters", "parameter_roles", "describe", "native_torch", "draft/validation"],
    "Tensors and models": [
        "tensor", "port", "usual_sources", "model", "decoding", "frozen_parameters", "tied_weights", "index_inputs",
        "gradient", "checkpointing", "capture", "device_stream", "dlpack", "trusted_files", "draft/memory_format", "draft/results"],
    "Operators in C": ["ops", "ops/call", "called_operators", "ops/arithmetic", "ops/comparison", "ops/shape", "ops/network", "ops/loss"],
    "Losses and metrics": ["loss", "draft/loss_sums", "metric", "run_metrics"],
    "Datasets": ["dataset", "random", "class_names", "sample_names", "sample_order", "prepare", "preprocessing", "tokenizer", "draft/field_details", "draft/fitted_data", "draft/images", "draft/transforms", "draft/value_encoder"],
    "Callbacks": ["callback", "run_progress", "run_tensors", "run_values", "saved_state"],
    "Programs that predict": ["draft/predictor"],
}
INTRODUCTION = """# C API

This page has the declarations of the C headers in [plugin_api/include/tenon](../../plugin_api/include/tenon), without the
bodies of functions and macros. `python3 scripts/c_api.py` writes it, and a test compares it with the headers.
`#include <tenon/tenon.h>` includes the headers of the contract; [describe.h](#describeh) and [ops.h](#opsh) are included
separately. [Writing plugins](writing_plugins.md) explains how to use them, and also the C++ wrapper.

"""


def clean_comment(comment: str) -> str:
    """Returns the text of a block comment as Markdown: paragraphs, lists and indented code."""
    lines = [re.sub(r"^\s*\*( |$)", "", line) for line in comment.removeprefix("/*").removesuffix("*/").split("\n")]
    blocks: list[tuple[str, list[str]]] = []  # "text", "list" or "code", and its lines
    for line in lines:
        stripped = line.strip()
        before = blocks[-1][0] if blocks else ""
        if not stripped:
            kind = "code" if before == "code" else ""
        elif stripped.startswith("- "):
            kind = "list"
        elif line.startswith("  "):
            kind = "list" if before == "list" else "code"
        else:
            kind = "text"
        if kind != before or not blocks:
            blocks.append((kind, []))
        blocks[-1][1].append(line)
    parts = []
    for kind, content in blocks:
        text = "\n".join(content).strip("\n")
        if kind == "code":
            parts.append("```c\n" + textwrap.dedent(text).rstrip() + "\n```")
        elif kind == "list":
            parts.append(escape(textwrap.dedent(text)))
        elif kind == "text":
            parts.append(escape("\n".join(line.strip() for line in content)))
    return "\n\n".join(parts)


def escape(text: str) -> str:
    """Marks names in C as code, so that neither underscores nor brackets are read as Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(
            r"\[(load|train|worker|autograd|any)\]|\bTENON_[A-Z0-9_]+(?:\.\.\.)?|\btenon_[a-z0-9_.]+[a-z0-9](?:\(\))?", r"`\g<0>`",
            parts[i])
        parts[i] = parts[i].replace("<", "&lt;").replace("*", "\\*")
    return "".join(parts)


def split_comment(text: str) -> tuple[str, str]:
    """Returns the comment that the text starts with, or "", and what is after it."""
    text = text.lstrip("\n")
    if not text.startswith("/*"):
        return "", text
    end = text.index("*/") + 2
    return text[:end], text[end:]


def without_comments(code: str) -> str:
    return re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)


def split_items(body: str) -> list[str]:
    """Splits the header at blank lines outside of braces."""
    items, lines, depth = [], [], 0
    for line in body.split("\n"):
        if not line.strip() and depth == 0:
            items.append("\n".join(lines))
            lines = []
            continue
        lines.append(line)
        if not line.endswith("\\") and not (len(lines) > 1 and lines[-2].endswith("\\")):
            code = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", line)
            depth += code.count("{") - code.count("}")
    items.append("\n".join(lines))
    return [item for item in items if item.strip()]


def shorten(code: str) -> str:
    """Removes bodies of functions and of macros, and what only checks the layout."""
    code = re.sub(r"^TENON_(FREEZE|STATIC_ASSERT)\((?:[^;]|\n)*?\);\n?", "", code, flags=re.MULTILINE)
    code = re.sub(r"^(#define \w+\([^)]*\))[ \t]*\\\n(?:.*\\\n)*.*$", r"\1 ...", code, flags=re.MULTILINE)
    code = re.sub(r"^(#define \w+)[ \t]*\\\n(?:.*\\\n)*.*$", r"\1 ...", code, flags=re.MULTILINE)
    code = re.sub(r"^(TENON_INLINE[^;{]*?)\s*\{.*?^\}", r"\1;", code, flags=re.MULTILINE | re.DOTALL)
    code = re.sub(r"^(TENON_INLINE[^;{]*?)\s*\{[^\n]*\}$", r"\1;", code, flags=re.MULTILINE)
    code = re.sub(r"^#if defined\(__GNUC__\)\n__attribute__.*\n#endif\n|^/\* clang-format \w+ \*/\n?", "", code, flags=re.MULTILINE)
    return code.strip("\n")


def name_of(code: str) -> str | None:
    """Returns the name that the code declares first."""
    plain = without_comments(code)
    for pattern in (r"typedef struct \w+ \{.*?\} (\w+);", r"typedef struct \w+ (\w+);", r"\(\*(\w+)\)\(", r"typedef [\w ]+?(\w+);",
                    r"^(?:TENON_INLINE|TENON_EXPORT)[^(]*?(\w+)\(", r"^#define (\w+)", r"^enum \{\s*(\w+)", r"(\w+)\("):
        if match := re.search(pattern, plain, flags=re.DOTALL | re.MULTILINE):
            return match[1]
    return None


def document(header: Path) -> str:
    """Returns the section of a header."""
    text = header.read_text(encoding="utf-8")
    comment, body = split_comment(text)
    body = re.sub(r"^#ifdef __cplusplus\n(extern \"C\" \{|\})\n#endif\n", "", body, flags=re.MULTILINE)
    body = re.sub(r"^#ifdef __cplusplus\nextern \"C\" \{\n#else\n", "", body, flags=re.MULTILINE)
    body = re.sub(r"^#include [^\n]*\n", "", body, flags=re.MULTILINE)
    body = re.sub(r"^#ifndef (TENON_\w+_H)\n#define \1\n", "", body, flags=re.MULTILINE)
    body = re.sub(r"\n#endif\s*$", "\n", body)
    parts = [f"### {header.relative_to(HEADERS)}", clean_comment(comment)]
    for item in split_items(body):
        if match := re.fullmatch(r"/\* -+ (.*?) -+\s+\*/", item.strip()):
            parts.append(f"**{match[1]}**")
            continue
        comment, code = split_comment(item)
        code = shorten(code)
        words = clean_comment(comment)
        if not without_comments(code).strip():
            if words:
                parts.append(words)
            continue
        if not words and re.match(r"#(if|endif)", code):
            continue  # how a compiler sees the header
        if not words and code.startswith("TENON_INLINE") and parts[-1].endswith(";\n```"):
            parts[-1] = parts[-1].removesuffix("\n```") + f"\n{code}\n```"
            continue
        if name := name_of(code):
            parts.append(f"#### `{name}`")
        if words:
            parts.append(words)
        parts.append(f"```c\n{code}\n```")
    return "\n\n".join(parts)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def make_page() -> str:
    included = re.findall(r'#include "(\w+)\.h"', (HEADERS / "tenon.h").read_text(encoding="utf-8"))
    listed = [name for names in GROUPS.values() for name in names]
    if missing := sorted(({str(file.relative_to(HEADERS).with_suffix("")) for file in HEADERS.rglob("*.h")} | set(included)) - set(listed) - {"tenon"}):
        sys.exit(f"scripts/c_api.py: GROUPS lacks the headers {', '.join(missing)}")
    contents, sections = [], []
    for group, names in GROUPS.items():
        links = ", ".join(f"[{name}.h](#{anchor(name + '.h')})" for name in names)
        contents.append(f"- [{group}](#{anchor(group)}): {links}")
        sections.append(f"## {group}")
        sections += [document(HEADERS / f"{name}.h") for name in names]
    return INTRODUCTION + "## Contents\n\n" + "\n".join(contents) + "\n\n" + "\n\n".join(sections) + "\n"


def main() -> None:
    page = make_page()
    if sys.argv[1:] == ["--check"]:
        before = PAGE.read_text(encoding="utf-8")
        if before != page:
            sys.stdout.writelines(difflib.unified_diff(
                before.splitlines(keepends=True), page.splitlines(keepends=True), str(PAGE.relative_to(ROOT)), "the headers"))
            sys.exit("docs/reference/c_api.md differs from the headers; run: python3 scripts/c_api.py")
    else:
        PAGE.write_text(page, encoding="utf-8")


main()
