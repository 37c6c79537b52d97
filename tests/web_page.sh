#!/bin/sh
# The page of reports: types, arithmetic, two builds with the same bytes, and the page itself in
# Chromium. Works on a copy, so that the source tree stays as it is.
#
#   tests/web_page.sh SOURCE SCRATCH
set -eu

source=$1
scratch=$2
mkdir -p "$scratch"
find "$scratch" -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
tar -C "$source/web" --exclude=./node_modules --exclude=./dist -cf - . | tar -C "$scratch" -xf -
cd "$scratch"
# The lock's versions and hashes hold. `npm ci` would want the bundler's packages for every other
# system in the lock as well.
npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
npm run --silent typecheck
npm run --silent build
cp -r dist first
npm run --silent build
diff -r first dist
GEIGER_VECTORS=$source/tests/vectors/statistics.json npm test
