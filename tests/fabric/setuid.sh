#!/bin/sh
# A program with rights that its user has not loads no plug-in that the user names: setuid.sh PROGRAM HOSTILE. Root
# makes copies of the program, one with the setuid bit, and another user runs both with SYNCOPATE_PLUGINS at the HOSTILE
# plug-in. The one without the bit has to load it, or else the test shows nothing.
# Needs root, to be another user; ends with code 77 where that, or the bit, is missing.
program=$1 hostile=$2
[ "$(id -u)" = 0 ] || { echo "skipped: only root can be another user"; exit 77; }
command -v setpriv > /dev/null || { echo "skipped: no setpriv (util-linux)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' TERM INT
chmod 755 "$folder"
mkdir "$folder/plugins" || exit 1
cp "$hostile" "$folder/plugins/syncopate_openmpi.so" || exit 1
cp "$program" "$folder/plain" && cp "$program" "$folder/setuid" || exit 1
chmod 755 "$folder/plain" "$folder/plugins" "$folder/plugins/syncopate_openmpi.so"
chmod 4755 "$folder/setuid"
# As one of two that Open MPI's mpirun has started.
as_other() {
  setpriv --reuid=65534 --regid=65534 --clear-groups env SYNCOPATE_PLUGINS="$folder/plugins" \
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$1" 2>&1
}
case $(as_other "$folder/plain") in
  *stranger*) ;;
  *) echo "skipped: another user cannot run the program here"; exit 77 ;;
esac
said=$(as_other "$folder/setuid")
echo "$said"
case $said in
  *stranger*) exit 1 ;;
  *"is not in any of"*) exit 0 ;;  # It looked for the plug-in, and not where the user said.
esac
echo "skipped: the setuid bit has no effect here"
exit 77
