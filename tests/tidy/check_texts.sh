#!/usr/bin/env bash
# What no file of the repository holds: check_texts.sh REPOSITORY. Prints each finding, and fails if there is one.
set -euo pipefail
cd "$1"

# What git tracks or would track; in a copy without git, everything but build output.
files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard
  else
    find . -path ./build -prune -o -path ./runs -prune -o -type f -print0
  fi
}

# The brackets keep the patterns from finding themselves.
notes='\b(TO[D]O|FIX[M]E|XX[X])\b'
machine_paths='(^|[^[:alnum:]._-])/(wor[k]|tm[p]|hom[e]|roo[t])/'

failed=0
if files | xargs -0 grep -nIE "$notes" -- 2>/dev/null; then
  printf 'above: notes of unfinished work; expected the work, or nothing\n'
  failed=1
fi
if files | xargs -0 grep -nIE "$machine_paths" -- 2>/dev/null; then
  printf 'above: paths of one machine; expected relative ones, or a variable\n'
  failed=1
fi
if files | grep -zE '(^|/)(common|utils?|core|misc|helpers?|managers?)(\.[a-z]+)?(/|$)' | tr '\0' '\n' | grep .; then
  printf 'above: names that do not say what is inside\n'
  failed=1
fi
exit "$failed"
