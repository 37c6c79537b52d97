#!/bin/sh
# The page of reports, in copies, so that the source tree stays as it is. Steps, each of which needs `build`:
#
#   tests/web_page.sh SOURCE SCRATCH build       types, and the page in SCRATCH/dist
#   tests/web_page.sh SOURCE SCRATCH test        arithmetic, and the page in Chromium
#   tests/web_page.sh SOURCE SCRATCH stretches   its longest tasks, with 200,000 nodes
#   tests/web_page.sh SOURCE SCRATCH again       a build in another place has the same bytes
#
# The network is needed once: what npm installed stays in SCRATCH for as long as the lock file is the same.
set -eu

source=$1
chromium=${GEIGER_CHROMIUM:-/usr/bin/chromium}
if ! command -v npm >/dev/null || [ ! -x "$chromium" ]; then
  echo "web_page: needs npm and $chromium: tools/setup.sh test" >&2
  exit 1
fi
mkdir -p "$2"
scratch=$(CDPATH='' cd -- "$2" && pwd -P)
cd "$scratch"
export GEIGER_CHROMIUM="$chromium" GEIGER_VECTORS="$source/tests/vectors/statistics.json"

# copy FOLDER: the sources of the page, with its arithmetic.
copy() {
  mkdir -p "$1"
  tar -C "$source/web" --exclude=./node_modules --exclude=./dist -cf - . | tar -C "$1" -xf -
  "$source/tools/build_arithmetic.sh" "$1/src/numbers/compiled.ts"
}

build() {
  find "$scratch" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed -exec rm -rf {} +
  copy "$scratch"
  if ! cmp -s package-lock.json installed; then
    rm -f installed
    if ! timeout 240 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error \
      --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=2000; then
      echo "web_page: npm could not install what the page is built with: is there a network?" >&2
      exit 1
    fi
    cp package-lock.json installed
  fi
  npm run --silent build  # Checks types first.
}

again() {
  elsewhere=$scratch-elsewhere/again  # Not inside, where the other tests would be found twice.
  rm -rf "$elsewhere"
  copy "$elsewhere"
  ln -s "$scratch/node_modules" "$elsewhere/node_modules"
  (cd "$elsewhere" && node_modules/.bin/vite build)
  diff -r dist "$elsewhere/dist"
  rm -r "$elsewhere"
}

case $3 in
  build) build ;;
  test) npm test -- --exclude tests/stretches.test.ts ;;
  stretches) npm test -- tests/stretches.test.ts ;;
  again) again ;;
esac
