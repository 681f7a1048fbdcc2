# Sourced by the scripts: with --help or -h as first argument, prints the comment at the beginning of the script and exits.
case ${1:-} in
-h | --help)
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[1]}"
  exit
  ;;
esac
