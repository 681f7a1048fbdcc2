#!/usr/bin/env bash
# Trains on two simulated machines. These are network namespaces with a virtual cable between them. Each has a separate
# loopback. They share only the interface that the run file names. Needs root. Exits with 77 if namespaces cannot be
# created. The data need a file, which one process of each machine prepares.
#
#   check_two_machines.sh HOST RUN_FILE FOLDER PLUGINS
set -euo pipefail
host=$1 run_file=$2 folder=$3 plugins=$4
rm -rf "$folder"
mkdir -p "$folder"
left=tenon-left-$$ right=tenon-right-$$
command -v ip >/dev/null || { echo "no ip"; exit 77; }
recorder=
cleanup() {
  [ -z "$recorder" ] || kill "$recorder" 2>/dev/null || true
  ip netns del "$left" 2>/dev/null || true
  ip netns del "$right" 2>/dev/null || true
}
trap cleanup EXIT
ip netns add "$left" 2>/dev/null && ip netns add "$right" || { echo "no network namespaces here"; exit 77; }
ip -n "$left" link add cable type veth peer name cable netns "$right" || { echo "no veth here"; exit 77; }
ip -n "$left" address add 10.77.0.1/24 dev cable
ip -n "$right" address add 10.77.0.2/24 dev cable
for machine in "$left" "$right"; do
  ip -n "$machine" link set lo up
  ip -n "$machine" link set cable up
done

train() { # machine rank extra...
  local machine=$1 rank=$2
  shift 2
  ip netns exec "$machine" env RANK="$rank" WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.77.0.1 \
    MASTER_PORT=29517 OMP_NUM_THREADS=1 "$host" --config "$run_file" --set "run.output_dir=\"$folder/runs\"" \
    --set train.epochs=2 --plugin-dir "$plugins" \
    --set "data.train={use=\"prepared\", params={path=\"$folder/data\"}}" "$@" >"$folder/rank$rank.txt" 2>&1
}

train "$left" 0 --set 'distributed.interface="cable"' &
first=$!

# Rank 0 waits for rank 1, so it listens before rank 1 starts. Both open further ports when they connect.
record_ports() { ip netns exec "$left" ss -Hltn | awk '{print $4}' >>"$folder/ports"; }
: >"$folder/ports"
until [ -s "$folder/ports" ]; do
  kill -0 "$first" 2>/dev/null || { cat "$folder/rank0.txt"; echo "rank 0 ended without listening"; exit 1; }
  record_ports
  sleep 0.1
done
while kill -0 "$first" 2>/dev/null; do
  record_ports
  sleep 0.1
done &
recorder=$!

train "$right" 1 --set 'distributed.interface="cable"' || { cat "$folder"/rank?.txt; exit 1; }
wait "$first" || { cat "$folder"/rank?.txt; exit 1; }
wait "$recorder"
grep -q '^finished after' "$folder/rank0.txt" || { cat "$folder/rank0.txt"; exit 1; }
listening=$(sort -u "$folder/ports")
for address in $listening; do
  case $address in
    10.77.0.1:*) ;;
    *) echo "listens on $address; expected nothing but 10.77.0.1"; exit 1 ;;
  esac
done
if [ "$(wc -l <"$folder/data/calls")" != 2 ]; then
  echo "the data were prepared $(wc -l <"$folder/data/calls") times; expected 2, once on each machine"
  exit 1
fi
echo "trained over 10.77.0.1; listened on:" $listening
