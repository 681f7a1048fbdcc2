#!/usr/bin/env python3
"""Finds words outside the project's vocabulary: check_vocabulary.py REPOSITORY [--self-test]

Reads vocabulary.txt (the words) and vocabulary_allowed.txt (exceptions with their reasons) next to this script. Checks
identifiers, file names, comments, messages and documentation, prints each finding as FILE:LINE, and prints each
exception that no longer applies. --self-test plants every word of the table and requires that it is found.

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
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
        self.phrases = []  # (words of an identifier, the row's words, what to use instead)
        patterns = []
        self.instead = {}
        for kind, words, instead in read_table(os.path.join(HERE, "vocabulary.txt"), 3):
            if kind == "name":
                self.phrases += [(phrase.split(), instead) for phrase in words.split(", ")]
            elif kind == "text":
                patterns.append((words, instead))
            else:
                sys.exit(f"vocabulary.txt: found the kind {kind!r}; expected name or text")
        self.patterns = patterns
        self.text = re.compile("|".join(rf"(?P<p{i}>(?<!\w)(?:{p})(?!\w))" for i, (p, _) in enumerate(patterns)), re.I)
        self.known = {}

    def in_name(self, name):
        """The first phrase that a name contains, with what to use instead; or None."""
        if name not in self.known:
            words = [word.lower() for word in WORD.findall(name)]
            self.known[name] = next(
                (
                    (" ".join(phrase), instead)
                    for phrase, instead in self.phrases
                    if any(words[i : i + len(phrase)] == phrase for i in range(len(words)))
                ),
                None,
            )
        return self.known[name]


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
        pattern = int(match.lastgroup[1:]) if match.lastgroup and match.lastgroup[0] == "p" else None
        instead = vocabulary.patterns[pattern][1] if pattern is not None else ""
        yield match.start(), re.sub(r"\s+", " ", match.group(0)), instead
    for match in IDENTIFIER.finditer(text):
        hit = vocabulary.in_name(match.group(0)) if "_" in match.group(0) else None
        if hit:
            yield match.start(), match.group(0), hit[1]


def check_code(vocabulary, text):
    code = list(text)
    for match in TOKEN.finditer(text):
        for i in range(match.start(), match.end()):
            if code[i] != "\n":
                code[i] = " "
        if not match.group("char"):
            for offset, found, instead in check_text(vocabulary, match.group(0)):
                yield match.start() + offset, found, instead
    for match in IDENTIFIER.finditer("".join(code)):
        hit = vocabulary.in_name(match.group(0))
        if hit:
            yield match.start(), match.group(0), hit[1]


def check_hash_comments(vocabulary, text):
    prose = re.compile(r"\"\"\".*?\"\"\"|(?:^|\s)#[^\n]*(?:\n[ \t]*#[^\n]*)*|\"[^\"\n]*\"|'[^'\n]*'", re.S)
    for match in prose.finditer(text):
        for offset, found, instead in check_text(vocabulary, match.group(0)):
            yield match.start() + offset, found, instead
    for match in IDENTIFIER.finditer(prose.sub(lambda prose_match: re.sub(r"[^\n]", " ", prose_match.group(0)), text)):
        hit = vocabulary.in_name(match.group(0))
        if hit:
            yield match.start(), match.group(0), hit[1]


def check_file(vocabulary, path):
    """Yields (line, what was found, what to use instead); line 0 is the file's name."""
    hit = vocabulary.in_name(os.path.basename(path))
    if hit:
        yield 0, os.path.basename(path), hit[1]
    checker = (
        check_code
        if C_LIKE.search(path)
        else check_hash_comments
        if HASH_COMMENTS.search(path)
        else check_text
        if PAGES.search(path)
        else None
    )
    if checker is None or not os.path.isfile(path):
        return
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except UnicodeDecodeError:
        return
    for offset, found, instead in checker(vocabulary, text):
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
                print(f"{path}:{line}: found {found!r}; use {instead}" if line else f"{path}: the name; use {instead}")
    for row, is_used in zip(allowed, used):
        if not is_used:
            findings += 1
            print(f"vocabulary_allowed.txt: {row[0]} | {row[1]} is no longer needed: remove the line")
    return findings


def self_test(vocabulary):
    """Plants each phrase and each pattern in a file of its kind, and requires a finding in that file alone."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        samples = [("int " + "_".join(phrase) + "_of = 1;\n", " ".join(phrase)) for phrase, _ in vocabulary.phrases]
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
