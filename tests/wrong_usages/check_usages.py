#!/usr/bin/env python3
"""Runs the wrong usages of usages.toml and follows the messages: python3 tests/wrong_usages/check_usages.py HOST [NAME ...]

Each usage must end with its exit code and with a message that has the place, what was found, what was expected and
the fix. The fix is taken from the text of the message, applied to the run file or the command, and must then work.
usages.toml describes its keys. With names, only usages with such a name are checked. Exit status 0: all are right.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
import zlib

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_ARGS = ["run.toml", "--check"]
REMOVED_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "TENON_PLUGIN_PATH")
PLACE = re.compile(r"^(?:error: |  )?(?:\S*/)?run\.toml:(\d+):(\d+): (.*)$")


def write_png(path, side, seed):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((seed * 37 + x * y * 3 + c * 80) % 256 for x in range(side) for c in range(3))
                    for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
                     chunk(b"IEND", b""))


class Host:
    def __init__(self, program):
        self.program = str(pathlib.Path(program).resolve())

    def run(self, folder, args, variables):
        environment = {k: v for k, v in os.environ.items() if k not in REMOVED_VARIABLES}
        environment.update({"HOME": str(folder), "OMP_WAIT_POLICY": "passive", "NO_COLOR": "1", **variables})
        ended = subprocess.run([self.program, *args], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, errors="replace", timeout=240)
        # What a command found is in its output, if the command reports on several files.
        return ended.returncode, ended.stderr if ended.stderr.strip() else ended.stdout


def make_images(folder):
    for number, name in enumerate(("cat", "dog")):
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(10):
            write_png(folder / "photos" / name / f"{i}.png", 16, 2 * i + number)


def make_folder(parent, usage, prepared):
    """Returns the folder of a usage: a run file, images, the files that it names, and the runs of a prepared folder."""
    folder = parent / re.sub(r"\W+", "_", usage["name"])
    folder.mkdir()
    make_images(folder)
    file = usage.get("file", "digits")
    shutil.copy(HERE / f"{file}.toml", folder / "run.toml")
    for name in usage.get("make", []):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        elif name.endswith(".toml"):
            shutil.copy(HERE / "digits.toml", path)
        else:
            path.write_text("text\n")
    if usage.get("needs_run"):
        shutil.copytree(prepared / "runs", folder / "runs", symlinks=True)
    return folder


def apply_edits(text, edits):
    for old, new in edits:
        assert text.count(old) >= 1, f"the run file has no {old!r}"
        text = text.replace(old, new, 1)
    return text


def index_of(line, column):
    return column - 1


def replace_name(line, column, meant):
    """Replaces the quoted text or the key at the column."""
    rest = line[index_of(line, column):]
    found = re.match(r'"[^"]*"|\'[^\']*\'|[A-Za-z0-9_-]+|\[[^\]]*\]', rest)
    assert found, f"nothing to replace at column {column} of {line!r}"
    old = found.group(0)
    if old.startswith("["):  # the wrong word of a list
        new = re.sub(r'"[^"]*"', f'"{meant}"', old, count=1)
    else:
        new = f'"{meant}"' if old[0] in "\"'" else meant
    return line[:index_of(line, column)] + new + rest[len(old):]


def replace_value(line, column, value):
    """Replaces the TOML value at the column."""
    rest = line[index_of(line, column):]
    found = re.match(r'"[^"]*"|\'[^\']*\'|\[[^\]]*\]|[^\s,}\]]+', rest)
    return line[:index_of(line, column)] + value + rest[found.end():]


def correct_lines(text, message, kind):
    """Applies what the messages of the lines say. Returns the text and further arguments of the command."""
    lines, more, corrected = text.split("\n"), [], 0
    for error in reversed(message.splitlines()):
        place = PLACE.match(error)
        if not place:
            continue
        number, column, what = int(place[1]) - 1, int(place[2]), place[3]
        if kind == "line":
            written = re.search(r": write `(.+?)`(?: and `(.+?)` on two lines)?$", what)
            assert written, f"no line to write in {what!r}"
            lines[number] = "\n".join(part for part in written.groups() if part)
        elif kind == "name":
            meant = re.search(r'did you mean "(.+?)"', what)
            assert meant, f"no suggestion in {what!r}"
            key_of_other_table = "." in meant[1] and lines[number].lstrip()[0] != "[" and "=" in lines[number]
            if key_of_other_table and "is not a " in what:
                more += ["--set", meant[1] + "=" + lines[number].split("=", 1)[1].strip()]
                lines[number] = ""
            else:
                lines[number] = replace_name(lines[number], column, meant[1])
        else:
            written = re.search(r"; write (.+?)$", what)
            assert written, f"no value to write in {what!r}"
            lines[number] = (replace_value(lines[number], column, written[1]) if " = " not in written[1] else
                             written[1])
        corrected += 1
    assert corrected, f"no line of the run file in {message!r}"
    return "\n".join(lines), more


def fill(template, found):
    for i in range(1, 10):
        if f"{{{i}}}" in template:
            template = template.replace(f"{{{i}}}", found[i])
    return template


def follow(usage, text, args, message):
    """Returns the run file, the arguments and the variables that the message names."""
    fix = usage["fix"]
    if isinstance(fix, str):
        text, more = correct_lines(text, message, fix)
        return text, args + more, usage.get("env", {})
    found = None
    if "take" in fix:
        found = re.search(fix["take"], message)
        assert found, f"no {fix['take']!r} in the message"
    edits = [[old, fill(new, found)] for old, new in fix.get("edit", [])]
    text = apply_edits(text, edits)
    if "command" in fix:
        args = shlex.split(fill(fix["command"], found))
    elif "replace" in fix:
        wrong, right = fix["replace"], fill(fix["with"], found)
        args = [arg.replace(wrong, right) for arg in args]
    elif "more" in fix:
        args = args + shlex.split(fill(fix["more"], found))
    return text, args, fix.get("env", usage.get("env", {}))


def check(host, parent, prepared, usage):
    """Returns what is wrong, or ""."""
    folder = make_folder(parent, usage, prepared)
    runs = sorted((prepared / "runs").glob("*_run/*"))
    names = {run.parent.name: str(run.relative_to(prepared)) for run in runs}

    def place_runs(word):
        return word.replace("{run}", names["digits_run"]).replace("{photos_run}", names["photos_run"])

    if isinstance(usage["fix"], dict):
        usage["fix"] = {key: place_runs(value) if isinstance(value, str) else value
                        for key, value in usage["fix"].items()}
    args = [place_runs(word) for word in usage.get("args", DEFAULT_ARGS)]
    run_file = folder / "run.toml"
    text = apply_edits(run_file.read_text(), usage.get("edit", []))
    run_file.write_text(text)
    code, message = host.run(folder, args, usage.get("env", {}))
    shown = f"$ host {shlex.join(args)}\n{message.strip()}\n-> {code}"
    if code != usage["exit"]:
        return f"exit code {code}; expected {usage['exit']}\n{shown}"
    for piece in usage["says"]:
        if place_runs(piece) not in message:
            return f"the message has no {piece!r}\n{shown}"
    try:
        text, args, variables = follow(usage, text, args, message)
    except AssertionError as error:
        return f"the fix cannot be followed: {error}\n{shown}"
    run_file.write_text(text)
    code, message = host.run(folder, args, variables)
    if code != 0:
        return f"the fix does not work\n{shown}\nfollowed by\n$ host {shlex.join(args)}\n{message.strip()}\n-> {code}"
    return ""


def main():
    host = Host(sys.argv[1])
    wanted = sys.argv[2:]
    usages = tomllib.loads((HERE / "usages.toml").read_text())["usage"]
    names = [usage["name"] for usage in usages]
    assert len(set(names)) == len(names), "a name is there twice"
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        parent = pathlib.Path(name)
        prepared = parent / "prepared"
        prepared.mkdir()
        make_images(prepared)
        for file in ("digits", "photos"):
            shutil.copy(HERE / f"{file}.toml", prepared)
            code, message = host.run(prepared, [f"{file}.toml", "--quiet"], {})
            assert code == 0, message
        chosen = [usage for usage in usages if not wanted or any(word in usage["name"] for word in wanted)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            checks = [pool.submit(check, host, parent, prepared, usage) for usage in chosen]
            for usage, future in zip(chosen, checks):
                if wrong := future.result():
                    failures += 1
                    print(f"--- {usage['name']}: {wrong}\n", flush=True)
    print(f"{len(chosen)} wrong usages, {failures} answered wrongly")
    sys.exit(1 if failures else 0)


main()
