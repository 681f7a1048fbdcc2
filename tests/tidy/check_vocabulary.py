#!/usr/bin/env python3
"""Finds words outside the project's vocabulary: check_vocabulary.py REPOSITORY [--self-test]

Reads vocabulary.txt (the words) and vocabulary_allowed.txt (exceptions with their reasons) next to this script. Checks
comments, messages and documentation, prints each finding as FILE:LINE, and prints each exception that no longer applies.
--self-test plants every word of the table and requires that it is found.

Exit codes: 0 nothing found, 1 something found, 2 wrong command line or table.
"""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
C_LIKE = re.compile(r"\.(c|cc|cpp|cu|cuh|h|hpp|inc|rs)(\.in)?$")
HASH_COMMENTS = re.compile(r"(\.(py|sh|cmake|toml|yml|yaml)|CMakeLists\.txt|/scripts/[a-z_-]+|^scripts/[a-z_-]+|\.ci/run)(\.in)?$")
PAGES = re.compile(r"\.(md|txt|html|css|1)(\.in)?$")
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<mark>\w*)\(.*?\)(?P=mark)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9A-Fa-f'])'(?:\\.|[^'\\\n])+')",
    re.S,
)
HASH_PROSE = re.compile(r"\"\"\".*?\"\"\"|(?:^|\s)#[^\n]*(?:\n[ \t]*#[^\n]*)*|\"[^\"\n]*\"|'[^'\n]*'", re.S)


def read_table(path, columns):
    rows = []
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [cell.strip() for cell in line.rstrip("\n").split(" | ")]
            if len(cells) != columns or not all(cells):
                sys.exit(f"{path}:{number}: found {len(cells)} cells; expected {columns}, none of them empty")
            rows.append(cells)
    return rows


class Vocabulary:
    def __init__(self):
        self.patterns = read_table(os.path.join(HERE, "vocabulary.txt"), 2)  # what to find, what to use instead
        self.text = re.compile(
            "|".join(rf"(?P<p{i}>(?<!\w)(?:{p})(?!\w))" for i, (p, _) in enumerate(self.patterns)), re.I)


def list_files():
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True
        ).stdout
        return sorted(os.fsdecode(name) for name in listed.split(b"\0") if name)
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk("."):
            folders[:] = [name for name in folders if name not in ("build", "runs", ".git")]
            found += [os.path.normpath(os.path.join(folder, name)) for name in names]
        return sorted(found)


def check_text(vocabulary, text):
    """Yields (offset, what was found, what to use instead)."""
    # A line break within a comment does not separate words.
    joined = re.sub(r"\n([ \t]*(?:///?|\*|#)?[ \t]*)", lambda match: " " + " " * len(match.group(1)), text)
    joined = re.sub(r'"(\s+)"', lambda match: " " * len(match.group(0)), joined)
    for match in vocabulary.text.finditer(re.sub(r"\s", " ", joined)):
        pattern = next(i for i in range(len(vocabulary.patterns)) if match.group(f"p{i}"))
        yield match.start(), re.sub(r"\s+", " ", match.group(0)), vocabulary.patterns[pattern][1]


def check_parts(vocabulary, text, parts):
    """As check_text(), for the matches of `parts`."""
    for match in parts.finditer(text):
        if not match.groupdict().get("char"):
            for offset, found, instead in check_text(vocabulary, match.group(0)):
                yield match.start() + offset, found, instead


def check_file(vocabulary, path):
    """Yields (line, what was found, what to use instead)."""
    parts = TOKEN if C_LIKE.search(path) else HASH_PROSE if HASH_COMMENTS.search(path) else None
    if (parts is None and not PAGES.search(path)) or not os.path.isfile(path):
        return
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except UnicodeDecodeError:
        return
    for offset, found, instead in check_parts(vocabulary, text, parts) if parts else check_text(vocabulary, text):
        yield text.count("\n", 0, offset) + 1, found, instead


def check(vocabulary, allowed):
    used = [False] * len(allowed)
    findings = 0
    for path in list_files():
        for line, found, instead in check_file(vocabulary, path):
            for i, (pattern, word, _) in enumerate(allowed):
                if fnmatch.fnmatch(path, pattern) and word in ("*", found, found.lower()):
                    used[i] = True
                    break
            else:
                findings += 1
                print(f"{path}:{line}: found {found!r}; use {instead}")
    for row, is_used in zip(allowed, used):
        if not is_used:
            findings += 1
            print(f"vocabulary_allowed.txt: {row[0]} | {row[1]} is no longer needed: remove the line")
    return findings


def self_test(vocabulary):
    """Plants each pattern in a comment and requires a finding."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        samples = []
        for pattern, _ in vocabulary.patterns:
            sample = re.sub(r"\\d", "2", pattern)
            while "(" in sample:
                sample = re.sub(r"\(([^()|]*)[^()]*\)\??", r"\1", sample)
            sample = re.sub(r"\[(.)[^\]]*\]", r"\1", re.sub(r"\[[^\]]*\]\?|(\w)\?", "", sample))
            samples.append((f"// it {sample} here\nint x;\n", sample))
        for content, sample in samples:
            with open("sample.cpp", "w", encoding="utf-8") as stream:
                stream.write(content)
            if not any(True for _ in check_file(vocabulary, "sample.cpp")):
                missed += 1
                print(f"not found: {sample!r} in {content!r}")
        with open("sample.cpp", "w", encoding="utf-8") as stream:
            stream.write("// The run resumes from the newest checkpoint.\nint owner, overflow;\n")
        missed += sum(1 for _ in check_file(vocabulary, "sample.cpp"))
    print(f"{len(samples)} samples, {missed} wrong")
    return missed


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--self-test"]
    if len(arguments) != 1:
        print(__doc__.split("\n")[0], file=sys.stderr)
        return 2
    vocabulary = Vocabulary()
    if "--self-test" in sys.argv:
        return 1 if self_test(vocabulary) else 0
    os.chdir(arguments[0])
    findings = check(vocabulary, read_table(os.path.join(HERE, "vocabulary_allowed.txt"), 3))
    if findings:
        print(f"{findings} findings; the words are in tests/tidy/vocabulary.txt")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
