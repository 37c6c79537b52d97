#!/bin/sh
# Runs a program so that after an OOM kill its last minutes can be read: marks on the way up,
# a snapshot every 256 MiB of growth of which the three largest stay, and one when four fifths
# of the cgroup's limit are used.
#
#   recipes/oom.sh PROGRAM [ARGUMENTS...]
#   geiger table --kind live geiger-PROGRAM.PID     what was alive when it was killed
exec geiger run --snapshot-on 'rss+=256MiB' --snapshot-on 'cgroup>80%' --keep 3 \
  --mark-on 'psi>10%' --budget 1% -- "$@"
