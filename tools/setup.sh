#!/bin/sh
# Installs the Debian packages that are missing.
#
#   tools/setup.sh build         what compiling geiger needs
#   tools/setup.sh build unit    and what compiling and running unit tests needs
#   tools/setup.sh ... test      and what the first tier of tests needs
#   tools/setup.sh ... slow      and what the slow tests need
#   tools/setup.sh web           what building the report page needs (web/)
#   tools/setup.sh suites        and what the foreign suites need (ctest -C Suites -L suites)
#   tools/setup.sh coverage      and what tools/coverage.py needs
#
# Quiet and fast where nothing is missing; elsewhere than on Debian it says what
# is needed and leaves the rest to the caller.
set -eu

# For its demanglers. Debian 12's, else whichever the distribution has.
llvm=llvm-14-dev
if ! apt-cache show "$llvm" >/dev/null 2>&1; then llvm=llvm-dev; fi

build="g++ cmake ninja-build binutils pkg-config libcli11-dev libfmt-dev libboost-math-dev
  libdw-dev libelf-dev liblzma-dev libbz2-dev libcpp-httplib-dev libncurses-dev libprotozero-dev libre2-dev
  libsimdjson-dev libsqlite3-dev libxxhash-dev libzstd-dev $llvm robin-map-dev zlib1g-dev systemtap-sdt-dev
  liblttng-ust-dev scdoc libzydis-dev libcurl4-openssl-dev"
unit='python3 libgtest-dev libgmock-dev nlohmann-json3-dev'
test='python3-jsonschema python3-protobuf procps util-linux gcc-multilib musl-tools xz-utils dwz libdebuginfod1 protobuf-compiler
  strace valgrind clang git perl golang-go sqlite3 redis-server redis-tools libjemalloc2 libjemalloc-dev
  libtcmalloc-minimal4 libgoogle-perftools-dev libmimalloc2.0 libeatmydata1 faketime tmux mandoc zsh fish
  chromium libbenchmark-dev python3-prometheus-client logrotate qemu-user'
slow='gdb postgresql nginx-light clickhouse-server google-perftools heaptrack bpftrace linux-perf lttng-tools babeltrace2
  debootstrap python3-seccomp golang-github-containers-common python3-gevent python3-numpy python3-pytest'

suites='libpython3.11-testsuite redis-server redis-tools tcl tcl-tls dpkg-dev stress-ng default-jdk-headless
  clang rustc golang-go ruby lua5.4 perl gdb sqlite3 xz-utils git postgresql nginx-light lintian qemu-system-arm'
coverage='gcovr'
web='nodejs npm clang lld libc++-dev-wasm32 libclang-rt-dev-wasm32 libfmt-dev libboost-math-dev'

wanted=
for group in "$@"; do
  case $group in
    build) wanted="$wanted $build" ;;
    unit) wanted="$wanted $unit" ;;
    test) wanted="$wanted $test $web" ;;
    slow) wanted="$wanted $slow" ;;
    suites) wanted="$wanted $suites" ;;
    coverage) wanted="$wanted $coverage" ;;
    web) wanted="$wanted $web" ;;
    *) echo "usage: tools/setup.sh build|unit|test|slow|suites|coverage|web ..." >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "geiger: this is not Debian; make sure that these are installed:" $wanted >&2
  exit 0
fi

installed=$(dpkg-query --show --showformat='${db:Status-Abbrev}${Package}\n' |
  sed -n 's/^ii *//p')
# Node.js often comes from elsewhere, with an npm that Debian's conflicts with.
has_command() {
  case $1 in
    nodejs) command -v node >/dev/null ;;
    npm) command -v npm >/dev/null ;;
    *) false ;;
  esac
}
missing=
for package in $wanted; do
  if has_command "$package"; then continue; fi
  if ! printf '%s\n' "$installed" | grep -qxF -- "$package"; then missing="$missing $package"; fi
done
if [ -z "$missing" ]; then exit 0; fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "geiger: please install as root: apt-get install$missing" >&2
    exit 1
  fi
  as_root=sudo
fi
echo "geiger: installing$missing" >&2
# Waits for other uses of apt, of which a machine that was just started has some.
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@" >&2
}
install() {
  apt install --yes --no-install-recommends $missing
}
# The lists may be old or absent: fetch them only if the first attempt fails.
install || { apt update && install; }
