#!/usr/bin/env bash
# The tests of kernels, compile and engine on this machine: which fail, with their texts; at most 4 minutes on 16 cores.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/tests.
root=$PWD
here=$root/build/jobs/tests
cd "$here"
source "$root/bench/other_machine/unpack.sh"
mkdir -p models
tar -xJf "$root/tests/data/models.tar.xz" -C models
# What opens a library by its path in the build cannot be passed here.
export GTEST_FILTER=-ApiSession.ADeviceThatCannotRunTheCpusKernelsIsRefused
export PLIMSOLL_MODELS=$here/models GTEST_TOTAL_SHARDS=5
grep -m1 "model name" /proc/cpuinfo; nproc
for program in kernels_test compile_test engine_test; do
  for shard in 0 1 2 3 4; do GTEST_SHARD_INDEX=$shard timeout 240 "./$program" --gtest_brief=1 > "$program.$shard.txt" 2>&1 & done
done
wait
for file in *_test.*.txt; do echo "$file: $(grep -E '^\[  (PASSED|FAILED)' "$file" | tr '\n' ' ')"; done
cat ./*_test.*.txt | grep -v -E '^\[  PASSED|^$' > "$OUT/failures.txt"
head -c 9000 "$OUT/failures.txt"
