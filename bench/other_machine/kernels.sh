#!/usr/bin/env bash
# The tests of kernels on this machine: which fail, with their texts; at most 3 minutes.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/kernels.
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
for file in *.xz lib/*.xz; do [ -f "${file%.xz}" ] || xz -dk "$file"; done
chmod +x kernels_test
export LD_LIBRARY_PATH=$here/lib
grep -m1 "model name" /proc/cpuinfo; nproc
echo "=== WorkspaceOf as it is"
timeout 40 ./kernels_test --gtest_filter='*WorkspaceOf*' --gtest_brief=1 2>&1 | head -150
echo "=== FusedConv with oneDNN held to AVX2"
ONEDNN_MAX_CPU_ISA=AVX2 timeout 20 ./kernels_test --gtest_filter='*WorkspaceOf*FusedConv' --gtest_brief=1 2>&1 | head -40
for cores in 0 0,1 0-4; do
  echo "=== FusedConv on cores $cores"
  timeout 20 taskset -c $cores ./kernels_test --gtest_filter='*WorkspaceOf*FusedConv' --gtest_brief=1 2>&1 | head -30
done
echo "=== all tests"
timeout 90 ./kernels_test --gtest_brief=1 2>&1 | tail -150
