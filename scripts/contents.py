"""Writes the contents of long pages in docs/: python3 scripts/contents.py [--check]

A page of more than 2,000 words begins with a list of its sections, under the heading "Contents". With --check, nothing is
written: prints each page with missing or wrong contents, each cell of a table with more than two links, and code in a
sentence that is wider than a page, as FILE:LINE: problem, and fails if there is one.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 2000  # words of a page without contents
MOST_LINKS = 2  # in a cell of a table
LONGEST_CODE = 85  # characters in a sentence; the site does not divide it
GENERATED = {"c_api.md", "commands.md"}  # with longer contents, which name every section too
HEADING = "## Contents"


def outside_blocks(text: str) -> list[str]:
    """Returns the lines of the page, with empty ones for fenced blocks."""
    lines, is_inside = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            is_inside = not is_inside
            line = ""
        lines.append("" if is_inside else line)
    return lines


def paragraphs(text: str) -> list[tuple[int, str]]:
    """Returns each paragraph as one line, with the number of its first line. Tables are left out."""
    found: list[tuple[int, str]] = []
    is_inside = False
    for number, line in enumerate(outside_blocks(text), 1):
        is_text = bool(line.strip()) and not line.startswith("|")
        if is_text and is_inside:
            found[-1] = (found[-1][0], found[-1][1] + " " + line.strip())
        elif is_text:
            found.append((number, line.strip()))
        is_inside = is_text
    return found


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def list_sections(text: str) -> list[str]:
    return [line[3:] for line in outside_blocks(text) if line.startswith("## ") and line != HEADING]


def link(heading: str, shown: str) -> str:
    return f"[{shown}](#{anchor(heading)})"


def make_contents(text: str) -> str:
    """Returns the list: an entry for each section, or for each kind of sections such as "model `vit`"."""
    sections = list_sections(text)
    kinds: dict[str, list[str]] = {}
    for section in sections:
        if match := re.fullmatch(r"(\w+) (`[^`]+`)", section):
            kinds.setdefault(match[1], []).append(link(section, match[2]))
    if sum(map(len, kinds.values())) == len(sections):
        return "\n".join(f"- {kind}: {', '.join(links)}" for kind, links in kinds.items())
    return "\n".join("- " + link(section, section) for section in sections)


def with_contents(text: str) -> str:
    lines = text.split("\n")
    visible = outside_blocks(text)
    first = next(i for i, line in enumerate(visible) if line.startswith("## "))
    if visible[first] == HEADING:
        end = next(i for i, line in enumerate(visible) if i > first and line.startswith("## "))
        lines[first:end] = []
    lines[first:first] = [HEADING, "", *make_contents(text).split("\n"), ""]
    return "\n".join(lines)


def check_page(page: Path) -> list[str]:
    name = page.relative_to(ROOT)
    text = page.read_text(encoding="utf-8")
    problems = []
    words = len(text.split())
    if page.name in GENERATED:
        contents = text[text.index(HEADING):].split("\n## ")[0] if HEADING in text else ""
        problems += [
            f"{name}:1: the contents lack the section {section}" for section in list_sections(text)
            if f"(#{anchor(section)})" not in contents]
    elif words > LONGEST and list_sections(text) and with_contents(text) != text:
        problems.append(
            f"{name}:1: has {words} words, and no contents or old ones; expected those of python3 scripts/contents.py")
    for number, line in enumerate(outside_blocks(text), 1):
        if line.startswith("|"):
            most = max(len(re.findall(r"\]\(", cell)) for cell in re.split(r"(?<!\\)\|", line))
            if most > MOST_LINKS:
                problems.append(f"{name}:{number}: a cell has {most} links; expected at most {MOST_LINKS}")
    for number, paragraph in paragraphs(text):
        for code in re.findall(r"(`+)(.+?)\1", paragraph):
            if len(code[1]) > LONGEST_CODE:
                problems.append(
                    f"{name}:{number}: a sentence has code of {len(code[1])} characters; expected at most {LONGEST_CODE}, "
                    "or a block of code")
    return problems


def main() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if sys.argv[1:] != ["--check"]:
        for page in pages:
            text = page.read_text(encoding="utf-8")
            is_long = len(text.split()) > LONGEST and bool(list_sections(text))
            if page.name not in GENERATED and (is_long or HEADING in text):
                page.write_text(with_contents(text), encoding="utf-8")
        return
    problems = [problem for page in pages for problem in check_page(page)]
    if problems:
        sys.exit("\n".join(problems))


main()
