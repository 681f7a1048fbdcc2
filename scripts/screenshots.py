#!/usr/bin/env python3
"""Takes pictures of web pages and of terminal screens with Chromium.

    screenshots.py TASKS.json

TASKS.json is a list. Each task writes one PNG file:
    {"page": "report.html", "width": 400, "dark": true, "png": "report-400-dark.png"}
    {"screen": "digits.ansi", "columns": 80, "png": "digits.png"}
A page may have "height", the most pixels of a picture that ends below a chart, a row or a paragraph, and "from", a CSS
selector of the element that the picture begins with. A screen is the text of a terminal with escape sequences, as from `tmux capture-pane -e`.

Checks every page: it must not scroll sideways, and no text of a chart may leave its chart.

Exit codes: 0 all pictures are written, 1 a page failed its check, 2 wrong arguments, 3 Chromium is missing.
"""
import base64
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

COLOURS = {"31": "#f08080", "32": "#7fd88f", "33": "#e8c85a"}

# Returns what is wrong with a page.
CHECK = """(() => {
  const found = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) found.push(`scrolls sideways: ${root.scrollWidth} of ${innerWidth} px`);
  for (const svg of document.querySelectorAll('svg.chart')) {
    const outer = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const inner = text.getBoundingClientRect();
      if (inner.left < outer.left - 1 || inner.right > outer.right + 1)
        found.push(`text leaves its chart: ${text.textContent}`);
    }
  }
  return found;
})()"""


# Returns the lowest place between `top` and `limit` that divides no chart, row or paragraph, and is not below a heading.
CUT = """((top, limit) => {
  const places = name => [...document.querySelectorAll(name)].map(one => one.getBoundingClientRect())
    .map(one => [one.top + scrollY, one.bottom + scrollY]);
  const ends = places('figure, tr, p, li, dd').map(one => one[1]).filter(end => end > top && end <= limit);
  const all = places('figure, tr, p, li, dd, dt, h1, h2, h3');
  const whole = ends.filter(end => !all.some(one => one[0] < end - 1 && one[1] > end + 1));
  return whole.length ? Math.max(...whole) : limit;
})"""

# Waits until styles and animations are at their end and two frames are drawn.
AT_REST = """(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await Promise.race([Promise.allSettled(document.getAnimations().map(one => one.finished)),
                      new Promise(done => setTimeout(done, 1000))]);
  await frame();
})()"""


class Browser:
    """Chromium, controlled by the DevTools protocol over two pipes."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program:
            sys.exit(fail("chromium is missing; install the package chromium", 3))
        commands_read, self.commands = os.pipe()
        answers, answers_write = os.pipe()
        options = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe about:blank"
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" {options} 3<&{commands_read} 4>&{answers_write}', program],
            pass_fds=(commands_read, answers_write), stderr=subprocess.DEVNULL)
        os.close(commands_read)
        os.close(answers_write)
        self.answers = answers
        self.received = b""
        self.number = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def read(self):
        while b"\0" not in self.received:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("chromium ended")
            self.received += part
        text, self.received = self.received.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, url, width, dark):
        self.width = width
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.call("Page.navigate", url=url)
        is_loaded = f"document.readyState == 'complete' && location.href == {json.dumps(url)}"
        while not self.evaluate(is_loaded):
            time.sleep(0.02)
        self.evaluate(AT_REST)

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)["result"].get("value")

    def capture(self, file, clip):
        # Parts outside of the window are not always drawn.
        self.call("Emulation.setDeviceMetricsOverride", width=max(int(clip[0] + clip[2]), self.width),
                  height=int(clip[1] + clip[3]), deviceScaleFactor=1, mobile=False)
        self.evaluate(AT_REST)
        area = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=area)["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait()


def fail(message, code):
    print(f"tenon: {message}", file=sys.stderr)
    return code


def take_page(browser, task):
    """Returns what is wrong with the page."""
    browser.open(pathlib.Path(task["page"]).resolve().as_uri(), task["width"], task.get("dark", False))
    found = browser.evaluate(CHECK)
    top = 0
    if "from" in task:
        top = browser.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(task['from'])});"
                               " return e ? e.getBoundingClientRect().top + scrollY - 8 : 0 })()")
    end = browser.evaluate("document.documentElement.scrollHeight")
    margin = 16
    if end > top + task.get("height", end):
        end = browser.evaluate(f"{CUT}({top}, {top + task['height'] - margin})") + margin
    browser.capture(task["png"], (0, top, task["width"], end - top))
    return [f"{task['page']} at {task['width']} px: {one}" for one in found]


def to_html(text):
    """Converts escape sequences of styles to HTML."""
    parts, style = [], {}
    for piece in re.split(r"(\x1b\[[0-9;]*m)", text):
        if piece.startswith("\x1b["):
            for code in piece[2:-1].split(";"):
                if code in ("", "0"):
                    style = {}
                elif code == "1":
                    style["font-weight"] = "700"
                elif code == "2":
                    style["opacity"] = ".55"
                elif code in COLOURS:
                    style["color"] = COLOURS[code]
                elif code == "39":
                    style.pop("color", None)
                elif code == "22":
                    style.pop("font-weight", None)
                    style.pop("opacity", None)
        elif piece:
            css = ";".join(f"{name}:{value}" for name, value in style.items())
            parts.append(f'<span style="{css}">{html.escape(piece)}</span>')
    return "".join(parts)


def take_screen(browser, task):
    text = re.sub(r"\x1b\][^\x07]*\x07|\x1b\([A-Z]|\x0f", "", pathlib.Path(task["screen"]).read_text()).rstrip()
    page = pathlib.Path(task["png"]).with_suffix(".html")
    page.write_text(
        "<!DOCTYPE html><meta charset=utf-8><style>body{margin:0}pre{display:inline-block;margin:0;padding:14px 16px;"
        f"background:#15181c;color:#e6e9ed;font:14px/1.4 'DejaVu Sans Mono',monospace;width:{task['columns']}ch"
        f"}}</style><pre>{to_html(text)}</pre>")
    browser.open(page.resolve().as_uri(), 1400, False)
    size = browser.evaluate("(() => { const r = document.querySelector('pre').getBoundingClientRect();"
                            " return [Math.ceil(r.width), Math.ceil(r.height)] })()")
    browser.capture(task["png"], (0, 0, *size))
    page.unlink()
    return []


def main():
    if len(sys.argv) != 2:
        return fail(f"usage: {sys.argv[0]} TASKS.json", 2)
    browser = Browser()
    found = []
    for task in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        found += (take_page if "page" in task else take_screen)(browser, task)
    browser.close()
    for one in found:
        fail(one, 1)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
