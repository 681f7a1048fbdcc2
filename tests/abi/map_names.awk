# Replaces names in a file of abidw: awk -v back=1 -f map_names.awk renamed_1_0.txt WITNESS.abi
#
# back=1 replaces the names of today by the first names, back=0 the first names by those of today. Prints the file.
BEGIN { FS = " \\| " }
FNR == NR {
  if ($0 ~ /^#/ || NF != 3) next
  if ($1 == "*") types[back ? $3 : $2] = back ? $2 : $3
  else fields[$1, back ? $3 : $2] = back ? $2 : $3
  if ($1 == "*") today[$2] = $3
  next
}
{
  # A struct's fields follow its class-decl.
  if (match($0, /<class-decl name='[^']*'/)) {
    struct = substr($0, RSTART + 18, RLENGTH - 19)
    if (struct in today) struct = today[struct]
  }
  if (/<\/class-decl>/) struct = ""
  if (match($0, /<var-decl name='[^']*'/)) {
    field = substr($0, RSTART + 16, RLENGTH - 17)
    if ((struct, field) in fields) $0 = substr($0, 1, RSTART + 15) fields[struct, field] substr($0, RSTART + RLENGTH - 1)
  }
  # A whole word, also within the witness_ functions.
  for (type in types) {
    rest = $0
    $0 = ""
    while (match(rest, type)) {
      after = substr(rest, RSTART + RLENGTH, 1)
      $0 = $0 substr(rest, 1, RSTART - 1) (after ~ /[A-Za-z0-9_]/ ? type : types[type])
      rest = substr(rest, RSTART + RLENGTH)
    }
    $0 = $0 rest
  }
  print
}
