#!/usr/bin/env bash
# Checks libtenon_functions.a: check_functions.sh HEADERS LIBRARY WORK
#
# It has all functions of the headers, and a plugin that is linked with it exports none of them.
set -euo pipefail
headers=$1 library=$2 work=$3
rm -rf "$work"
mkdir -p "$work"

# The macro is in front of the type, which may be in another line than the name.
find "$headers" -name '*.h' -print0 | xargs -0 perl -0777 -ne 'print "$1\n" while /^TENON_INLINE [\w\s*]*?(\w+)\(/mg' |
  grep -v '^tenon_next_called_operator$' | sort -u >"$work/declared"
nm "$library" | awk '$2 == "T" { print $3 }' | sort -u >"$work/defined"
if [ "$(wc -l <"$work/declared")" -lt 150 ]; then
  printf 'found only %s functions in the headers\n' "$(wc -l <"$work/declared")"
  exit 1
fi
if ! diff "$work/declared" "$work/defined"; then
  printf 'above: the functions of the headers (<) and those of the library (>) differ\n'
  exit 1
fi

cat >"$work/linked.c" <<'END'
extern int tenon_read_int(void), tenon_linear(void), tenon_random_start(void), tenon_answer(void);
__attribute__((visibility("default"))) int tenon_plugin_open(void) {
  return tenon_read_int() + tenon_linear() + tenon_random_start() + tenon_answer();
}
END
cc -shared -fPIC -fvisibility=hidden -Wl,-z,defs "$work/linked.c" "$library" -lm -o "$work/linked.so"
nm -D --defined-only "$work/linked.so" | awk '{ print $3 }' >"$work/exports"
if [ "$(cat "$work/exports")" != tenon_plugin_open ]; then
  cat "$work/exports"
  printf 'above: the symbols that a plugin exports; expected tenon_plugin_open alone\n'
  exit 1
fi
