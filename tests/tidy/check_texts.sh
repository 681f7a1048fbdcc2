#!/usr/bin/env bash
# Checks that no file contains unfinished-work notes, absolute paths, vague names or algorithms that clang 14 cannot compile:
# check_texts.sh REPOSITORY. Prints each finding. Fails if there is one.
set -euo pipefail
cd "$1"

# Lists the files that git tracks or would track. In a copy without git, lists all files except build output.
files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard
  else
    find . -path ./build -prune -o -path ./runs -prune -o -type f -print0
  fi
}

# The brackets keep the patterns from matching themselves.
notes='\b(TO[D]O|FIX[M]E|XX[X])\b'
# Views, and what returns a subrange.
algorithms='std::(view[s]::|range[s]::(rotate|unique|remove|remove_if|partition|stable_partition|equal_range|search|find_end|subrange)\b)'
machine_paths='(^|[^[:alnum:]._-])/(wor[k]|tm[p]|hom[e]|roo[t])/'

failed=0
if files | xargs -0 grep -nIE "$notes" -- 2>/dev/null; then
  printf 'above: notes about unfinished work; finish the work or remove the note\n'
  failed=1
fi
if files | xargs -0 grep -nIE "$machine_paths" -- 2>/dev/null; then
  printf 'above: absolute paths of one machine; expected relative paths or a variable\n'
  failed=1
fi
if files | xargs -0 grep -nIE "$algorithms" -- 2>/dev/null; then
  printf 'above: algorithms that clang 14 does not compile with the library of GCC 12; expected those of std:: with iterators\n'
  failed=1
fi
if files | grep -zE '(^|/)(common|utils?|core|misc|helpers?|managers?)(\.[a-z]+)?(/|$)' | tr '\0' '\n' | grep .; then
  printf 'above: names that do not describe the content\n'
  failed=1
fi
exit "$failed"
