#!/usr/bin/env python3
"""Prints the tests that did not run, or only in part, with their reasons: tests/list_skips.py RESULTS ALLOWED

RESULTS is the file of ctest --output-junit. ALLOWED has the skips that CI accepts, such as tests/skips_allowed.txt. A test is
skipped if it ends with its SKIP_RETURN_CODE; the reason is the last line that it prints. A part is skipped if a test prints
a line with "skipped: ", "skipped, " or "is not installed: ".

Exit codes: 0 every skip is allowed, 1 one is not, 2 wrong arguments.
"""
import fnmatch
import pathlib
import re
import sys
import xml.etree.ElementTree

PART = re.compile(r"MESSAGE: (.*(?:\bskipped[:,] |\bis not installed: ).*)|^(.*\bwas not found: .* only)$", re.M)


def read_skips(results):
    """Returns pairs of a test and a reason."""
    skips = []
    for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        if case.find("skipped") is not None:
            lines = [line for line in output.splitlines() if line.strip()]
            skips.append((case.get("name"), lines[-1].strip() if lines else "no reason is printed"))
        else:
            skips += [(case.get("name"), reason) for reason in
                      dict.fromkeys(first or second for first, second in PART.findall(output))]
    return skips


def read_allowed(path):
    """Returns pairs of a pattern of tests and a part of the reason."""
    pairs = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            test, _, reason = line.partition(": ")
            pairs.append((test, reason))
    return pairs


def is_allowed(test, reason, allowed):
    return any(fnmatch.fnmatchcase(test, pattern) and part in reason for pattern, part in allowed)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    # CTest writes no results if it only lists tests or finds none.
    if not pathlib.Path(sys.argv[1]).exists():
        return
    allowed = read_allowed(sys.argv[2])
    tests = {}
    for test, reason in read_skips(sys.argv[1]):
        tests.setdefault((reason, is_allowed(test, reason, allowed)), []).append(test)
    if tests:
        print("\nNot run, or only in part:")
    for (reason, accepted), names in tests.items():
        shown = f"{names[0]} and {len(names) - 1} more" if len(names) > 2 else ", ".join(names)
        brief = reason if len(reason) <= 160 else reason[:160] + "..."
        print(f"  {shown}: {brief}{'' if accepted else '  <- CI does not accept this'}")
    sys.exit(0 if all(accepted for _, accepted in tests) else 1)


if __name__ == "__main__":
    main()
