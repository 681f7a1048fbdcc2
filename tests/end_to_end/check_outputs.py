"""Compares the outputs in the documentation with what the host prints.

    check_outputs.py REPOSITORY BINARIES FOLDER [--update]

An output is a block of code after a line such as `<!-- printed by: host configs/digits.toml -->`, which no reader sees. The
commands of a page run in its folder below FOLDER, in the order of the page, in a terminal of 80 columns. Lines that are
only "..." stand for any lines. Numbers with a decimal point, times, dates, the mark of the best epoch and line breaks are
not compared, because they depend on the machine. The page's folder is /data in the outputs.

With --update, the pages get the printed lines in place of theirs.

Exit codes: 0 all outputs are as printed, 1 one differs, 2 wrong arguments.
"""
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import threading
import fcntl
import zlib

MARK = re.compile(r"<!-- printed by: (.+) -->")
COLUMNS = 80
END = b"\x04\x04end of the output\x04\x04"
# Numbers that depend on the machine, the most special first.
NUMBERS = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d"  # the time in the name of a run
    r"|\d+:\d\d(:\d\d)?"
    r"|(?<![\w.])-?\d+\.\d+(e[+-]?\d+)?( s\b)?"
    r"|(?<![\w.])\d+e-\d+"
    r"|(?<![\w.])\d{1,3}(,\d{3})+(?!,?\d)"
    r"|(?<![\w.])\d+(?= (?:samples/s|MB/s|ms)\b)"
    r"|(?<![\w.])\d+ workers?\b"
    r"|(?<=step )\d+"
    r"|(?<![\w.])\d+(?= %)")


def words_of(line: str) -> list[str]:
    """Returns the words of a line that do not depend on the machine, with "#" for each number."""
    if re.match(r"\s*\d+/\d+\s", line):  # of the table of epochs
        first, *others = line.split()
        return [first, *("#" for other in others if other not in ("*", "s"))]
    if re.match(r"\d+,[^ ]*$", line):  # a row of predictions: the classes depend on the weights
        fields = line.split(",")
        return [",".join([*fields[:2], *("#" for _ in fields[2:])])]
    line = re.sub(r"((?<!\S)(?:train|validation|test)/\S+) +\S+", r"\1 #", line)
    return [word for word in NUMBERS.sub("#", line).split() if word != "*"]


def shown_lines(raw: bytes) -> list[str]:
    """Returns the lines that a terminal shows. A progress bar is overwritten by the next line."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", raw.decode().replace("\r\n", "\n"))
    return [line.rsplit("\r", 1)[-1].rstrip() for line in text.split("\n")]


def run(command: str, folder: pathlib.Path, binaries: pathlib.Path) -> tuple[list[str], int]:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("TENON_") or name == "TENON_HOST_SERVER"}
    environment |= {"PATH": f"{binaries / 'tests/bin/served'}:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8",
                    "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               stdout=follower, stderr=follower)

    # Closing the terminal could lose what was written last.
    def write_end():
        process.wait()
        os.write(follower, END)

    writer = threading.Thread(target=write_end)
    writer.start()
    raw = b""
    while END not in raw:
        raw += os.read(leader, 1 << 16)
    writer.join()
    os.close(follower)
    os.close(leader)
    return shown_lines(raw.partition(END)[0].replace(bytes(folder), b"/data")), process.returncode


def write_png(file: pathlib.Path, side: int, pixels: bytes) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[row * side:(row + 1) * side] for row in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_numbers(table: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes the digits of the dataset digits as pictures of 32 x 32 pixels: folders of classes, and some in photos."""
    for index, line in enumerate(table.read_text().split()):
        *pixels, label = (int(value) for value in line.split(","))
        large = bytes(min(255, 16 * pixels[row // 4 * 8 + column // 4]) for row in range(32) for column in range(32))
        place = folder / ("photos" if index < 20 else f"numbers/{label}")
        place.mkdir(parents=True, exist_ok=True)
        write_png(place / f"{index:05}.png", 32, large)


RUN_FILE = """[model]
use = "mlp"
params = { hidden = [8], classes = 3 }
[data]
batch_size = 8
[data.train]
%s
[data.validation]
%s
[[loss]]
use = "cross_entropy"
[optimizer]
use = "adamw"
lr = 1e-3
[train]
epochs = 1
"""


def write_npy(file: pathlib.Path, dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    file.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)


def write_faulty_data(folder: pathlib.Path) -> None:
    """Writes data with the faults that docs/guides/check_your_data.md shows, and their run files."""
    sides = {"train/cat/1": 32, "train/cat/2": 40, "train/dog/1": 32, "train/dog/2": 32, "train/fox/1": 32,
             "train/fox/2": 32, "validation/cat/3": 32, "validation/dog/3": 32, "validation/owl/3": 32}
    for number, (name, side) in enumerate(sides.items()):
        file = folder / "animals" / f"{name}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_png(file, side, bytes((number + 1) * i % 256 for i in range(side * side)))
    (folder / "animals/train/cat/3.png").write_text("<html>404 not found</html>")
    whole = (folder / "animals/train/fox/1.png").read_bytes()
    (folder / "animals/train/fox/3.png").write_bytes(whole[:60])
    (folder / "animals/train/cat/Thumbs.db").write_bytes(b"thumbnails")
    images = 'use = "image_folder"\nparams = { path = "animals/%s", split = "all", transforms = ["normalize()"] }'
    (folder / "animals.toml").write_text(RUN_FILE % (images % "train", images % "validation"))

    (folder / "flowers").mkdir()
    write_npy(folder / "flowers/x.npy", "<f4", (12, 4), struct.pack("<48f", *(i % 7 for i in range(48))))
    write_npy(folder / "flowers/y.npy", "<i8", (12,), struct.pack("<12q", *(1 + i % 3 for i in range(12))))
    arrays = 'use = "arrays"\nparams = { path = "flowers" }'
    (folder / "flowers.toml").write_text(RUN_FILE % (arrays, arrays))


class Block:
    """An output in a page: lines[begin:end]."""

    def __init__(self, page: pathlib.Path, command: str, begin: int, end: int):
        self.page, self.command, self.begin, self.end = page, command, begin, end


def find_blocks(page: pathlib.Path) -> list[Block]:
    lines = page.read_text().split("\n")
    blocks = []
    for number, line in enumerate(lines):
        if match := MARK.fullmatch(line):
            if not lines[number + 1].startswith("```"):
                sys.exit(f"{page}:{number + 1}: expected a block of code after this line")
            end = next(i for i in range(number + 2, len(lines)) if lines[i] == "```")
            blocks.append(Block(page, match[1], number + 2, end))
    return blocks


def match_lines(expected: list[str], printed: list[str]) -> tuple[list[str], str]:
    """Returns the printed lines in place of the expected ones, and the first expected lines that are not printed."""
    result, at = [], 0
    segment: list[str] = []
    for line in [*expected, None]:
        if line is not None and line.strip() != "...":
            segment.append(line)
            continue
        if segment:
            wanted = [word for one in segment for word in words_of(one)]
            for begin in range(at, len(printed)):
                words: list[str] = []
                end = begin
                while end < len(printed) and len(words) < len(wanted):
                    words += words_of(printed[end])
                    end += 1
                if words == wanted and printed[begin]:
                    break
            else:
                return result, "\n".join(segment)
            result += printed[begin:end]
            at = end
            segment = []
        if line is not None:
            result.append(line)
    return result, ""


def main() -> int:
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    repository, binaries, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    compared = differences = 0
    for page in [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]:
        blocks = find_blocks(page)
        if not blocks:
            continue
        folder = work / page.relative_to(repository).with_suffix("")
        shutil.copytree(repository / "configs", folder / "configs")
        write_numbers(repository / "plugins/datasets/digits/digits.csv", folder)
        write_faulty_data(folder)
        lines = page.read_text().split("\n")
        replaced: list[tuple[Block, list[str]]] = []
        for block in blocks:
            printed, code = run(block.command, folder, binaries)
            result, missing = match_lines(lines[block.begin:block.end], printed)
            place = f"{page.relative_to(repository)}:{block.begin + 1}"
            compared += 1
            if missing:
                differences += 1
                text = "\n".join(printed)
                print(f"{place}: {block.command}\nnot printed:\n{missing}\nprinted, with exit code {code}:\n{text}\n")
            else:
                replaced.append((block, result))
        if sys.argv[4:]:
            for block, result in reversed(replaced):
                lines[block.begin:block.end] = result
            page.write_text("\n".join(lines))
    print(f"{compared} outputs, {differences} differ")
    return 1 if differences or compared < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
