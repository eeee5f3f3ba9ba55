#!/usr/bin/env bash
# Builds the sanitizer presets on this machine, with the libraries that came along, and passes all tests of all rooms in shards:
# build/jobs/sanitizers/run.sh [asan] [tsan]; both take about 9 minutes on 16 cores. Findings and failed tests, with their texts, are in $OUT.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/sanitizers.
set -u
begin=$(date +%s)
end=${SECONDS_IN_ALL:-570}
root=$PWD
here=$root/build/jobs/sanitizers
left() { echo $((end - $(date +%s) + begin)); }
mkdir -p "$here/root" "$root/build/models"
[ -d "$here/root/usr" ] || tar -xJf "$here/root.tar.xz" -C "$here/root"
tar -xJf "$root/tests/data/models.tar.xz" -C "$root/build/models"
usr=$here/root/usr
export CPATH=$usr/include LIBRARY_PATH=$usr/lib/x86_64-linux-gnu LD_LIBRARY_PATH=$usr/lib/x86_64-linux-gnu
export PLIMSOLL_MODELS=$root/build/models TSAN_OPTIONS=halt_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
presets=("${@:-asan}")
build() {
  cmake --preset "$1" -DCMAKE_PREFIX_PATH="$usr" -DCMAKE_CXX_FLAGS_DEBUG=-g1 -DPLIMSOLL_WERROR=OFF > "$OUT/$1_build.txt" 2>&1 &&
    timeout "$(left)" cmake --build --preset "$1" -j $((16 / ${#presets[@]} + 1)) >> "$OUT/$1_build.txt" 2>&1 ||
    { echo "$1 does not build"; grep -E 'error|FAILED' -A3 "$OUT/$1_build.txt" | head -30; }
}
for preset in "${presets[@]}"; do build "$preset" & done
wait
echo "built; seconds left: $(left)"
# One line per job: preset, program, shard, of how many.
for preset in "${presets[@]}"; do
  for program in build/"$preset"/*_test; do
    case $(basename "$program") in engine_test) shards=12 ;; memory_test | compile_test | kernels_test | plan_test) shards=4 ;; *) shards=1 ;; esac
    for ((shard = 0; shard < shards; ++shard)); do echo "$preset $(basename "$program") $shard $shards"; done
  done
done > "$here/shards.txt"
one() {
  log=$OUT/logs/$1_$2_$3.txt
  GTEST_SHARD_INDEX=$3 GTEST_TOTAL_SHARDS=$4 timeout "$(left)" "build/$1/$2" --gtest_brief=1 > "$log" 2>&1
  echo "$1 $2 shard $3 of $4: exit $?, $(grep -E '^\[  (PASSED|FAILED)' "$log" | tr '\n' ' ')$(grep -c 'WARNING: ThreadSanitizer\|ERROR: AddressSanitizer\|runtime error' "$log") findings"
}
export -f one left
export begin end OUT
mkdir -p "$OUT/logs"
xargs -P 14 -L 1 bash -c 'one "$@"' one < "$here/shards.txt" | tee "$OUT/shards.txt"
echo "=== failures and findings"
grep -h -E 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error|Failure$|^\[  FAILED' -A12 "$OUT"/logs/*.txt | head -400 > "$OUT/findings.txt"
head -80 "$OUT/findings.txt"
rm -rf "$OUT/logs"
echo "seconds left: $(left)"
