#!/usr/bin/env bash
# Checks that each script describes itself with --help, and does nothing else: check_help.sh REPOSITORY. example-data is
# left out: it builds the program that lists the kinds.
set -euo pipefail
cd "$1"
cache=$(mktemp -d)
errors=$(mktemp)
trap 'rm -rf "$cache" "$errors"' EXIT

failed=0
while read -r script; do
  text=$(TENON_CACHE=$cache timeout 60 "$script" --help 2>"$errors") || text="exit code $?: $text"
  if [[ $text != *$'\n'*"$script"* && $text != *": $script"* ]] || [ -s "$errors" ]; then
    printf '%s --help: expected its description, found: %s%s\n' "$script" "$text" "$(cat "$errors")"
    failed=1
  fi
done < <(grep -lm 1 '^#!/usr/bin/env bash' scripts/* 2>/dev/null | grep -vx scripts/example-data)
if [ -n "$(ls -A "$cache")" ]; then
  printf 'a script with --help wrote into the cache: %s\n' "$(ls -A "$cache")"
  failed=1
fi
exit "$failed"
