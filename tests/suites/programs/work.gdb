set pagination off
set confirm off
set debuginfod enabled off
# Addresses on the stack depend on the size of the environment.
set print address off
set print frame-arguments none
break work.c:count if at == 0
run > /dev/null
info breakpoints
backtrace -5
ptype at
info line work.c:insert
