#!/bin/sh
# Takes the pictures of report pages in docs/images: records docs/images/leaky.cc, and redis-server
# twice, under values of two sizes; writes the pages of leaky and of redis-server and the comparison
# of its runs, and opens them in Chromium.
#
#   tools/screenshots.sh BUILD
#
# BUILD is a build tree with the target `web`. Needs g++, npm, chromium, redis-server and redis-tools.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: tools/screenshots.sh BUILD" >&2
  exit 2
fi
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
geiger=$(CDPATH='' cd -- "$1" && pwd -P)/bin/geiger
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# record NAME BYTES: a run of redis-server that is sent values of so many bytes.
record() {
  (
    # In its folder, so that the page tells no path of this machine.
    cd "$scratch"
    "$geiger" run -q -o "$1.geiger" --interval 64KiB -- \
      redis-server --port 0 --unixsocket redis.sock --save "" >"$1.log" 2>&1 &
    tries=0
    until redis-cli -s redis.sock ping >"$1.ping" 2>&1; do
      tries=$((tries + 1))
      if [ $tries -gt 100 ]; then
        echo "geiger: redis-server does not answer:" >&2
        cat "$1.log" >&2
        exit 1
      fi
      sleep 0.1
    done
    redis-benchmark -s redis.sock -n 60000 -q -t set,lpush,hset,sadd -d "$2" -r 50000 \
      >"$1.benchmark"
    redis-cli -s redis.sock shutdown nosave
    wait
  )
}

record before 300
record after 600
cd "$scratch"
cp "$root/docs/images/leaky.cc" .
g++ -g -O1 -std=c++20 leaky.cc -o leaky
"$geiger" run -q -o leaky.geiger --interval 64KiB -- ./leaky 10
"$geiger" report --source -o leaky.html leaky.geiger
"$geiger" report -o report.html before.geiger
"$geiger" report -o diff.html after.geiger --diff before.geiger

mkdir web
tar -C "$root/web" --exclude=./node_modules --exclude=./dist -cf - . | tar -C web -xf -
cd web
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
npm run --silent screenshots -- "$root/docs/images" ../leaky.html ../report.html ../diff.html
