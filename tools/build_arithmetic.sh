#!/bin/sh
# Compiles the arithmetic of report pages, src/analysis/arithmetic, to WebAssembly.
#
#   tools/build_arithmetic.sh OUTPUT
#
# OUTPUT is a file of TypeScript: the code, compressed and in base64, and the columns of a row of sums. It
# needs clang with the C and C++ libraries for WebAssembly: tools/setup.sh web. GEIGER_WASM_CXX names
# another compiler. The same sources and compiler give the same bytes.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: tools/build_arithmetic.sh OUTPUT" >&2
  exit 2
fi
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compile() {
  "${GEIGER_WASM_CXX:-clang++}" --target=wasm32-wasi -std=c++20 -fno-exceptions -fno-rtti -mexec-model=reactor \
    -nostartfiles -Wl,--no-entry "$@"
}

echo '#include <string>' >"$scratch/try.cc"
if ! compile "$scratch/try.cc" -o "$scratch/try.wasm" 2>"$scratch/errors"; then
  cat "$scratch/errors" >&2
  echo "geiger: report pages need clang and C++'s library for WebAssembly to be built: tools/setup.sh web" >&2
  exit 1
fi

# In one go, which takes a quarter of the time. The terminal's figures: without fused multiply-add, and
# with the settings of Boost in src/estimation/CMakeLists.txt. There are no threads, and no locales.
for source in estimation/sums estimation/estimate estimation/calibration estimation/distributions/gamma \
  analysis/present/format analysis/present/whole_sums \
  analysis/arithmetic/arithmetic; do
  echo "#include \"$source.cc\""
done >"$scratch/all.cc"
compile -Oz -DNDEBUG -ffp-contract=off -ffunction-sections -fdata-sections -I"$root/src" \
  -DBOOST_MATH_SPECIAL_FUNCTIONS_LANCZOS_SSE2 -DBOOST_MATH_PROMOTE_DOUBLE_POLICY=false \
  -DBOOST_NO_EXCEPTIONS -DBOOST_MATH_NO_EXCEPTIONS -DBOOST_DISABLE_THREADS \
  -DBOOST_SMART_PTR_DETAIL_LIGHTWEIGHT_MUTEX_HPP_INCLUDED \
  -DFMT_HEADER_ONLY -DFMT_EXCEPTIONS=0 "-DFMT_STATIC_THOUSANDS_SEPARATOR=','" \
  -DFMT_USE_FLOAT=0 -DFMT_USE_LONG_DOUBLE=0 -DFMT_USE_INT128=0 \
  -Wl,--gc-sections,--strip-all "$scratch/all.cc" -o "$scratch/all.wasm"

# The code itself says what the columns are.
gzip -9n <"$scratch/all.wasm" | base64 -w0 >"$scratch/base64"
node - "$scratch/all.wasm" "$scratch/base64" >"$scratch/compiled.ts" <<'SCRIPT'
const { readFileSync } = require("fs");
const [, , wasm, base64] = process.argv;
const module = new WebAssembly.Module(readFileSync(wasm));
const imports = WebAssembly.Module.imports(module).map(({ name }) => [name, () => 0]);
const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: Object.fromEntries(imports) });
exports.columns();
const [length] = new Float64Array(exports.memory.buffer, exports.numbers_area(), 1);
const names = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.text_area(), length));
console.log(`// Made by tools/build_arithmetic.sh.

/** WebAssembly, compressed by gzip, in base64. */
export const COMPILED =
  "${readFileSync(base64, "utf8")}";

// Columns of a row of sums: NodeSums of src/estimation/sums.h says what they are.
${[...names.trim().split(" "), "Width"].map((name, i) => `export const ${name} = ${i};`).join("\n")}`);
SCRIPT
cp "$scratch/compiled.ts" "$1"
