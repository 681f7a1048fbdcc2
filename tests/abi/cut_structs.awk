# Cuts those structs in the second abidw file that begin with `size` to the number of bytes that they have in the first
# file: awk -f cut_structs.awk KEPT.abi TODAY.abi
function attribute(name) {
  return match($0, " " name "='[^']*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : ""
}

/<class-decl / { struct = attribute("name"); bits = attribute("size-in-bits") + 0 }
/<data-member / { offset = attribute("layout-offset-in-bits") + 0 }

FNR == NR {
  if (/<var-decl / && offset == 0 && attribute("name") == "size") kept[struct] = bits
  next
}

/<class-decl / {
  limit = struct in kept && bits > kept[struct] ? kept[struct] : 0
  if (limit) sub("size-in-bits='" bits "'", "size-in-bits='" limit "'")
}
/<\/class-decl>/ { limit = 0 }
/<data-member / && limit && offset >= limit { skipped = 1 }
!skipped { print }
/<\/data-member>/ { skipped = 0 }
