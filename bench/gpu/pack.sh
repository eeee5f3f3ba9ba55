#!/usr/bin/env bash
# Packs what bench/gpu/on_card needs on a machine that can fetch nothing into build/jobs/card, from a build without the engine:
# bench/gpu/pack.sh WORKLOADS.py TRACES [BUILD]. TRACES holds *.csv.xz; BUILD (build/lib) is made where it is not there. There, from the
# root of a checkout that has this folder: OUT=FOLDER bench/gpu/on_card smoke|table|times build/jobs/card.
set -euo pipefail
cd "$(dirname "$0")/../.."
workloads=$1 traces=$2 build=${3:-build/lib}
folder=build/jobs/card
programs=(device_test memory_test replay_test plimsoll-replay replay_bench)
[ -e "$build/build.ninja" ] ||
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPLIMSOLL_ENGINE=OFF -DPLIMSOLL_BENCH=ON
ninja -C "$build" "${programs[@]}"
export PYTHONPATH=bindings/python
library=$(python3 -m plimsoll.torch.build --library --folder "$build/torch_library")
rm -rf "$folder"
mkdir -p "$folder"/{programs,traces,prebuilt}
for program in "${programs[@]}"; do
  strip -o "$folder/programs/$program" "$build/$program"
done
cp "$traces"/*.csv.xz "$folder/traces"
cp "$workloads" "$folder/workloads.py"
strip --strip-unneeded -o "$folder/prebuilt/libplimsoll_torch.so" "$library"
# Used there as it is as long as the sources are the same.
python3 -c 'from plimsoll.torch import build; print(build.folder(build.source()).name)' \
  >"$folder/prebuilt/stamp"
du -sh "$folder"
