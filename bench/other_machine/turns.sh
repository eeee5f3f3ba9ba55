#!/usr/bin/env bash
# Models that ONNX Runtime can be fed at random, or those that ONLY (a|b) names, beside it by turns of single runs (by_turns.py), nothing else on the
# machine; at most SECONDS_IN_ALL (570) seconds. THREADS (1,4) and ROUNDS (5) as by_turns.py has them. CARRIED=1 takes the models that were packed
# along (pack.sh turns FOLDER), not those of tests/data.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/turns.
set -u
begin=$(date +%s)
root=$PWD
cd "$root/build/jobs/turns" || exit
source "$root/bench/other_machine/unpack.sh"
source "$root/bench/other_machine/weighted.sh"
folder=weighted
[ -z "${CARRIED:-}" ] || folder=carried
weighted "${ONLY:-.*}" ${CARRIED:+models.tar.xz "$folder"}
grep -m1 "model name" /proc/cpuinfo; nproc; python3 -c "import onnxruntime; print('ONNX Runtime', onnxruntime.__version__)"
./plimsoll version
left=$((${SECONDS_IN_ALL:-570} - $(date +%s) + begin - 15))
echo "prepared; seconds left: $left"
python3 by_turns.py ./plimsoll "$root/build/$folder" --only "^(${ONLY:-.*})\$" --threads "${THREADS:-1,4}" --rounds "${ROUNDS:-5}" --seconds "$left" | tee "$OUT/turns_$folder.md"
