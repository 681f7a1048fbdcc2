#!/usr/bin/env python3
"""Checks the built documentation site: check_site.py SITE [--self-test]

The pages must have a search with the words of the guides, a dark colour scheme that follows the system, a width that
follows the window of a phone, and syntax colours, and they must load nothing over the network. Prints each finding.
--self-test requires that each of these is found if it is missing.

Exit codes: 0 nothing found, 1 something found, 2 wrong command line.
"""
import json
import re
import sys
from pathlib import Path

PAGES = ["index.html", "docs/guides/your_plugin.html", "docs/reference/run_file.html"]
EVERYWHERE = {
    r'<meta name="viewport" content="width=device-width,': "no width of the device, so a phone shows a page for desktops",
    r'data-md-color-media="\(prefers-color-scheme: dark\)" data-md-color-scheme="slate"': "no dark scheme",
    r'data-md-color-media="\(prefers-color-scheme\)"': "no scheme that follows the system",
    r'data-md-component="search-query"': "no search",
    r'data-md-component="search-suggest"': "no suggestions in the search",
    r'<link rel="stylesheet" href="[^"]*site/site\.css"': "no style sheet docs/site/site.css",
}
HIGHLIGHTED = r'<span class="k[a-z]?">'  # a keyword of C++
LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:)?//[^"]*"')
SEARCHED = {"docs/guides/your_images.html": "folder per class", "docs/reference/exit_codes.html": "exit code"}


def check_page(name, text):
    for pattern, problem in EVERYWHERE.items():
        if not re.search(pattern, text):
            yield f"{name}: has {problem}"
    if name.endswith("your_plugin.html") and not re.search(HIGHLIGHTED, text):
        yield f"{name}: has no syntax colours"
    loaded = [match[0] for match in LOADED.finditer(text) if 'rel="canonical"' not in match[0]]
    if loaded:
        yield f"{name}: loads over the network: {loaded[0]}"


def check_search(index):
    texts = {}
    for document in index["docs"]:
        place = document["location"].split("#")[0]
        texts[place] = texts.get(place, "") + " " + document["title"] + " " + document["text"]
    for page, words in SEARCHED.items():
        if words not in texts.get(page, "").lower():
            yield f"search/search_index.json: {page} cannot be found by \"{words}\""


def check(site):
    findings = [one for name in PAGES for one in check_page(name, (site / name).read_text(encoding="utf-8"))]
    findings += check_search(json.loads((site / "search/search_index.json").read_text(encoding="utf-8")))
    for one in findings:
        print(one)
    return len(findings)


def self_test(site):
    """Removes each part of a right page, and counts what is not found."""
    failures = 0
    for name in PAGES:
        text = (site / name).read_text(encoding="utf-8")
        patterns = [*EVERYWHERE, *([HIGHLIGHTED] if name.endswith("your_plugin.html") else [])]
        for pattern in patterns:
            if len(list(check_page(name, re.sub(pattern, "", text)))) != 1:
                print(f"self-test: {name} without {pattern} has not one finding")
                failures += 1
        for element in ('<script src="https://example.org/a.js">', '<link rel="stylesheet" href="//example.org/a.css">'):
            if not list(check_page(name, text + element)):
                print(f"self-test: {element} is not found")
                failures += 1
    if len(list(check_search({"docs": []}))) != len(SEARCHED):
        print("self-test: an empty index is not found")
        failures += 1
    return failures


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--self-test"):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    site = Path(sys.argv[1])
    return 1 if (self_test(site) if len(sys.argv) == 3 else check(site)) else 0


if __name__ == "__main__":
    sys.exit(main())
