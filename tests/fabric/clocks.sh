#!/bin/sh
# Starts a program on three machines whose clocks are hours apart: clocks.sh openmpi|mpich PROGRAM
# WALL_CLOCK. Machines are ranks of this host, each in a time namespace with another monotonic clock,
# and with the library WALL_CLOCK, which gives it another wall clock. Needs root and time namespaces;
# ends with code 77 where these are missing.
kind=$1 program=$2 library=$3
[ "$(id -u)" = 0 ] || { echo "skipped: time namespaces need root"; exit 77; }
unshare --time --monotonic 1 --fork true 2>/dev/null ||
  { echo "skipped: no time namespaces here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' TERM INT
# The later a machine is by one clock, the earlier it is by the other.
cat > "$folder/rank" <<END
#!/bin/sh
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
export SYNCOPATE_TEST_WALL_CLOCK=\$((-40000 * rank)) LD_PRELOAD="$library"
exec unshare --time --monotonic \$((36000 * rank)) --fork "$program"
END
chmod +x "$folder/rank"
case $kind in
  openmpi) set -- mpirun.openmpi --oversubscribe ;;
  *) set -- mpirun.mpich ;;
esac
SYNCOPATE_SPLIT=1 SYNCOPATE_TIMEOUT=60 "$@" -n 3 "$folder/rank" > "$folder/said" 2>&1
code=$?
cat "$folder/said"
apart=$(sed -n 's/^rank .: monotonic \([0-9]*\), .*/\1/p' "$folder/said" | sort -n |
        sed -n '1p;$p' | tr '\n' ' ')
[ $((${apart#* } - ${apart%% *})) -gt 60000 ] || { echo "the clocks are not apart"; exit 1; }
[ "$code" = 0 ] && [ "$(grep -c 'is content' "$folder/said")" = 3 ]
