#!/usr/bin/env python3
"""Checks the outline of README.md and the order of the pages: check_outline.py REPOSITORY [--self-test]

README.md begins with what Tenon is, a printed run and the picture of a report. It says how to install Tenon, run it and write a
plugin, how it compares with PyTorch, when not to use it, and which guide is for which task, first that for the reader's own
images. Its commands call the program `host`. On the site the guides are apart from the reference, and the first is that for
images; every trainer that README.md names has a page for its users. Prints each finding. --self-test requires that each of these
is found if it is missing.

Exit codes: 0 nothing found, 1 something found, 2 wrong command line.
"""
import re
import sys
from pathlib import Path

SECTIONS = ["Install", "First run", "First plugin", "Compared with PyTorch", "When not to use it", "Guides by task"]
FIRST_GUIDE = "docs/guides/your_images.md"
TRAINERS = ["ultralytics", "timm", "hf_trainer", "lightning", "composer"]


def read_sections(text):
    """Returns the text above the first heading of level 2, and that of each section by its heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return parts[0], dict(zip(parts[1::2], parts[2::2]))


def check_readme(text):
    above, sections = read_sections(text)
    missing = [name for name in SECTIONS if name not in sections]
    if missing:
        yield f"README.md: has no sections {missing}"
        return
    if "<!-- printed by: host " not in above:
        yield "README.md: has no printed run above its first section"
    if not re.search(r"!\[[^\]]+\]\(docs/pictures/report_light\.png\)", above):
        yield "README.md: has no picture of a report above its first section"
    rows = [line for line in sections["Guides by task"].splitlines() if line.startswith("|")][2:]
    if not rows or f"({FIRST_GUIDE})" not in rows[0]:
        yield f"README.md: the first row of \"Guides by task\" does not link to {FIRST_GUIDE}"
    for command in re.findall(r"^(?:.*[(`])?tenon -?-?[a-z].*$", "\n".join(text.split("```")[1::2]), flags=re.M):
        yield f"README.md: the command \"{command}\" is not one of host"


def read_navigation(text):
    """Returns the pages of each part of the navigation in mkdocs.yml."""
    parts, part = {}, ""
    for line in text.split("\nnav:\n")[-1].splitlines():
        if match := re.fullmatch(r"  - (\w[^:]*):( \S+)?", line):
            part = match[1]
        if match := re.search(r"(\S+\.md)$", line):
            parts.setdefault(part, []).append(match[1])
    return parts


def check_navigation(text):
    parts = read_navigation(text)
    guides, reference = parts.get("Guides", []), parts.get("Reference", [])
    if not guides or guides[0] != FIRST_GUIDE:
        yield f"docs/mkdocs.yml: the first guide is {guides[:1]}; expected {FIRST_GUIDE}"
    for page in guides:
        if page.startswith("docs/reference/"):
            yield f"docs/mkdocs.yml: {page} is a guide; expected it in the reference"
    for page in reference:
        if not page.startswith("docs/reference/"):
            yield f"docs/mkdocs.yml: {page} is in the reference; expected only pages of docs/reference"
    for trainer in TRAINERS:
        if f"docs/coming_from/{trainer}.md" not in guides:
            yield f"docs/mkdocs.yml: no guide is docs/coming_from/{trainer}.md"


def check(readme, navigation):
    return [*check_readme(readme), *check_navigation(navigation)]


def self_test(readme, navigation):
    """Changes each part of the right files, and counts the changes that are not found."""
    wrong_readmes = [
        *(readme.replace(f"## {section}\n", "## Other\n") for section in SECTIONS),
        readme.replace("<!-- printed by: host ", "<!-- "),
        readme.replace("docs/pictures/report_light.png", "docs/pictures/runs.png"),
        readme.replace(f"({FIRST_GUIDE})", "(docs/guides/first_run.md)"),
        readme.replace("\nhost --config", "\ntenon --config"),
        readme.replace("$(host --prefix)", "$(tenon --prefix)"),
    ]
    wrong_navigations = [
        navigation.replace(f"      - {FIRST_GUIDE}\n", ""),
        navigation.replace("      - docs/guides/first_run.md\n", "      - docs/reference/run_file.md\n"),
        navigation.replace("      - docs/reference/run_file.md\n", "      - docs/guides/first_run.md\n"),
        *(navigation.replace(f"          - docs/coming_from/{trainer}.md\n", "") for trainer in TRAINERS),
    ]
    cases = [(wrong, navigation) for wrong in wrong_readmes] + [(readme, wrong) for wrong in wrong_navigations]
    failures = [number for number, case in enumerate(cases) if not check(*case)]
    for number in failures:
        print(f"self-test: change {number} is not found")
    return len(failures)


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--self-test"):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    texts = [(Path(sys.argv[1]) / name).read_text(encoding="utf-8") for name in ("README.md", "docs/mkdocs.yml")]
    if len(sys.argv) == 3:
        return 1 if self_test(*texts) else 0
    findings = check(*texts)
    for one in findings:
        print(one)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
