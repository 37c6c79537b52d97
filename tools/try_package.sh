#!/bin/sh
# Tries the Debian packages on a bare Debian: makes one by debootstrap, installs them there with
# apt and follows a newcomer's first steps. Needs root, debootstrap and a mirror.
#
#   tools/try_package.sh [DIRECTORY OF *.deb]      default: build/deb/packages, made if absent
#
# TRY_TREE names a directory that keeps the bare tree for the next time.
set -eu
case $0 in */*) root=${0%/*}/.. ;; *) root=.. ;; esac
root=$(CDPATH='' cd -- "$root" && pwd -P)
packages=${1:-$root/build/deb/packages}
mirror=${TRY_MIRROR:-http://deb.debian.org/debian}

if [ -z "$(find "$packages" -name 'geiger_*.deb' 2>/dev/null)" ]; then
  (cd "$root" && cmake --workflow --preset deb)
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/geiger-try-XXXXXX")
tree=$work/tree
clean_up() {
  for place in proc dev sys; do umount "$tree/$place" 2>/dev/null || true; done
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

kept=${TRY_TREE:-$work/bare}
if [ ! -d "$kept/usr" ]; then
  echo "try_package: making a bare Debian in $kept" >&2
  debootstrap --variant=minbase bookworm "$kept" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail "$work/debootstrap.log" >&2; exit 1; }
fi
cp -a "$kept" "$tree"
for place in proc dev sys; do mount --bind "/$place" "$tree/$place"; done
cp /etc/resolv.conf "$tree/etc/resolv.conf"
mkdir "$tree/packages"
cp "$packages"/*.deb "$root/tests/downstream/api.c" "$tree/packages"

inside() { chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 sh -euc "$1"; }
step() { echo "== $1"; }

step "installed by apt, with nothing but what the packages ask for"
# Nothing is fetched over the network but Debian's own packages; documents are kept.
inside 'export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null
  apt-get install -qy --no-install-recommends /packages/geiger_*.deb /packages/libgeiger0_*.deb \
    /packages/geiger-malloc_*.deb >/dev/null 2>&1
  dpkg -s geiger | grep "^Status: install ok installed"'

step "a first profile"
inside 'cd /root && geiger run -o perl.geiger -- perl -e "my %h; \$h{\$_ % 50000} .= qq(text \$_) for 1..500000; print scalar(keys %h)"'
inside 'cd /root && geiger summary perl.geiger'
inside 'cd /root && geiger table perl.geiger --kind peak --top 3 --json' >"$work/table.json"
grep -q '"report":"table"' "$work/table.json"
inside 'cd /root && geiger report perl.geiger -o page.html && test -s page.html'
inside 'cd /root && geiger doctor perl.geiger >/dev/null && geiger export pprof perl.geiger -o p.pb.gz && test -s p.pb.gz'

step "its own allocator"
inside 'cd /root && geiger run --malloc=geiger -o own.geiger -- perl -e "print 1"
  zcat /usr/share/man/man7/geiger-malloc.7.gz | grep -q "^.TH" && test -s /usr/lib/*/libgeiger-malloc.a'

step "manual and completion"
inside 'for page in geiger.1 geiger-run.1 geiger-table.1 geiger-completion.1; do
    zcat /usr/share/man/man1/$page.gz | grep -q "^.SH EXIT STATUS"; done
  zcat /usr/share/man/man5/geiger.5.gz /usr/share/man/man7/geiger.7.gz | grep -c "^.TH"'
inside 'bash -euc "source /usr/share/bash-completion/completions/geiger
    COMP_WORDS=(geiger table --kind pe); COMP_CWORD=3; _geiger; [ \"\${COMPREPLY[*]}\" = peak ]"'

step "for other projects"
inside 'export DEBIAN_FRONTEND=noninteractive
  apt-get install -qy --no-install-recommends g++ pkg-config libc6-dev /packages/libgeiger-dev_*.deb >/dev/null 2>&1
  cd /packages && g++ -x c api.c -x none $(pkg-config --cflags --libs geiger) -o /root/api \
    && /root/api'

step "gone without a trace"
inside 'apt-get purge -qy geiger libgeiger0 geiger-malloc libgeiger-dev >/dev/null 2>&1
  left=$(find /usr /etc -path "*geiger*" -not -path "/usr/share/doc/*" | head); test -z "$left" || { echo "$left"; exit 1; }'
echo "try_package: all well"
