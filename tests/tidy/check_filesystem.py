#!/usr/bin/env python3
"""Finds functions of std::filesystem that throw: check_filesystem.py REPOSITORY [--self-test]

Their errors name no kind and not what the path is for, so a wrong path would end as an internal error. The code uses
framework/support/files/files.h, or passes a std::error_code. Prints each finding as FILE:LINE. --self-test requires that each
way to write such a call is found.

Exit codes: 0 nothing found, 1 something found, 2 wrong command line.
"""
import os
import re
import sys

FOLDERS = ["framework", "host", "plugins"]
FUNCTIONS = (
    "absolute|canonical|weakly_canonical|relative|proximate|copy|copy_file|copy_symlink|create_directory"
    "|create_directories|create_directory_symlink|create_hard_link|create_symlink|current_path|equivalent|exists"
    "|file_size|hard_link_count|is_block_file|is_character_file|is_directory|is_empty|is_fifo|is_other|is_regular_file"
    "|is_socket|is_symlink|last_write_time|permissions|read_symlink|remove|remove_all|rename|resize_file|space|status"
    "|symlink_status|temp_directory_path"
)
ITERATOR = r"(?:recursive_)?directory_iterator"
CALL = re.compile(rf"\b(?:fs|filesystem)::({FUNCTIONS}|{ITERATOR})\b(?:\s+\w+)?\s*[({{]")
MEMBER = re.compile(
    r"(?:\.|->)(?:is_(?:block_file|character_file|directory|fifo|other|regular_file|socket|symlink)|file_size"
    r"|hard_link_count|symlink_status|last_write_time|recursive_directory_iterator)\(\s*\)"
    r"|\bentry(?:\.|->)(?:status|exists|refresh)\(\s*\)"
)
RANGE_FOR = re.compile(rf"\bfor\s*\([^;(){{}}]*(?<!:):(?!:)[^;{{}}]*\b{ITERATOR}\b")
ERROR_CODE = re.compile(r"\bstd::error_code\b\s*&?\s*([^;()]*)")
ITERATOR_NAME = re.compile(rf"\b{ITERATOR}\s+(\w+)\s*[({{]|\bauto\s+(\w+)\s*=\s*(?:\w+::)*{ITERATOR}\b")
STATUS_NAME = re.compile(r"\bfile_status\s*&?\s+(\w+)|\bauto\s+(\w+)\s*=\s*(?:\w+::)*(?:symlink_)?status\(")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def arguments_of(text, opening):
    """Returns the arguments of the call with the bracket at `opening`."""
    depth, start, found = 0, opening + 1, []
    for i in range(opening, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and text[i] == ","):
            found.append(text[start:i].strip())
            start = i + 1
        if depth == 0:
            break
    return found


def find_calls(text):
    """Yields (offset, text of the call)."""
    text = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    codes = {
        name.strip().split("=")[0].strip("{} ") for match in ERROR_CODE.finditer(text) for name in match.group(1).split(",")
    }
    statuses = {name for match in STATUS_NAME.finditer(text) for name in match.groups() if name}
    for match in CALL.finditer(text):
        arguments = arguments_of(text, match.end() - 1)
        reads_status = match.group(1).startswith(("is_", "exists")) and (
            arguments[-1] in statuses or re.match(r"(?:\w+::)*(?:symlink_)?status\(", arguments[-1])
        )
        if arguments[-1] not in codes and not reads_status:
            yield match.start(), match.group(0) + ")"
    for match in RANGE_FOR.finditer(text):
        yield match.start(), "the increment of a range-for"
    for match in MEMBER.finditer(text):
        yield match.start(), match.group(0)
    for match in ITERATOR_NAME.finditer(text):
        name = match.group(1) or match.group(2)
        for increment in re.finditer(rf"\+\+{name}\b|\b{name}\+\+", text):
            yield increment.start(), increment.group(0)
    for match in re.finditer(r"\busing (?:namespace )?std::filesystem(?:::\w+)?\s*;", text):
        if not match.group(0).endswith("::path;"):
            yield match.start(), match.group(0)


def self_test():
    wrong = [
        "if (fs::exists(path)) {}",
        "std::filesystem::rename(from, to);",
        "const auto size = std::filesystem::file_size(\n    folder / name);",
        "for (const auto& entry : fs::directory_iterator(folder)) {}",
        "std::error_code e; for (const auto& entry : fs::directory_iterator(folder, e)) {}",
        "std::error_code e; for (fs::directory_iterator it(folder, e), end; it != end; ++it) {}",
        "const fs::directory_iterator threads(folder);",
        "auto entry = fs::recursive_directory_iterator(folder);",
        "if (entry.is_regular_file()) {}",
        "entry->status();",
        "using std::filesystem::exists;",
        "fs::path here = fs::current_path();",
    ]
    right = [
        "std::error_code e; if (fs::exists(path, e)) {}",
        "void read(std::error_code& e) { fs::rename(from, to, e); }",
        "std::error_code a, b; fs::file_size(folder / f(1, 2), b);",
        "std::error_code e; fs::exists(fs::status(file, e));",
        "std::error_code e; const fs::file_status status = fs::status(file, e); fs::exists(status);",
        "std::error_code e; for (fs::directory_iterator it(folder, e), end; !e && it != end; it.increment(e)) {}",
        "// fs::exists(path) throws",
        "std::error_code e; entry.is_regular_file(e);",
        "support::path_exists(path);",
    ]
    failures = [text for text in wrong if not list(find_calls(text))] + [text for text in right if list(find_calls(text))]
    for text in failures:
        print(f"self-test: wrong result for {text!r}")
    return len(failures)


def check():
    findings = 0
    for folder in FOLDERS:
        for place, _, names in os.walk(folder):
            for name in sorted(names):
                path = os.path.join(place, name)
                if not name.endswith((".h", ".cpp")):
                    continue
                with open(path, encoding="utf-8") as stream:
                    text = stream.read()
                for offset, call in find_calls(text):
                    findings += 1
                    line = text.count("\n", 0, offset) + 1
                    print(f"{path}:{line}: {call} throws; use framework/support/files/files.h, or pass a std::error_code")
    return findings


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--self-test"):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    os.chdir(sys.argv[1])
    return 1 if (self_test() if len(sys.argv) == 3 else check()) else 0


if __name__ == "__main__":
    sys.exit(main())
