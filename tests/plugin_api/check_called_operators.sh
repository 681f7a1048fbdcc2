#!/usr/bin/env bash
# Checks that a plugin declares exactly the operators of tenon/ops that it calls, and those that it lists:
# check_called_operators.sh PLUGIN_API_INCLUDE [all]
#
# A plugin in C and one in C++, of two source files each, are built with gcc and with clang, if installed. With `all`, each
# level of optimisation, link-time optimisation and each installed linker are tried, with and without --gc-sections.
set -euo pipefail
include=$(cd "$1" && pwd)
matrix=${2:-some}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >other.h <<'C'
#include <tenon/ops.h>
tenon_tensor* other(tenon_calls* calls, tenon_tensor* x);
static inline tenon_tensor* unused(tenon_calls* calls, tenon_tensor* x) { return tenon_exp(calls, x); }
C
cat >other.c <<'C'
#include "other.h"
tenon_tensor* other(tenon_calls* calls, tenon_tensor* x) { return tenon_clamp_min(calls, tenon_relu(calls, x), tenon_float(0)); }
C
cat >portable.c <<'C'
#include <tenon/describe.h>
#include <tenon/loss.h>

#include "other.h"

static tenon_ops ops;
static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t count, tenon_loss_result* result) {
  tenon_calls calls = tenon_begin(&ops, frame);
  (void)self, (void)count;
  result->loss = tenon_add(&calls, other(&calls, inputs[0]), tenon_relu(&calls, inputs[0]));
  return calls.status;
}
static const tenon_loss kTable = {.size = sizeof kTable, .forward = forward};
static const tenon_component* const kComponents[] = {TENON_COMPONENT(TENON_LOSS, "called", "calls operators", kTable)};
static const tenon_string kOperators[] = {TENON_STRING("aten::bincount"), TENON_STRING("aten::relu")};
static const tenon_plugin kPlugin = {.size = sizeof kPlugin, .components = kComponents, .component_count = 1, .operators = kOperators, .operator_count = 2};
TENON_EXPORT tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) { return tenon_answer(offer, reply, &kPlugin); }
C
cat >idle.c <<'C'
#include <tenon/describe.h>
#include <tenon/ops.h>
static const tenon_plugin kPlugin = {.size = sizeof kPlugin};
TENON_EXPORT tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) { return tenon_answer(offer, reply, &kPlugin); }
C
cat >other.hpp <<'C'
#include <tenon/plugin.hpp>
tenon::Tensor other(const tenon::Tensor& x);
inline tenon::Tensor shared(const tenon::Tensor& x) { return relu(x); }
inline tenon::Tensor unused(const tenon::Tensor& x) { return exp(x); }
C
cat >other.cpp <<'C'
#include "other.hpp"
tenon::Tensor other(const tenon::Tensor& x) { return clamp_min(shared(x), 0); }
C
cat >portable.cpp <<'C'
#include "other.hpp"

struct Called {
  std::vector<tenon::Port> ports() const { return {tenon::input("x", "N", TENON_ANY_FLOAT)}; }
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const { return {other(inputs[0]) + shared(inputs[0]), 1.0}; }
};
TENON_PLUGIN("called", "0.1.0", "MIT", "Calls operators.", tenon::loss<Called>("called", "calls operators"), tenon::operators({"aten::bincount", "aten::relu"}))
C
cat >print_operators.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tenon/plugin.h>

int main(int count, char** arguments) {
  static const tenon_host host;
  const tenon_offer offer = {TENON_ABI_OLDEST, TENON_ABI_CURRENT, &host, {NULL, 0}};
  int i;
  for (i = 1; i < count; ++i) {
    void* const library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library ? dlsym(library, TENON_ENTRY_SYMBOL) : NULL;
    tenon_plugin_open_function open;
    tenon_reply reply;
    uint64_t each;
    if (!symbol) return fprintf(stderr, "%s\n", dlerror()), 1;
    memcpy(&open, &symbol, sizeof open);
    if (open(&offer, &reply) != TENON_OK || open(&offer, &reply) != TENON_OK) return 1;
    printf("%s:", strrchr(arguments[i], '/') + 1);
    for (each = 0; each < reply.plugin->operator_count; ++each)
      printf(" %.*s", (int)reply.plugin->operators[each].size, reply.plugin->operators[each].data);
    printf("\n");
  }
  return 0;
}
C
sorted() { awk '{ for (i = 2; i <= NF; ++i) print $1, $i }' | LC_ALL=C sort; }
sorted >expected <<'LIST'
portable_c.so: aten::add.Tensor aten::bincount aten::clamp_min aten::relu
portable_cpp.so: aten::add.Tensor aten::bincount aten::clamp_min aten::relu
LIST

built=0
failed=0
check() { # CC CXX FLAGS...
  local cc=$1 cxx=$2 flags
  shift 2
  flags=("$@" -shared -fPIC -fvisibility=hidden "-I$include" -Wl,--no-undefined -Wall -Wextra -Werror)
  rm -f ./*.so ./*.o
  if ! "$cc" -std=c11 -pedantic "${flags[@]}" -o portable_c.so portable.c other.c ||
    ! "$cc" -std=c11 -pedantic "${flags[@]}" -o idle.so idle.c ||
    ! "$cxx" -std=c++17 -pedantic -fvisibility-inlines-hidden "${flags[@]}" -o portable_cpp.so portable.cpp other.cpp ||
    ! ./print_operators ./portable_c.so ./portable_cpp.so ./idle.so | sorted >found ||
    ! diff expected found; then
    printf 'above: %s and %s %s\n' "$cc" "$cxx" "$*"
    failed=1
  fi
  built=$((built + 1))
}

for pair in "gcc g++" "clang clang++"; do
  read -r cc cxx <<<"$pair"
  command -v "$cxx" >/dev/null || continue
  [ -e print_operators ] || "$cc" -std=c11 -Wall -Wextra -Werror "-I$include" -o print_operators print_operators.c -ldl
  if [ "$matrix" != all ]; then
    check "$cc" "$cxx" -O0
    check "$cc" "$cxx" -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
    continue
  fi
  for level in -O0 -O1 -O2 -O3 -Os; do
    for linker in bfd gold lld mold; do
      command -v "ld.$linker" >/dev/null || continue
      check "$cc" "$cxx" "$level" "-fuse-ld=$linker"
      check "$cc" "$cxx" "$level" "-fuse-ld=$linker" -ffunction-sections -fdata-sections -Wl,--gc-sections
    done
  done
  linker=bfd
  if [ "$cc" = clang ]; then linker=lld; fi
  if command -v "ld.$linker" >/dev/null; then
    for level in -O0 -O2 -O3; do check "$cc" "$cxx" "$level" -flto "-fuse-ld=$linker" -Wl,--gc-sections; done
  fi
done

if [ "$built" = 0 ]; then
  printf 'neither gcc nor clang was found\n'
  exit 1
fi
printf '%d builds\n' "$built"
exit "$failed"
