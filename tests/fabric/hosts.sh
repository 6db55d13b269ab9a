#!/bin/sh
# Runs a command on three hosts that are network namespaces on one bridge: hosts.sh
# openmpi|mpich|tcp RANKS COMMAND…, with so many ranks on each. DELAY (microseconds) and RATE (Mbit/s) are those of each
# host's link, either way; from host to host there are two. The link of host CUT, if set, goes down
# when the command has made the file SYNCOPATE_TEST_CUE, and up again after CUT_FOR seconds, if set, when
# the file SYNCOPATE_TEST_HEALED is made. TOOLS is where slow_link, round_trip and
# late_disconnect are, beside the command if not set. Says how many rings of agents' bells came to each
# host. Needs root and iproute2; ends with code 77 where these are missing.
kind=$1 ranks=$2
shift 2
: "${DELAY:=500}" "${RATE:=1000}" "${TOOLS:=$(dirname "$(realpath "$1")")}"
name=syn$$
folder=$(mktemp -d)

end() {
  kill $cutter 2>/dev/null
  kill -KILL $relays 2>/dev/null
  wait $relays 2>/dev/null
  for host in hub one two three; do ip netns del "$name-$host" 2>/dev/null; done
  rm -rf "$folder"
}
skip() {
  echo "skipped: $1"
  exit 77
}
trap end EXIT
trap 'exit 1' TERM INT

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip > /dev/null && command -v tc > /dev/null || skip "no ip or tc (iproute2)"
ip netns add "$name-hub" 2>/dev/null || skip "no network namespaces here"
ip -n "$name-hub" link add bridge type bridge 2>/dev/null || skip "no bridges here"
ip -n "$name-hub" addr add 10.77.0.1/24 dev bridge
ip -n "$name-hub" link set bridge up
ip -n "$name-hub" link set lo up

# Who makes the links slow: the kernel, if it can, else a program.
if tc -n "$name-hub" qdisc add dev bridge root netem delay "${DELAY}us" 2>/dev/null; then
  tc -n "$name-hub" qdisc del dev bridge root
  slow=kernel
elif ip -n "$name-hub" tuntap add dev trial mode tap 2>/dev/null && [ -x "$TOOLS/slow_link" ]; then
  slow=program
else
  slow=none
  echo "LINKS WITHOUT DELAY: no netem in this kernel, and no /dev/net/tun or no $TOOLS/slow_link"
fi
limit() {  # NAMESPACE DEVICE
  case $slow in
    kernel) tc -n "$1" qdisc add dev "$2" root netem delay "${DELAY}us" rate "${RATE}mbit" ;;
    none) tc -n "$1" qdisc add dev "$2" root tbf rate "${RATE}mbit" burst 256kb latency 50ms \
              2>/dev/null || echo "links without limit: this kernel has no tbf" ;;
  esac
}
add_link() {  # HOST
  if [ $slow = program ]; then
    "$TOOLS/slow_link" "$name-hub" "to-$1" "$name-$1" wire "$DELAY" "$RATE" &
    relays="$relays $!"
    until ip -n "$name-$1" link show wire > /dev/null 2>&1; do
      kill -0 $! 2>/dev/null || exit 1
      sleep 0.01
    done
  else
    ip -n "$name-hub" link add "to-$1" type veth peer name wire netns "$name-$1" ||
      skip "no veth links here"
    limit "$name-hub" "to-$1"
    limit "$name-$1" wire
  fi
}

printf '127.0.0.1 localhost\n10.77.0.1 hub\n' > "$folder/hosts"
number=1
for host in one two three; do
  number=$((number + 1))
  ip netns add "$name-$host"
  add_link $host
  ip -n "$name-hub" link set "to-$host" master bridge up
  ip -n "$name-$host" addr add 10.77.0.$number/24 dev wire
  ip -n "$name-$host" link set wire up
  ip -n "$name-$host" link set lo up
  echo "10.77.0.$number $host" >> "$folder/hosts"
done
if [ $slow != none ]; then
  for number in 3 4; do
    trip=$(ip netns exec "$name-one" "$TOOLS/round_trip" 10.77.0.$number)
    echo "round trip from host one to 10.77.0.$number: ${trip:-no} us, slowed down by the $slow"
    [ "${trip:-0}" -ge $((4 * DELAY)) ] || { echo "which is not the links' delay"; exit 1; }
  done
fi

# What an MPI takes for ssh: on HOST COMMAND…
cat > "$folder/on" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec ip netns exec "$name-\$host" unshare --uts --ipc --mount sh -c \
  "hostname \$host && mount --bind '$folder/hosts' /etc/hosts && cd '$PWD' && \$*"
END
chmod +x "$folder/on"

# An MPI keeps files by the host's name there, and other runs have hosts of these names.
export TMPDIR="$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $kind in
  openmpi)
    # mpirun is to notice within six seconds that it cannot reach a host (docs/troubleshooting.md).
    export OMPI_MCA_oob_tcp_keepalive_time=1 OMPI_MCA_oob_tcp_keepalive_intvl=1
    export OMPI_MCA_oob_tcp_keepalive_probes=5
    pass=$(env | sed -n 's/^\(SYNCOPATE_[A-Z_]*\)=.*/-x \1/p')
    set -- mpirun.openmpi --mca plm_rsh_agent "$folder/on" --mca plm_rsh_no_tree_spawn 1 \
      --mca btl tcp,self --mca pml ob1 --mca btl_tcp_if_include 10.77.0.0/24 \
      --mca oob_tcp_if_include 10.77.0.0/24 --oversubscribe \
      --host "one:$ranks,two:$ranks,three:$ranks" -n $((3 * ranks)) $pass "$@"
    ;;
  tcp)
    # One torchrun for each host.
    cat > "$folder/all" <<END
#!/bin/sh
number=0 code=0
for host in one two three; do
  "$folder/on" \$host HOSTS=3 HOST=\$number MASTER_ADDR=one MASTER_PORT=29400 \
    TORCHELASTIC_RUN_ID=$name "$(realpath "$(dirname "$0")")/as_torchrun.sh" -n $ranks "\$@" &
  started="\$started \$!"
  number=\$((number + 1))
done
for one in \$started; do wait \$one || code=1; done
exit \$code
END
    chmod +x "$folder/all"
    set -- "$folder/all" "$@"
    ;;
  *)
    export UCX_TLS=tcp,self UCX_NET_DEVICES=wire
    set -- mpirun.mpich -launcher ssh -launcher-exec "$folder/on" \
      -genv LD_PRELOAD "$TOOLS/late_disconnect.so" \
      -hosts one,two,three -ppn "$ranks" -n $((3 * ranks)) "$@"
    ;;
esac
if [ -n "$CUT" ]; then
  (until [ -e "$SYNCOPATE_TEST_CUE" ]; do sleep 0.1; done
   ip -n "$name-hub" link set "to-$CUT" down
   [ -n "$CUT_FOR" ] || exit
   sleep "$CUT_FOR"
   ip -n "$name-hub" link set "to-$CUT" up
   : > "$SYNCOPATE_TEST_HEALED") &
  cutter=$!
fi
# Not exec: what was made here is to be undone.
ip netns exec "$name-hub" unshare --uts --ipc --mount sh -c \
  "hostname hub && mount --bind '$folder/hosts' /etc/hosts && exec \"\$@\"" hub "$@"
code=$?
# Only bells send datagrams here.
for host in one two three; do
  rings=$(ip netns exec "$name-$host" sed -n 's/^Udp: \([0-9]*\) .*/\1/p' /proc/net/snmp)
  echo "rings that host $host heard: $rings"
done
echo "bytes that host one sent: $(ip netns exec "$name-one" cat /sys/class/net/wire/statistics/tx_bytes)"
exit $code
