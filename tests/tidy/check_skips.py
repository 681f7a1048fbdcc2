#!/usr/bin/env python3
"""Checks tests/list_skips.py with fake results: check_skips.py REPOSITORY"""
import pathlib
import subprocess
import sys
import tempfile

RESULTS = """<?xml version="1.0"?>
<testsuite>
  <testcase name="runs" status="run"><system-out>all is well</system-out></testcase>
  <testcase name="needs.cable" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>first
no cable here
</system-out></testcase>
  <testcase name="needs.more" status="notrun"><skipped message="SKIP_RETURN_CODE=3"/><system-out></system-out></testcase>
  <testcase name="in.part" status="run"><system-out>a.cpp:1: MESSAGE: skipped, no CUDA device: none
a.cpp:2: MESSAGE: skipped, no CUDA device: none
b.cpp:1: MESSAGE: zsh is not installed: not checked
</system-out></testcase>
</testsuite>
"""
REASONS = ("needs.cable: no cable here", "needs.more: no reason is printed", "in.part: skipped, no CUDA device: none",
           "in.part: zsh is not installed: not checked")


def main():
    program = pathlib.Path(sys.argv[1]) / "tests/list_skips.py"
    with tempfile.TemporaryDirectory() as folder:
        results, allowed = pathlib.Path(folder) / "results.xml", pathlib.Path(folder) / "allowed.txt"
        results.write_text(RESULTS, encoding="utf-8")

        def run(*lines, results=results):
            allowed.write_text("".join(line + "\n" for line in ("# text", *lines)), encoding="utf-8")
            done = subprocess.run([program, results, allowed], stdout=subprocess.PIPE, text=True, check=False)
            return done.returncode, done.stdout

        code, output = run()
        assert code == 1 and "runs" not in output, output
        for reason in REASONS:
            assert f"  {reason}  <-" in output, (reason, output)
        assert output.count("no CUDA device") == 1, output
        code, output = run("needs.*: no cable", "needs.more: no reason", "in.*: no CUDA", "in.*: zsh is not installed")
        assert code == 0 and "<-" not in output, output
        # The reason and the test must fit.
        assert run("needs.*: no cable", "needs.more: no reason", "in.*: no CUDA", "out.*: zsh is not installed")[0] == 1
        assert run("needs.*: no rope", "needs.more: no reason", "in.*: no CUDA", "in.*: zsh is not installed")[0] == 1
        # ctest -N writes no results.
        assert run(results=pathlib.Path(folder) / "none.xml") == (0, "")


if __name__ == "__main__":
    main()
