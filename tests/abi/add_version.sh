#!/usr/bin/env bash
# Adds a minor version to a copy of the headers, as a maintainer would: add_version.sh PLUGIN_API_INCLUDE. Appends the
# field `newest` to tenon_host, tenon_dataset and tenon_loss. Prints the previous version and the added version.
set -euo pipefail
cd "$1/tenon"
minor=$(sed -nE 's/^#define TENON_ABI_CURRENT TENON_MAKE_ABI\(1, ([0-9]+)\)$/\1/p' abi.h)
next=$((minor + 1))
tag=TENON_SINCE_1_$next

sed -i -E "s/^(#define TENON_ABI_CURRENT TENON_MAKE_ABI)\(1, $minor\)$/\1(1, $next)/
  /^#error \"TENON_TARGET_ABI: /,/^#endif/ s/^#endif$/&\n\n#if TENON_TARGET_ABI >= TENON_MAKE_ABI(1, $next)\n\
#define $tag(field) field\n#else\n#define $tag(field) field##_since_1_$next\n#endif/" abi.h
sed -i "s/^} tenon_host;$/\n  tenon_status (*$tag(newest))(void);\n&/" host.h
sed -i "s/^} tenon_dataset;$/\n  tenon_status (*$tag(newest))(void* self);\n&/" dataset.h
sed -i "s/^} tenon_loss;$/\n  double $tag(newest);\n&\nTENON_FREEZE(tenon_loss, $tag(newest), sizeof(tenon_loss));/" loss.h

for header in host.h dataset.h loss.h; do
  if ! grep -qF "$tag(newest)" "$header" || ! grep -qF "define $tag(field) field##" abi.h; then
    printf 'tenon/%s: cannot add a field of version 1.%s at the expected place\n' "$header" "$next" >&2
    exit 1
  fi
done
printf '1.%s 1.%s\n' "$minor" "$next"
