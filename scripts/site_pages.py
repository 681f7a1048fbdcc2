"""Collects the pages of the documentation site: python3 scripts/site_pages.py REPOSITORY FOLDER

Copies the Markdown files of the repository's root and of docs/, and docs/site, into FOLDER, under the same paths, and
follows their relative links. A linked source becomes a page with its content in syntax colours, a linked folder a page
that lists its files, and any other file, such as a picture, is copied. Links are changed accordingly. A link with the name
of a page's file as its text, such as resume.md, gets the page's title. A picture NAME_light.png gets NAME_dark.png for
the dark colours. Lists of dtypes in tables may be broken after a slash, and options in a sentence not after their hyphens.
"""

import os
import re
import shutil
import sys
from pathlib import Path

LANGUAGES = {
    ".c": "c", ".cc": "cpp", ".cmake": "cmake", ".cpp": "cpp", ".cu": "cuda", ".h": "c", ".hpp": "cpp", ".json": "json",
    ".md": "markdown", ".proto": "protobuf", ".py": "python", ".rs": "rust", ".sh": "bash", ".toml": "toml",
    ".txt": "text", ".yml": "yaml"}
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"
LIGHT_PICTURE = re.compile(r"(!\[[^\]]*\]\()([^)#\s]+)_light\.png\)")
FILE_NAME = re.compile(r"\[[a-z_0-9]+\.md$")
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LONGEST_OPTION = 30  # characters; a longer one might not fit into a line of a phone
DTYPES = re.compile(r"(?<=float16)/|(?<=float32)/")
LINK = re.compile(r"((?<=\[)[a-z0-9_]+\.md)?(\]\()([^)#\s]+)(#[^)]*)?(\))")


class Pages:
    def __init__(self, repository: Path, folder: Path):
        self.repository = repository
        self.folder = folder
        self.waiting: list[Path] = []  # paths relative to the repository
        self.seen: set[Path] = set()

    def add(self, path: Path) -> Path:
        """Returns the path of the page, or of the copied file, for a path in the repository."""
        if path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)
        place = self.repository / path
        if place.is_dir():
            return path / ("README.md" if (place / "README.md").is_file() else "index.md")
        if path.suffix != ".md" and language_of(place) is not None:
            return path.with_name(path.name + ".md")
        return path

    def write(self) -> None:
        while self.waiting:
            path = self.waiting.pop()
            place = self.repository / path
            if place.is_dir():
                self.write_folder(path)
            elif path.suffix == ".md":
                self.put(path, search_rank(path) + self.change_links(path, place.read_text(encoding="utf-8")))
            elif (language := language_of(place)) is not None:
                text = place.read_text(encoding="utf-8")
                page = f"{NOT_SEARCHED}# {path}\n\n``````{language}\n{text.rstrip()}\n``````\n"
                self.put(path.with_name(path.name + ".md"), page)
            else:
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place, target)

    def write_folder(self, path: Path) -> None:
        files = sorted(each.relative_to(self.repository) for each in (self.repository / path).iterdir() if each.is_file())
        readme = path / "README.md"
        if readme in files:
            self.add(readme)
            return
        lines = [f"- [{file.name}]({self.add(file).relative_to(path)})" for file in files]
        self.put(path / "index.md", f"{NOT_SEARCHED}# {path}\n\n" + "\n".join(lines) + "\n")

    def change_links(self, page: Path, text: str) -> str:
        """Returns the text with links to the pages of sources and folders. Fenced blocks stay as they are."""

        def change(match: re.Match) -> str:
            target = match[3]
            if re.match(r"[a-z]+:", target):
                return match[0]
            path = Path(os.path.normpath(page.parent / target))
            if not (self.repository / path).exists():
                return match[0]  # mkdocs reports it
            name = match[1]
            if name == path.name:
                name = title_of(self.repository / path)
            return (name or "") + match[2] + os.path.relpath(self.add(path), page.parent) + (match[4] or "") + match[5]

        lines, is_inside = [], False
        for line in text.split("\n"):
            if line.startswith("```"):
                is_inside = not is_inside
            if not is_inside:
                line = keep_options(self.add_dark_pictures(page, LINK.sub(change, line)))
                if line.startswith("|"):
                    line = DTYPES.sub("/<wbr>", line)
            lines.append(line)
        return "\n".join(lines)

    def add_dark_pictures(self, page: Path, line: str) -> str:
        """Adds NAME_dark.png to each picture NAME_light.png. The theme shows the one that has the colours of the page."""

        def change(match: re.Match) -> str:
            dark = Path(os.path.normpath(page.parent / f"{match[2]}_dark.png"))
            if not (self.repository / dark).exists():
                return match[0]
            self.add(dark)
            return f"{match[1]}{match[2]}_light.png#only-light){match[1]}{match[2]}_dark.png#only-dark)"

        return LIGHT_PICTURE.sub(change, line)

    def put(self, path: Path, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def title_of(page: Path) -> str:
    """Returns the first heading of the page, or its file name."""
    with page.open(encoding="utf-8") as opened:
        return next((line[2:].strip() for line in opened if line.startswith("# ")), page.name)


def keep_options(line: str) -> str:
    """Encloses options such as --config in code of a sentence, so that the style sheet keeps them on one line."""

    def escape(text: str) -> str:
        return "".join(letter if letter.isalnum() else f"&#{ord(letter)};" for letter in text)

    def change(match: re.Match) -> str:
        words = match[1].split(" ")
        if "\\" in match[1] or not any(map(is_option, words)):
            return match[0]
        marked = [f'<span class="option">{escape(word)}</span>' if is_option(word) else escape(word) for word in words]
        return f"<code>{' '.join(marked)}</code>"

    def is_option(word: str) -> bool:
        return "-" in word and len(word) <= LONGEST_OPTION

    is_divided = line.count("`") % 2 == 1  # code that begins or ends on another line
    return line if line.startswith(("#", "|")) or is_divided else CODE.sub(change, line)


def search_rank(page: Path) -> str:
    """Returns the front matter that ranks the page in a search: guides and reference come first."""
    if page.parts[:2] in (("docs", "coming_from"), ("docs", "guides"), ("docs", "reference")):
        return ""
    if page.parent.parts[:1] == ("docs",) or page == Path("README.md"):
        return "---\nsearch:\n  boost: 0.5\n---\n"
    return NOT_SEARCHED


def language_of(file: Path) -> str | None:
    """Returns the language of a source for pygments, or None for any other file."""
    if file.suffix in LANGUAGES:
        return LANGUAGES[file.suffix]
    if file.suffix:
        return None
    with file.open("rb") as opened:
        start = opened.read(64)
    if start.startswith(b"#!"):
        return "python" if b"python" in start else "bash"
    return "text" if b"\0" not in start else None


def main() -> None:
    repository, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    pages = Pages(repository, folder)
    styles = (repository / "docs/site").iterdir()
    for file in sorted([*repository.glob("*.md"), *(repository / "docs").rglob("*.md"), *styles]):
        pages.add(file.relative_to(repository))
    pages.write()


main()
