#!/bin/sh
# Another user's code does not run as this one: other_user.sh openmpi|mpich PROGRAM HOSTILE. In a folder
# that all users can write to, as /tmp, another one has left a file of the program's name and the
# HOSTILE plug-in under the name of ours. The program is found through PATH, as most people call it.
# Needs root, to be another user; ends with code 77 where that is missing.
kind=$1 program=$2 hostile=$3
[ "$(id -u)" = 0 ] || { echo "skipped: only root can be another user"; exit 77; }
command -v setpriv > /dev/null || { echo "skipped: no setpriv (util-linux)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' TERM INT
chmod 1777 "$folder"
name=$(basename "$program")
# Root passes the plug-in in: the stranger need not be allowed to read where it was built.
setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \
  "cd '$folder' && : > '$name' && chmod +x '$name' && cat > syncopate_$kind.so" < "$hostile" ||
  { echo "skipped: no other user here"; exit 77; }
cd "$folder" || exit 1
case $kind in
  openmpi) set -- mpirun.openmpi --oversubscribe ;;
  *) set -- mpirun.mpich ;;
esac
said=$(PATH=$(dirname "$program"):$PATH "$@" -n 2 "$name" 2>&1)
code=$?
echo "$said"
case $said in
  *stranger*) exit 1 ;;
esac
[ "$code" = 0 ]
