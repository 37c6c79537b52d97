#!/bin/sh
# Builds the templates of report pages from web/ with npm, and their arithmetic with clang.
#
#   tools/build_web.sh SCRATCH OUTPUT
#
# SCRATCH keeps a copy of the sources and what npm installs, so that the source tree stays as it
# is and builds side by side do not meet. OUTPUT gets report.html, live.html and the licences of
# what they bundle, REPORT-LICENSES.txt, all three or none. The same sources give the same bytes.
set -eu

if [ $# -ne 2 ]; then
  echo "usage: tools/build_web.sh SCRATCH OUTPUT" >&2
  exit 2
fi
sources=$(CDPATH='' cd -- "$(dirname -- "$0")/../web" && pwd -P)
if ! command -v npm >/dev/null; then
  echo "geiger: report pages need npm to be built: tools/setup.sh web" >&2
  exit 1
fi

mkdir -p "$1" "$2"
scratch=$(CDPATH='' cd -- "$1" && pwd -P)
output=$(CDPATH='' cd -- "$2" && pwd -P)
find "$scratch" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed -exec rm -rf {} +
tar -C "$sources" --exclude=./node_modules --exclude=./dist -cf - . | tar -C "$scratch" -xf -

"$sources/../tools/build_arithmetic.sh" "$scratch/src/numbers/compiled.ts"

cd "$scratch"
if ! cmp -s package-lock.json installed; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json installed
fi
npm run --silent build
for file in report.html live.html LICENSES.txt; do
  if [ ! -s "dist/$file" ]; then
    echo "geiger: web/ made no $file" >&2
    exit 1
  fi
done
cp dist/LICENSES.txt "$output/REPORT-LICENSES.txt"
cp dist/live.html "$output/live.html"
cp dist/report.html "$output/report.html" # Last: a reader that finds it finds all files.
