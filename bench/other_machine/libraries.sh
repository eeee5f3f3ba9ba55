#!/usr/bin/env bash
# Kernels of oneDNN 2.6.3 and 3.2, XNNPACK and this engine on this machine; at most 3 minutes.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/libraries.
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
for file in *.xz lib/*.xz; do [ -f "${file%.xz}" ] || xz -dk "$file"; done
chmod +x onednn2 onednn3 xnnpack ours
export LD_LIBRARY_PATH=$here/lib PYTHONUNBUFFERED=1
grep -m1 "model name" /proc/cpuinfo; nproc
timeout 170 python3 libraries.py --programs "$here" --threads 1,4,16 --rounds 15 --turns 2 2>&1 | tee "${OUT:-.}/libraries.md"
