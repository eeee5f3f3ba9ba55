#!/usr/bin/env bash
# Where the time of threads goes on a machine with many cores: what the machine allows (machine_limits), then for each of MODELS where a run
# with 16 threads and one with 4 spends it (region_timeline), and what it takes with 1, 4 and 16 threads, bound to processors and not.
# TIMELINES (16 4) are the numbers of threads whose runs are looked into. At most SECONDS_IN_ALL (300) seconds.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/regions.
set -u
begin=$(date +%s)
end=${SECONDS_IN_ALL:-300}
root=$PWD
cd "$root/build/jobs/regions"
source "$root/bench/other_machine/unpack.sh"
left() { echo $((end - $(date +%s) + begin)); }
models=${MODELS:-bert_base gpt2 vit_b_16 resnet50 fcn_resnet50 lstm_tagger efficientnet_b0 convnext_tiny}
source "$root/bench/other_machine/weighted.sh"
weighted "${models// /|}"
weights=$root/build/weighted
lscpu | grep -E 'Model name|Thread|Core|Socket|L2|L3|NUMA|MHz'
echo "prepared; seconds left: $(left)"
{ ./machine_limits 16; taskset -c 0-3 ./machine_limits 4; } | tee "$OUT/limits.txt"
# milliseconds THREADS MODEL WORDS...: the median of runs
milliseconds() { ./plimsoll run "$weights/$2.onnx" --threads "$1" --repeat 15 --json "${@:3}" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["models"][0]["latency_ms"]["p50"], 2))'; }
for model in $models; do
  [ "$(left)" -lt 20 ] && break
  echo "=== $model; seconds left: $(left)"
  echo "1 thread $(milliseconds 1 "$model"), 4 $(milliseconds 4 "$model"), 16 $(milliseconds 16 "$model"), 16 bound $(milliseconds 16 "$model" --pin-threads)"
  for threads in ${TIMELINES:-16 4}; do timeout 30 ./region_timeline "$weights/$model.onnx" $threads; done
done 2>&1 | tee "$OUT/timelines.txt"
