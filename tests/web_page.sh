#!/bin/sh
# The page of reports: types, arithmetic, two builds with the same bytes in two places, and the page
# itself in Chromium. Works on copies, so that the source tree stays as it is. The network is
# needed once: what npm installed stays in SCRATCH for as long as the lock file is the same.
#
#   tests/web_page.sh SOURCE SCRATCH
set -eu

source=$1
chromium=${GEIGER_CHROMIUM:-/usr/bin/chromium}
if ! command -v npm >/dev/null || [ ! -x "$chromium" ]; then
  echo "web_page: needs npm and $chromium: tools/setup.sh test" >&2
  exit 1
fi
mkdir -p "$2"
scratch=$(CDPATH='' cd -- "$2" && pwd -P)
find "$scratch" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed -exec rm -rf {} +

# copy FOLDER: the sources of the page.
copy() {
  mkdir -p "$1"
  tar -C "$source/web" --exclude=./node_modules --exclude=./dist -cf - . | tar -C "$1" -xf -
}

copy "$scratch"
cd "$scratch"
if ! cmp -s package-lock.json installed; then
  rm -f installed
  cp package-lock.json locked
  # The lock's versions and hashes hold. `npm ci` would want the bundler's packages for every other
  # system in the lock as well.
  if ! timeout 240 npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error \
    --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=2000; then
    echo "web_page: npm could not install what the page is built with: is there a network?" >&2
    exit 1
  fi
  mv locked installed
fi
npm run --silent build  # Checks types first.
copy elsewhere/again
ln -s "$scratch/node_modules" elsewhere/again/node_modules
(cd elsewhere/again && node_modules/.bin/vite build)
diff -r dist elsewhere/again/dist
rm -r elsewhere
GEIGER_CHROMIUM=$chromium GEIGER_VECTORS=$source/tests/vectors/statistics.json npm test
