#!/usr/bin/env bash
# Checks the documentation against the source tree: check_docs.sh REPOSITORY. A code block under <!-- file: PATH -->
# must equal that file, and the target of a relative link must exist. Prints each violation as FILE:LINE: problem. Fails
# if there is one.
set -euo pipefail
cd "$1"
breaches=0
blocks=0

breach() {
  printf '%s\n' "$1"
  breaches=$((breaches + 1))
}

# block FILE LINE: prints the content of the first fenced block after the line.
block() {
  awk -v after="$2" 'NR <= after { next } /^```/ { if (inside) exit; inside = 1; next } inside' "$1"
}

# check_blocks FILE
check_blocks() {
  local line path
  while IFS=: read -r line path; do
    [ -n "$line" ] || continue
    blocks=$((blocks + 1))
    if [ ! -f "$path" ]; then
      breach "$1:$line: the file $path does not exist"
    elif ! diff -u --label "$path" --label "$1" "$path" <(block "$1" "$line"); then
      breach "$1:$line: the code block differs from $path (above)"
    fi
  done < <(grep -nE '^<!-- file: .+ -->$' "$1" | sed -E 's/^([0-9]+):<!-- file: (.+) -->$/\1:\2/' || true)
}

# outside_blocks FILE: prints the lines of the file, with empty lines for fenced blocks, which may contain code that
# looks like a link.
outside_blocks() {
  awk '/^```/ { inside = !inside; print ""; next } { print inside ? "" : $0 }' "$1"
}

# check_links FILE
check_links() {
  local line target folder
  folder=$(dirname "$1")
  while IFS=: read -r line target; do
    [ -n "$line" ] || continue
    case $target in
    http://* | https://* | mailto:* | '#'*) continue ;;
    esac
    [ -e "$folder/${target%%#*}" ] || breach "$1:$line: the link target $target does not exist"
  done < <(outside_blocks "$1" | grep -noE '\]\([^)]+\)' | sed -E 's/^([0-9]+):\]\((.*)\)$/\1:\2/' || true)
}

while IFS= read -r file; do
  check_blocks "$file"
  check_links "$file"
done < <(find . -path ./build -prune -o -path ./runs -prune -o -path ./.git -prune -o -name '*.md' -print | sed 's|^\./||')

if [ "$blocks" = 0 ]; then breach "no page shows a file of this tree; expected the first plugin in README.md"; fi
if [ "$breaches" != 0 ]; then
  printf '%d violations in the documentation\n' "$breaches"
  exit 1
fi
