#!/usr/bin/env python3
"""Checks the log of the soak tests, and that their slices are complete: check_soak.py REPOSITORY [BUILD | --self-test]

- Soak tests ran in the last 30 commits. A copy without a history is not checked for this.
- Every row of the log is of a soak test that exists, and no test has more than two rows. Without BUILD, a build tree that lists the
  tests, only the second is checked.
- With the seconds of the log, each test is in one of ten runs of scripts/soak, and in one of ten runs of CI.
- Each test program is in one line of tests/sanitizer_slices.txt.

--self-test: checks the choice of tests with fake times, and that each of the faults above is found.
"""
import collections
import pathlib
import random
import re
import sys
import tempfile

COMMITS = 30
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import soak_log  # noqa: E402
from soak_log import RUNS_FOR_ALL, Row, Test  # noqa: E402

SECONDS = 60 * soak_log.MINUTES_OF_A_RUN


def check_log(rows, tests, history):
    problems = []
    for name, count in collections.Counter(row.test for row in rows).items():
        if count > soak_log.ROWS_OF_A_TEST:
            problems.append(f"{name} has {count} rows; expected the newest {soak_log.ROWS_OF_A_TEST}")
        if tests is not None and name not in tests:
            problems.append(f"{name} is no soak test; remove its rows")
    scheduled = [row for row in rows if tests is None or not tests.get(row.test, True)]
    if not scheduled:
        problems.append("the log has no rows; run scripts/soak")
    elif not history.commits:
        print("there is no history: the age of the log is not checked")
    else:
        age = min(history.age(row) for row in scheduled)
        if age > COMMITS:
            problems.append(f"the newest row is {age} commits old; expected {COMMITS} or fewer: run scripts/soak and commit the log")
    return problems


def check_gaps(tests):
    """tests: as soak_log.describe() returns them. A test without a row has no known time, and comes first in the next run."""
    timed = [test for test in tests if test.rows and not test.is_by_hand]
    gaps = soak_log.longest_gaps(timed, SECONDS, 4 * RUNS_FOR_ALL)
    return [f"{name} is only in one of {gap} runs; expected one of {RUNS_FOR_ALL}: divide or shorten the longest soak tests"
            for name, gap in gaps.items() if gap > RUNS_FOR_ALL]


def list_programs(root):
    """The names of all test programs."""
    files = sorted((pathlib.Path(root) / "tests").rglob("CMakeLists.txt"))
    return [name for file in files for name in re.findall(r"^\s*tenon_add_test\(\s*(\w+)", file.read_text("utf-8"), re.M)]


def check_slices(text, programs):
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "except: "))]
    counts = collections.Counter(name for line in lines for name in line.partition(": ")[2].split())
    problems = [f"sanitizer_slices.txt has {name} {count} times" for name, count in counts.items() if count > 1]
    problems += [f"sanitizer_slices.txt lacks the program {name}" for name in programs if name not in counts]
    problems += [f"sanitizer_slices.txt: there is no program {name}" for name in counts if name not in programs]
    return problems


def main():
    root = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["--self-test"]:
        self_test()
        return
    tests = soak_log.list_tests(sys.argv[2]) if len(sys.argv) > 2 else None
    history = soak_log.History(root)
    rows = soak_log.read_rows(soak_log.log_path(root))
    listed = tests if tests is not None else dict.fromkeys((row.test for row in rows), False)
    problems = check_log(rows, tests, history)
    problems += check_gaps(soak_log.describe(listed, rows, history))
    problems += check_slices((root / "tests/sanitizer_slices.txt").read_text("utf-8"), list_programs(root))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


def make_row(test, commit="01", seconds=60, outcome="passed", day=1):
    return Row(test, commit, f"2026-01-{day:02}T00:00:00Z", seconds, outcome)


class FakeHistory:
    """A linear history of commits "01", "02" and so on."""

    def __init__(self, count):
        self.commits = [(f"{number:02}", f"2026-01-{number:02}T00:00:00Z") for number in range(count, 0, -1)]

    age = soak_log.History.age


# The seconds of a suite that takes 138 of 200 minutes: tests with builds, programs, and a few short ones.
FAKE_SECONDS = [790, 760, 740, 720, 700, 580, 560, 540, 540, 530, 470, 430, 270, 220, 180, 90, 55, 40, 20, 10, 5, 2]


def simulate_developer(seconds, runs, random_order):
    """The longest gap of any test if each run writes its rows."""
    rows, last, gap = [], {}, 0
    names = [f"soak.{number}" for number in range(len(seconds))]
    for run in range(runs):
        history = FakeHistory(run + 1)
        tests = soak_log.describe(dict.fromkeys(names, False), rows, history)
        for test in tests:  # the time of a test that has not run is known here
            test.rows = test.rows or [make_row(test.name, seconds=seconds[names.index(test.name)])]
        for test in soak_log.choose(tests, SECONDS):
            number = names.index(test.name)
            took = round(seconds[number] * random_order.uniform(0.95, 1.05))  # no two runs take the same time
            rows.append(make_row(test.name, f"{run + 1:02}", took, day=run + 1))
            gap = max(gap, run - last.get(test.name, -1))
            last[test.name] = run
    return max(gap, *(runs - last.get(name, -1) for name in names))


def self_test():
    random_order = random.Random(1)
    for _ in range(50):
        seconds = FAKE_SECONDS[:]
        random_order.shuffle(seconds)
        gap = simulate_developer(seconds, 28, random_order)
        assert gap <= RUNS_FOR_ALL, f"a test ran once in {gap} runs that write the log: {seconds}"
        # CI: the log stays as it is, and each commit has a run.
        tests = [Test(f"soak.{number}", rows=[make_row("", seconds=value)]) for number, value in enumerate(seconds)]
        gaps = soak_log.longest_gaps(tests, SECONDS, 31)
        assert max(gaps.values()) <= RUNS_FOR_ALL, f"CI: {gaps} for {seconds}"
        for run in range(31):
            chosen = soak_log.choose(tests, SECONDS, run)
            assert sum(test.seconds for test in chosen) <= SECONDS, chosen

    # Order: failed, never run, oldest.
    rows = [make_row("a", "03"), make_row("b", "01"), make_row("c", "04", outcome="failed"), make_row("d", "02+")]
    tests = soak_log.describe({"a": False, "b": True, "c": False, "d": False, "e": False}, rows, FakeHistory(5))
    assert [test.name for test in tests] == ["c", "e", "b", "d", "a"], tests
    assert [test.age for test in tests[2:]] == [4, 3, 2] and tests[2].is_by_hand
    # A commit that was rebased: those after its date.
    assert FakeHistory(9).age(make_row("a", "gone", day=7)) == 2
    # A test that takes longer than a run is the only one of its run.
    assert [test.name for test in soak_log.choose([Test("long", rows=[make_row("", seconds=5000)]), *tests], SECONDS)] == ["long"]
    # A run of an hour takes more than one of 20 minutes.
    assert len(soak_log.choose(tests, 3 * SECONDS)) == 5

    fresh, stale = FakeHistory(1 + COMMITS), FakeHistory(2 + COMMITS)
    row = make_row("soak.a")
    assert check_log([row], {"soak.a": False}, fresh) == []
    assert "commits old" in check_log([row], {"soak.a": False}, stale)[0]
    assert "no rows" in check_log([row], {"soak.a": True}, fresh)[0], "tests by hand do not count"
    assert "no rows" in check_log([], {}, fresh)[0]
    assert "is no soak test" in check_log([row, make_row("soak.b")], {"soak.a": False}, fresh)[0]
    assert "has 3 rows" in check_log([row] * 3, None, fresh)[0]
    assert check_log([row], {"soak.a": False}, FakeHistory(0)) == []
    assert "only in one of" in check_gaps([Test(f"soak.{n}", rows=[make_row("", seconds=1100)]) for n in range(11)])[0]
    assert check_gaps([Test(f"soak.{n}", rows=[make_row("", seconds=1100)]) for n in range(10)]) == []

    assert check_slices("# text\n1: a b\nnone: c\nexcept: d\n", ["a", "b", "c"]) == []
    assert check_slices("1: a b\n2: a d\n", ["a", "b", "c"]) == [
        "sanitizer_slices.txt has a 2 times", "sanitizer_slices.txt lacks the program c",
        "sanitizer_slices.txt: there is no program d"]

    # The log keeps the newest two rows of each test.
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.tsv"
        assert soak_log.read_rows(log) == []
        soak_log.write_rows(log, [make_row("b", day=3), make_row("b", day=1), make_row("a"), make_row("b", day=2)])
        assert [(row.test, row.date[8:10]) for row in soak_log.read_rows(log)] == [("a", "01"), ("b", "02"), ("b", "03")]
        for wrong in ("test\tdate\n", log.read_text("utf-8") + "a\tb\n", log.read_text("utf-8").replace("passed", "well")):
            log.write_text(wrong, encoding="utf-8")
            try:
                soak_log.read_rows(log)
                assert False, wrong
            except ValueError as error:
                assert "expected" in str(error)
    print("the self-test passed")


if __name__ == "__main__":
    main()
