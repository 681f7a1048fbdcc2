#!/usr/bin/env python3
"""Checks the numbers of README.md against docs/benchmarks: check_numbers.py REPOSITORY [--self-test]

The table below "Compared with PyTorch" has the columns Tenon and PyTorch. Each row ends with a link. Its text names the row of a
benchmark, such as [digits, accuracy](docs/benchmarks/runs.md). The linked section must have each number of the row in a cell that
belongs to the program, its variant ("36.7 ms `torch.compile`"), and all names in the text of the link. These may be names of the
cell's row or of its column.

Rows of steps.md come from one section, so from one processor, and the text above the table names it. They name the network and
the batch as the section "Networks" of that page does, and have the fastest variant of PyTorch. Prints each finding. --self-test
requires that wrong numbers, names and links are found.

Exit codes: 0 nothing found, 1 something found, 2 wrong command line.
"""
import re
import sys
from pathlib import Path

SECTION = "Compared with PyTorch"
STEPS = "docs/benchmarks/steps.md"
NETWORKS = "networks"
COLUMNS = ["", "Tenon", "PyTorch", ""]
PROGRAM_OF_TENON = r"\b(tenon|host)\b"
# Columns with these names describe the row, as does the first column.
ROW_NAMES = {"threads": "threads: {}", "metric": "{}"}
TOLERANCE = 1.02  # smaller differences between two variants of PyTorch are noise
NUMBER = r"\d[\d,.]*"
UNIT = r"(?:ms|s|images/s|samples/s)\b"
LINK = re.compile(r"\[([^\]]+)\]\((docs/benchmarks/[\w.]+\.md)(?:#([\w-]+))?\)")


def anchor_of(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def read_section(text, anchor):
    """Returns the text from a heading to the next one of any level, or None if there is no such heading."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.M)
    sections = dict(zip(map(anchor_of, parts[1::2]), parts[2::2]))
    return sections.get(anchor) if anchor else text


def read_tables(text):
    """Returns each table as a list of rows of cells, the first with the names of the columns."""
    tables, is_inside = [], False
    for line in text.splitlines():
        is_row = line.startswith("|")
        if is_row and not is_inside:
            tables.append([])
        if is_row and not re.fullmatch(r"[|: -]+", line):
            tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        is_inside = is_row
    return tables


def read_first_number(cell):
    """Returns the number at the beginning of a cell, as text, and its unit."""
    match = re.match(rf"({NUMBER})(?: ({UNIT}))?", cell)
    return (match[1], match[2] or "") if match else ("", "")


def list_values(tables):
    """Returns (names of the row and the column, the number as text, its unit) for each cell with a number."""
    values = []
    for columns, *rows in tables:
        first = ""
        for row in rows:
            first = row[0] or first  # an empty cell repeats the one above
            names = [first, *(ROW_NAMES[name].format(cell) for name, cell in zip(columns[1:], row[1:]) if name in ROW_NAMES)]
            for name, cell in zip(columns[1:], row[1:]):
                number, unit = read_first_number(cell)
                if number and name not in ROW_NAMES:
                    values.append((" | ".join([*names, name]).replace("`", "").lower(), number, unit))
    return values


def has_name(names, name):
    return re.search(rf"(?<!\w){re.escape(name.replace('`', '').lower())}(?!\w)", names)


def parse_cell(cell):
    """Returns (number, unit, variant) for each part of "324 images/s `decode_jpeg`, 185 images/s Pillow"."""
    parts = [re.fullmatch(rf"({NUMBER})(?: ({UNIT}))?(?: (.+))?", part) for part in re.split(r", (?=\d)", cell)]
    return [(part[1], part[2] or "", part[3] or "") for part in parts] if all(parts) else []


def check_cell(cell, is_tenon, subjects, values):
    """Yields what is wrong with the numbers in a cell of README.md. values: those of the linked section."""
    parts = parse_cell(cell)
    if not parts:
        yield f"\"{cell}\" is no list of numbers with units and variants"
    for number, unit, variant in parts:
        of_program = [value for value in values if bool(re.search(PROGRAM_OF_TENON, value[0])) == is_tenon]
        if not is_tenon and not variant:
            variant = "PyTorch"
        named = [value for value in of_program if all(has_name(value[0], name) for name in [*subjects, variant] if name)]
        program = f"Tenon {variant}".strip() if is_tenon else variant
        if not named:
            yield f"the benchmark has no number of {program} for {', '.join(subjects)}"
        elif not any(value[1] == number and value[2] in ("", unit) for value in named):
            found = ", ".join(f"{value[1]} {value[2]}".strip() for value in named)
            yield f"{number} {unit} of {program} is not in the benchmark, which has {found}"


def check_step(name, cells, subjects, anchor, pages, above):
    """Yields what is wrong with a row of steps.md, apart from its numbers."""
    networks = {row[0]: row[1] for table in read_tables(read_section(pages[STEPS], NETWORKS) or "") for row in table}
    network = networks.get(subjects[0], "")
    if not network or name != f"step: {network}":
        yield f"is not \"step: {network}\", as in the section Networks of {STEPS}"
    if anchor.replace("-", " ") not in re.sub(r"[^\w ]", " ", above.lower()):
        yield f"the text above the table does not name the processor, \"{anchor.replace('-', ' ')}\""
    values = [float(value[1]) for value in list_values(read_tables(read_section(pages[STEPS], anchor) or ""))
              if "(ratio)" in value[0] and all(has_name(value[0], one) for one in subjects)]
    shown = parse_cell(cells[1])
    if values and shown and float(shown[0][0].replace(",", "")) > TOLERANCE * min(values):
        yield f"{shown[0][0]} of PyTorch is not its fastest step, which takes {min(values)}"


def check(pages):
    """pages: the texts of README.md and of docs/benchmarks, by their paths."""
    section = re.search(rf"^## {SECTION}$(.*?)(?=^## |\Z)", pages["README.md"], flags=re.M | re.S)
    tables = read_tables(section[1]) if section else []
    if len(tables) != 1 or tables[0][0] != COLUMNS or len(tables[0]) < 3:
        return [f"README.md: \"{SECTION}\" does not have one table with the columns {COLUMNS}"]
    above = " ".join(section[1].split("\n|")[0].split())
    findings, processors = [], set()
    for name, *cells, last in tables[0][1:]:
        link = LINK.fullmatch(last)
        text = link and link[2] in pages and read_section(pages[link[2]], link[3])
        if not text:
            findings.append(f"README.md: \"{name}\" ends with {last}; expected a link to a section of docs/benchmarks")
            continue
        subjects = link[1].split(", ")
        values = list_values(read_tables(text))
        problems = [*check_cell(cells[0], True, subjects, values), *check_cell(cells[1], False, subjects, values)]
        if link[2] == STEPS:
            processors.add(link[3])
            problems += check_step(name, cells, subjects, link[3] or "", pages, above)
        findings += [f"README.md: \"{name}\": {problem}" for problem in problems]
    if len(processors) > 1:
        findings.append(f"README.md: the rows of steps are from several processors: {', '.join(sorted(map(str, processors)))}")
    return findings


def change_number(number):
    return number[:-1] + str((int(number[-1]) + 1) % 10)


def list_wrong_rows(row):
    """Returns (what is wrong, the row with this fault) for a row of README.md that is right."""
    name, tenon, pytorch, link = [cell.strip() for cell in row.strip("|").split("|")]
    make = lambda *cells: "| " + " | ".join(cells) + " |"  # noqa: E731
    for cell, is_tenon in ((tenon, True), (pytorch, False)):
        for number, _, _ in parse_cell(cell):
            other = re.sub(rf"(?<!\S){re.escape(number)}(?!\S)", change_number(number), cell)
            yield f"the number {number}", make(name, other, pytorch, link) if is_tenon else make(name, tenon, other, link)
    yield "the order of the programs", make(name, pytorch, tenon, link)
    yield "the variant", make(name, tenon, pytorch + " quickly", link)
    yield "the subject", make(name, tenon, pytorch, "[nothing, " + link[1:])
    yield "the page", make(name, tenon, pytorch, link.replace("docs/benchmarks/", "docs/benchmarks/no_"))
    yield "the section", make(name, tenon, pytorch, re.sub(r"(#[\w-]+)?\)", "#no-such-section)", link))
    if STEPS in link:
        yield "the network", make(name.replace("step: ", "step: small "), tenon, pytorch, link)


def self_test(pages):
    """Puts faults into each row of the right table, and counts those that are not found."""
    readme = pages["README.md"]
    failures = [f"the right pages: {finding}" for finding in check(pages)]
    rows = [line for line in readme.split(f"## {SECTION}\n")[-1].split("\n## ")[0].splitlines() if line.startswith("|")][2:]
    cases = [(f"{what} of {row}", row, wrong) for row in rows for what, wrong in list_wrong_rows(row)]
    steps = [row for row in rows if STEPS in row]
    processor = re.search(r"steps\.md#([\w-]+)", steps[0])[1]
    cases += [("two processors", steps[0], steps[0].replace(processor, NETWORKS)),
              ("the columns", "| | Tenon | PyTorch | |", "| | one | other | |")]
    for what, right, wrong in cases:
        if not check({**pages, "README.md": readme.replace(right, wrong)}):
            failures.append(what)
    # The slowest variant of PyTorch instead of the fastest, and a text without the processor.
    slow = {**pages, STEPS: re.sub(r"\| [\d.]+ \([\d.]+\) \| [\d.]+ \| [\d.]+ \|$", "| 0.001 (9) | 0 | 0 |", pages[STEPS], flags=re.M)}
    if len([one for one in check(slow) if "not its fastest step" in one]) != len(steps):
        failures.append("a faster variant of PyTorch")
    words = r"[\W_]+".join(processor.split("-"))
    if not check({**pages, "README.md": re.sub(words + r"(?=[^\n)]*\s)(?!\))", "a processor", readme, flags=re.I)}):
        failures.append("a text without the processor")
    for failure in failures:
        print(f"self-test: {failure}")
    return len(failures)


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--self-test"):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    root = Path(sys.argv[1])
    paths = [root / "README.md", *sorted((root / "docs/benchmarks").glob("*.md"))]
    pages = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}
    if len(sys.argv) == 3:
        return 1 if self_test(pages) else 0
    findings = check(pages)
    for one in findings:
        print(one)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
