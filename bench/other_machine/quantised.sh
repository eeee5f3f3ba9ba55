#!/usr/bin/env bash
# Products of bytes by tiles (AMX) on this machine: their tests, int8 models beside ONNX Runtime with tiles and without (results, times with 1, 4 and
# 16 threads), and what each operator takes; at most SECONDS_IN_ALL (150) seconds. MODELS (resnet50 mobilenet_v2) are quantised here.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/quantised.
set -u
begin=$(date +%s)
end=${SECONDS_IN_ALL:-150}
root=$PWD
here=$root/build/jobs/quantised
OUT=$(realpath "${OUT:?}")
cd "$here" || exit
left() { echo $((end - $(date +%s) + begin)); }
source "$root/bench/other_machine/unpack.sh"
models=${MODELS:-resnet50 mobilenet_v2}
mkdir -p models weighted quantised
tar -xJf "$root/tests/data/models.tar.xz" -C models
for model in $models; do
  [ "$model" = mobilenet_v2 ] && file=mobilenet_v2_dynamic || file=$model
  { [ -f "quantised/${model}_qlinear.onnx" ] || { python3 "$root/tests/data/materialize.py" "models/$file.onnx" -o weighted > /dev/null &&
    timeout "$(left)" python3 "$root/bench/quantised.py" weighted quantised "$model"; }; } > "$OUT/prepare_$model.txt" 2>&1 &
done
{
  grep -m1 "model name" /proc/cpuinfo; nproc; ./plimsoll doctor 2>&1 | head -8
  python3 -c "import onnxruntime; print('ONNX Runtime', onnxruntime.__version__)"
} > "$OUT/machine.txt"
# With what the processor has, and with tiles emulated.
for shard in 0 1 2 3; do
  for tiles in all emulated; do
    PLIMSOLL_BYTE_TILES=$tiles GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=$shard timeout 60 ./kernels_test --gtest_brief=1 > "$OUT/tests_${tiles}_$shard.txt" 2>&1 &
  done
done
wait
for file in "$OUT"/tests_*.txt; do echo "$(basename "$file"): $(grep -E '^\[  (PASSED|FAILED|SKIPPED)' "$file" | tr '\n' ' ')"; done
echo "prepared and tested; seconds left: $(left)"
# shellcheck disable=SC2086
timeout "$(left)" python3 "$here/quantised_figures.py" ./plimsoll quantised $models --seconds "$(($(left) - 20))" 2>&1 | tee "$OUT/figures.md"
for model in $models; do
  for threads in 1 16; do
    for tiles in all none; do
      [ "$(left)" -lt 3 ] && break 3
      echo "=== $model, $threads threads, tiles: $tiles"
      [ "$model" = mobilenet_v2 ] && shape="--shape batch=1" || shape=""
      # shellcheck disable=SC2086
      PLIMSOLL_BYTE_TILES=$tiles timeout 10 ./plimsoll run "quantised/${model}_qdq.onnx" $shape --threads $threads --repeat 20 --by-operator 2>&1 | head -100
    done
  done
done > "$OUT/by_operator.txt"
echo "done; seconds left: $(left)"
