#!/usr/bin/env bash
# 8 sessions of 4 threads on 2 cores for a minute each, four models at once on cores of their own; about 150 seconds.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/threads and build/jobs/crowd.
root=$PWD
here=$root/build/jobs/threads
cd "$here"
source "$root/bench/other_machine/unpack.sh"
source "$root/bench/other_machine/weighted.sh"
models="mobilenet_v3_large resnet50 shufflenet_v2_x1_0 bert_base"
weighted "${models// /|}"
core=0
for model in $models; do
  # One of them is stopped and continued all the while.
  stops=""; [ $model = shufflenet_v2_x1_0 ] && stops="--stops 7"
  taskset -c $core,$((core + 1)) timeout 200 python3 "$root/bench/crowd.py" ./plimsoll "$root/build/weighted/$model.onnx" --seconds 60 $stops > "$OUT/crowd_$model.txt" 2>&1 &
  core=$((core + 4))
done
wait
cat "$OUT"/crowd_*.txt
