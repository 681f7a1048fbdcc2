#!/usr/bin/env bash
# Checks what an installed Tenon has for both names of its program, host and tenon: check_names.sh ROOT PREFIX
#
# ROOT has bin and share/man, PREFIX the completions of the shells. Each name has a program, a manual page and completions,
# which name it and not the other one.
set -euo pipefail
root=$1
prefix=$2
failed=0

# expect WHAT LINE: standard input has this line.
expect() {
  if ! grep -qxF -- "$2"; then
    printf '%s: has no line "%s"\n' "$1" "$2"
    failed=1
  fi
}

# show PROGRAM ARGUMENT...: the program shows a manual page without a message.
show() {
  local messages
  if ! command -v "$1" >/dev/null; then
    printf '%s is not installed, so it is not run\n' "$1"
  elif ! messages=$("$@" 2>&1 >/dev/null) || [ -n "$messages" ]; then
    printf '%s:\n%s\n' "$*" "$messages"
    failed=1
  fi
}

if [ "$("$root/bin/host" --version)" != "$("$root/bin/tenon" --version)" ]; then
  printf 'host and tenon have different versions\n'
  failed=1
fi
for name in host tenon; do
  usage=$("$root/bin/$name" --help | sed -n '1s/^Usage: //p')
  case $usage in
  "$name --config FILE"*) ;;
  *)
    printf '%s --help: the usage is "%s"\n' "$name" "$usage"
    failed=1
    ;;
  esac
  page=$root/share/man/man1/$name.1
  expect "$page" "$name \\- train neural networks from plugins and a run file" <"$page"
  expect "$page" ".B ${usage//-/\\-}" <"$page"
  show mandoc -T lint -W error "$page"
  show man -M "$root/share/man" "$name"
  expect "completions of bash" "complete -o filenames -F _tenon_host $name" \
    <"$prefix/share/bash-completion/completions/$name"
  expect "completions of zsh" "#compdef $name" <"$prefix/share/zsh/site-functions/_$name"
  if grep '^complete ' "$prefix/share/fish/vendor_completions.d/$name.fish" | grep -v "^complete -c $name "; then
    printf 'above: completions of fish for another program than %s\n' "$name"
    failed=1
  fi
done
exit "$failed"
