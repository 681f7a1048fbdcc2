#!/usr/bin/env python3
"""Checks in Chromium how the curves of report pages answer to a person: tests/reporting/check_curves.py HOST

Trains two short runs, and checks the page of one and that of both: without scripts each metric has an SVG chart; with scripts the
values at the pointer are those of the history, a name hides its curves in all charts, the scale, smoothing and zoom change
what is drawn, and undoing each of them draws the first picture again.

First installs Chromium: scripts/dependencies --for-pictures. Exit codes: 0 passed, 1 a check failed, 3 Chromium is missing.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import screenshots  # noqa: E402

# Returns the pictures of all charts.
PICTURES = "[...document.querySelectorAll('#curves canvas')].map(one => one.toDataURL())"

# Moves the pointer over the first chart, to shares of its width and height, with events of these names in turn.
MOVE = """((...moves) => {
  const over = document.querySelector('#curves .u-over'), place = over.getBoundingClientRect();
  for (const [name, share] of moves)
    over.dispatchEvent(new MouseEvent(name, {bubbles: true, view: window, button: 0, movementX: 1,
      clientX: place.left + share * place.width, clientY: place.top + 0.5 * place.height}));
})"""


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


class Page:
    def __init__(self, browser, file):
        self.browser = browser
        self.file = file
        self.load()

    def load(self):
        self.browser.open(self.file.as_uri(), 1300, False)

    def evaluate(self, expression):
        value = self.browser.evaluate(expression)
        self.browser.evaluate(screenshots.AT_REST)
        return value

    def pictures(self):
        return self.evaluate(PICTURES)

    def move(self, *moves):
        self.evaluate(f"{MOVE}({', '.join(json.dumps(move) for move in moves)})")

    def check_changed(self, before, what):
        changed = [old != new for old, new in zip(before, self.pictures())]
        check(any(changed), f"{self.file.name}: {what} changes no chart")
        return changed

    def check_restored(self, before, what):
        check(self.pictures() == before, f"{self.file.name}: undoing {what} does not restore the charts")


def nearest(series, step):
    values = [(abs(x - step), y) for x, y in zip(series["x"], series["y"]) if y is not None]
    distance = min(values)[0]
    return [y for away, y in values if away == distance]


def check_values(page):
    """The values at the pointer, against the data of the page."""
    page.move(["mouseenter", 0.4], ["mousemove", 0.4])
    steps = page.evaluate("[...document.querySelectorAll('#curves th.pointer')].map(one => one.textContent)")
    check(len(set(steps)) >= 1 and all(step.startswith("step ") for step in steps), f"the pointer shows {steps}")
    data = page.evaluate("[...document.querySelectorAll('#curves figure')].map(one => "
                            "[one.querySelector('script').textContent,"
                            " [...one.querySelectorAll('td.pointer')].map(cell => cell.textContent)])")
    compared = 0
    for step, (text, cells) in zip(steps, data):
        number = int(step.removeprefix("step ").replace(",", ""))
        for series, cell in zip(json.loads(text)["series"], cells):
            shown = float(cell.replace(",", ""))
            found = any(abs(shown - value) <= 1e-3 * abs(value) for value in nearest(series, number))
            check(found, f"{series['name']} at {step}: shows {cell}, and the history has {nearest(series, number)}")
            compared += 1
    page.move(["mouseleave", 0.4])
    return compared


def check_page(browser, file):
    page = Page(browser, file)
    charts = page.evaluate("document.querySelectorAll('#curves figure').length")
    check(charts > 3, f"{file.name} has {charts} charts")
    still = file.with_name("still.html")
    still.write_text(re.sub(r"<script>.*?</script>", "", file.read_text(), flags=re.S))
    drawn = Page(browser, still).evaluate("document.querySelectorAll('#curves figure > svg.chart polyline').length")
    check(drawn >= charts, f"{file.name}: without scripts there are {drawn} curves in {charts} charts")
    page.load()
    first = page.pictures()
    check(len(first) == charts, f"{file.name}: {len(first)} of {charts} charts answer to the pointer")
    compared = check_values(page)
    page.check_restored(first, "the pointer")

    press = "document.querySelector('#curves figcaption button').click()"
    page.evaluate(press)
    check(page.check_changed(first, "the scale").count(True) == 1, "the scale of one chart changes others")
    page.evaluate(press)
    page.check_restored(first, "the scale")

    slide = ("(share => { const slider = document.querySelector('.controls input'); slider.value = share;"
             " slider.dispatchEvent(new Event('input')) })")
    page.evaluate(f"{slide}(0.9)")
    page.check_changed(first, "smoothing")
    page.evaluate(f"{slide}(0)")
    page.check_restored(first, "smoothing")

    press = "document.querySelector('#curves .legend td.name').click()"
    page.evaluate(press)
    check(page.check_changed(first, "hiding a name").count(True) > 1, "a name is hidden in one chart only")
    page.evaluate(press)
    page.check_restored(first, "hiding a name")

    page.move(["mousemove", 0.3], ["mousedown", 0.3], ["mousemove", 0.6], ["mouseup", 0.6])
    check(all(page.check_changed(first, "zooming")), "not all charts are zoomed")
    page.move(["dblclick", 0.5])
    page.check_restored(first, "zooming")
    print(f"{file.name}: {charts} charts, {compared} values at the pointer")


def main():
    host = pathlib.Path(sys.argv[1]).resolve()
    subprocess.run([ROOT / "scripts/dependencies", "--for-pictures", "--unless-done"], check=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = []
        for seed in (0, 1):
            output = folder / f"seed-{seed}"
            subprocess.run([host, ROOT / "configs/digits_mlp.toml", "--set", f"run.seed={seed}", "--set", "train.epochs=8",
                            "--set", "log.every=1 step", "--set", f"run.output_dir={output}"], check=True,
                           stdout=subprocess.DEVNULL)
            runs.append(next(output.glob("*/*/report.html")).parent)
        subprocess.run([host, "report", *runs, "--output", folder / "both.html"], check=True, stdout=subprocess.DEVNULL)
        browser = screenshots.Browser()
        try:
            for file in (runs[0] / "report.html", folder / "both.html"):
                check_page(browser, file)
        finally:
            browser.close()


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"tenon: {failure}")
