#!/usr/bin/env bash
# All models that ONNX Runtime can be fed at random, or those that ONLY (a|b) names, with 1, 4 and 16 threads beside it, each engine alone on its
# cores; at most SECONDS_IN_ALL (570) seconds. With 1 and 4 threads LANES (4) models at a time, on four cores of their own each: one lane has the
# machine to itself. THREADS (16 1 4) says which, ROUNDS (5) how often at most (a number named twice is measured twice a round), BY_OPERATOR of
# which models the operators' times are wanted, SPEED_UP of which how much less time all cores take than one (speed_up.py). Packed by pack.sh
# beside this; run from the root of a checkout with build/jobs/threads.
set -u
begin=$(date +%s)
end=${SECONDS_IN_ALL:-570}
root=$PWD
here=$root/build/jobs/threads
cd "$here"
source "$root/bench/other_machine/unpack.sh"
source "$root/bench/other_machine/weighted.sh"
weighted "${ONLY:-.*}"
weights=$root/build/weighted
# The largest models first, in turn into a folder for each lane.
lanes=${LANES:-4}
rm -rf lanes
for ((lane = 0; lane < lanes; ++lane)); do mkdir -p lanes/all lanes/$lane; done
lane=0
for data in $(ls -S "$weights" | grep -E "^(${ONLY:-.*})\.onnx\.data$"); do
  ln -s "$weights/$data" "$weights/${data%.data}" lanes/all/
  ln -s "$weights/$data" "$weights/${data%.data}" lanes/$lane/
  lane=$(((lane + 1) % lanes))
done
grep -m1 "model name" /proc/cpuinfo; nproc; python3 -c "import onnxruntime; print('ONNX Runtime', onnxruntime.__version__)"
./plimsoll version
left() { echo $((end - $(date +%s) + begin)); }
# table CORES FOLDER THREADS REPEAT FILE
table() { timeout "$(left)" taskset -c "$1" python3 "$root/bench/threads.py" ./plimsoll "$2" --threads "$3" --rounds 1 --repeat "$4" > "$5" 2> "$5.errors"; }
echo "prepared; seconds left: $(left)"
mkdir -p tables
number=0
for ((round = 1; round <= ${ROUNDS:-5}; ++round)); do
  for threads in ${THREADS:-16 1 4}; do
    [ "$(left)" -lt 30 ] && break 2
    number=$((number + 1))
    if [ "$threads" = 16 ]; then
      table 0-15 lanes/all 16 10 tables/16_$number.txt
      continue
    fi
    for ((lane = 0; lane < lanes; ++lane)); do table $((4 * lane))-$((4 * lane + 3)) lanes/$lane $threads 5 tables/${threads}_${number}_$lane.txt & done
    wait
  done
  echo "round $round; seconds left: $(left)"
done
cat tables/*.txt | python3 "$here/medians.py" | tee "$OUT/medians.md"
cat tables/*.errors > "$OUT/errors.txt"
[ -z "${SPEED_UP:-}" ] || timeout "$(left)" python3 speed_up.py ./plimsoll "$weights" $SPEED_UP | tee "$OUT/speed_up.md"
for model in ${BY_OPERATOR:-}; do
  for threads in 1 16; do
    echo "=== $model, $threads threads"
    timeout 20 ./plimsoll run "$weights/$model.onnx" --threads $threads --repeat 5 --by-operator 2>&1 | head -30
  done
done > "$OUT/by_operator.txt"
