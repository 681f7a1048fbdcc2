"""Reads and writes the log of the soak tests, tests/soak_log.tsv, and chooses the tests of a run.

The log has the newest two runs of each test, so it shows whether a test has become slower or has begun to fail, and does not
grow. A commit with "+" had changes that were not committed.
"""
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import typing

COLUMNS = ("test", "commit", "date", "seconds", "outcome")
OUTCOMES = ("passed", "failed")
ROWS_OF_A_TEST = 2
MINUTES_OF_A_RUN = 20
RUNS_FOR_ALL = 10  # each test is in one of so many runs
SECONDS_OF_A_NEW_TEST = 900  # until its first run


class Row(typing.NamedTuple):
    test: str
    commit: str
    date: str  # ISO 8601 in UTC, so that the order of texts is that of time
    seconds: int
    outcome: str


@dataclasses.dataclass
class Test:
    name: str
    is_by_hand: bool = False
    rows: list = dataclasses.field(default_factory=list)  # oldest first
    age: float = math.inf  # commits since the newest run

    @property
    def seconds(self):
        return self.rows[-1].seconds if self.rows else SECONDS_OF_A_NEW_TEST

    @property
    def overdue(self):
        """Sorts tests: those that failed, those that never ran, then by the commits since their newest run."""
        newest = self.rows[-1] if self.rows else None
        return (newest is None or newest.outcome == "passed", -self.age, newest.date if newest else "", self.name)


def read_rows(path):
    """Raises ValueError for a line that is not a row."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or tuple(lines[0].split("\t")) != COLUMNS:
        raise ValueError(f"{path.name}, line 1: expected the columns {', '.join(COLUMNS)}, divided by tabs")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        values = line.split("\t")
        if len(values) != len(COLUMNS) or not values[3].isdigit() or values[4] not in OUTCOMES:
            raise ValueError(f"{path.name}, line {number}: found \"{line}\"; expected a test, a commit, a date, whole seconds, "
                             f"and {' or '.join(OUTCOMES)}, divided by tabs")
        rows.append(Row(values[0], values[1], values[2], int(values[3]), values[4]))
    return rows


def write_rows(path, rows):
    """Writes the newest rows of each test."""
    tests = {}
    for row in sorted(rows, key=lambda row: (row.test, row.date)):
        tests.setdefault(row.test, []).append(row)
    kept = [row for one in tests.values() for row in one[-ROWS_OF_A_TEST:]]
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in [COLUMNS, *kept]), encoding="utf-8")


class History:
    """The commits before and at HEAD. Empty without a repository."""

    def __init__(self, root):
        git = subprocess.run(["git", "-C", str(root), "log", "--format=%H %cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"],
                             env={**os.environ, "TZ": "UTC"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             check=False)
        self.commits = [tuple(line.split()) for line in git.stdout.splitlines()] if git.returncode == 0 else []

    def age(self, row):
        """The commits after the row's. For a commit that is not in the history, such as one that was rebased, those after its
        date."""
        for index, (commit, _) in enumerate(self.commits):
            if commit.startswith(row.commit.rstrip("+")):
                return index
        return sum(date > row.date for _, date in self.commits)


def list_tests(build):
    """Returns {name: runs only by name} of the soak tests of a build tree, or None if it is not configured."""
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1", "-L", "^soak$"], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if listed.returncode != 0:
        return None
    tests = {}
    for test in json.loads(listed.stdout)["tests"]:
        labels = [label for one in test["properties"] if one["name"] == "LABELS" for label in one["value"]]
        if "soak" in labels:  # the others are fixtures
            tests[test["name"]] = "by_hand" in labels
    return tests


def describe(listed, rows, history):
    """The tests as list_tests() returns them, with what the log says about them, the most overdue first."""
    tests = {name: Test(name, is_by_hand) for name, is_by_hand in listed.items()}
    for row in sorted(rows, key=lambda row: row.date):
        if row.test in tests:
            tests[row.test].rows.append(row)
    for test in tests.values():
        if test.rows:
            test.age = history.age(test.rows[-1])
    return sorted(tests.values(), key=lambda test: test.overdue)


def choose(tests, seconds, runs_before=0):
    """The tests of a run that takes so many seconds: the most overdue one, and the next ones that fit.

    tests: the most overdue first. runs_before: runs since the newest row, which the log does not have because CI cannot write it. Each
    of them took what this function chose for it.
    """
    waiting = list(tests)
    chosen = []
    for _ in range(runs_before + 1):
        chosen, left = [], seconds
        for test in waiting:
            if not chosen or test.seconds <= left:
                chosen.append(test)
                left -= test.seconds
        waiting = [test for test in waiting if test not in chosen] + chosen
    return chosen


def longest_gaps(tests, seconds, runs):
    """Within how many runs each test was in one, at most: {name: runs}. Each run takes what `choose` gives."""
    last = {test.name: -1 for test in tests}
    gaps = dict.fromkeys(last, 0)
    for run in range(runs):
        for test in choose(tests, seconds, run):
            gaps[test.name] = max(gaps[test.name], run - last[test.name])
            last[test.name] = run
    return {name: max(gaps[name], runs - last[name]) for name in last}


def log_path(root):
    return pathlib.Path(root) / "tests" / "soak_log.tsv"
