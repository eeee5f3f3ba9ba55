#!/usr/bin/env bash
# Models with 1, 4 and 16 threads beside ONNX Runtime, each engine alone; at most 9 minutes.
# Packed by pack.sh beside this; run from the root of a checkout with build/jobs/threads.
set -u
begin=$(date +%s)
root=$PWD
here=$root/build/jobs/threads
cd "$here"
for file in *.xz lib/*.xz; do [ -f "${file%.xz}" ] || xz -dk "$file"; done
chmod +x plimsoll
export LD_LIBRARY_PATH=$here/lib PYTHONUNBUFFERED=1
mkdir -p models
tar -xJf "$root/tests/data/models.tar.xz" -C models
names="resnet50 bert_base gpt2 mobilenet_v3_large convnext_tiny vit_b_16 llama_small unet efficientnet_b0 shufflenet_v2_x1_0"
files=$(for name in $names; do find models -name "$name.onnx" | head -1; done)
# shellcheck disable=SC2086
printf '%s\n' $files | xargs -P 8 -n 1 python3 "$root/tests/data/materialize.py" -o weighted > /dev/null
grep -m1 "model name" /proc/cpuinfo; nproc; python3 -c "import onnxruntime; print('ONNX Runtime', onnxruntime.__version__)"
./plimsoll version
left() { echo $((510 - $(date +%s) + begin)); }
echo "prepared; seconds left: $(left)"
# As many rounds of all as there is time for: 16 threads first, then 1, then 4.
for round in 1 2 3 4 5; do
  for threads in 16 1 4; do
    [ "$(left)" -lt 40 ] && break 2
    repeat=10; [ $threads = 1 ] && repeat=3
    timeout "$(left)" python3 "$root/bench/threads.py" ./plimsoll weighted --threads $threads --rounds 1 --repeat $repeat > "$OUT/threads_${threads}_round_$round.txt" 2> "$OUT/errors.txt"
    echo "round $round, $threads threads: $(tail -1 "$OUT/threads_${threads}_round_$round.txt"); seconds left: $(left)"
  done
done
cat "$OUT"/threads_*.txt | python3 "$here/medians.py" | tee "$OUT/medians.md"
for model in bert_base resnet50 vit_b_16 gpt2; do
  for threads in 1 16; do
    echo "=== $model, $threads threads"
    timeout 20 ./plimsoll run weighted/$model.onnx --threads $threads --repeat 5 --by-operator 2>&1 | head -30
  done
done > "$OUT/by_operator.txt"
head -60 "$OUT/by_operator.txt"
