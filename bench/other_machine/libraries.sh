#!/usr/bin/env bash
# Kernels of oneDNN 2.6.3 and 3.2, XNNPACK and this engine on this machine; at most 3 minutes.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/libraries.
root=$PWD
here=$root/build/jobs/libraries
cd "$here"
source "$root/bench/other_machine/unpack.sh"
grep -m1 "model name" /proc/cpuinfo; nproc
timeout 170 python3 libraries.py --programs "$here" --threads 1,4,16 --rounds 15 --turns 2 2>&1 | tee "${OUT:-.}/libraries.md"
