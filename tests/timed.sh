#!/bin/sh
# timed.sh NAME COMMAND...: a test, and the processor time of it and of the children that it waited
# for, in the file $GEIGER_TIMES/NAME.
file=$GEIGER_TIMES/$1
shift
unset GEIGER_TIMES
status=0
"$@" || status=$?
times >"$file"
exit "$status"
