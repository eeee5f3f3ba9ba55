#!/bin/bash
# The cuda device on a real card: the conformance suite, growth, and replays of traces with contents
# checked, plain and under compute-sanitizer.
#
#   bench/cuda_device.sh PROGRAMS TRACES
#
# PROGRAMS holds device_test, memory_test, plimsoll-replay and replay_bench (a build folder; programs
# built on another machine do, the driver is opened at run time); TRACES holds *.csv or *.csv.xz.
# Needs no CUDA toolkit but for the last step. Exits with 1 when anything failed.
set -u
programs=$1
traces=$2
work=$(mktemp -d)
failed=0
step_seconds=${STEP_SECONDS:-60}

say() { printf '\n== %s\n' "$*"; }
run() {  # a step of its own that may not hang
  timeout "$step_seconds" "$@"
  local result=$?
  [ $result -eq 0 ] || { echo "FAILED ($result): $*" >&2; failed=1; }
}

say "card"
nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used --format=csv,noheader

# A test that hangs is named, left out, and the others go on.
conformance() {
  local program=$1 left_out=""
  for _ in 1 2 3 4 5; do
    PLIMSOLL_CUDA_TESTS=1 timeout "$step_seconds" "$programs/$program" \
      --gtest_filter="*/Cuda:*/CudaPlain:*OnCuda*-$left_out" >"$work/tests" 2>&1
    local result=$?
    grep -E -B12 '^\[  FAILED  \] .*ms\)$' "$work/tests" | head -120
    grep -E '^\[ +(PASSED|FAILED|SKIPPED) +\] [0-9]+ test|tests? ran' "$work/tests"
    [ $result -eq 0 ] && return
    failed=1
    [ $result -eq 124 ] || { echo "exit $result"; tail -3 "$work/tests"; return; }
    local hung
    hung=$(grep -E '^\[ RUN' "$work/tests" | tail -1 | sed 's/.*\] //')
    echo "HANGS: $hung"
    left_out="$left_out:$hung"
  done
}

say "device conformance by the real driver"
conformance device_test
if [ -x "$programs/memory_test" ]; then
  say "memory conformance by the real driver"
  conformance memory_test
fi

say "growth"
run "$programs/replay_bench" --growth cuda:0 100GiB

for trace in "$traces"/*.csv "$traces"/*.csv.xz; do
  [ -e "$trace" ] || continue
  name=$(basename "${trace%.xz}")
  if [ "$trace" != "${trace%.xz}" ]; then
    python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' \
      "$trace" >"$work/$name"
  else
    cp "$trace" "$work/$name"
  fi
done

for trace in "$work"/*.csv; do
  say "$(basename "$trace"): contents checked; then without, six passes"
  run "$programs/plimsoll-replay" "$trace" --device cuda:0 --no-offline-bound --json
  run "$programs/plimsoll-replay" "$trace" --device cuda:0 --no-offline-bound --json \
    --no-check-contents --repeat 6
done

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -n "$sanitizer" ]; then
  for trace in "$work"/*.csv; do
    head -n "${SANITIZED_EVENTS:-4000}" "$trace" >"$work/short"
    say "compute-sanitizer, the first ${SANITIZED_EVENTS:-4000} events of $(basename "$trace")"
    run "$sanitizer" --tool memcheck --error-exitcode 9 "$programs/plimsoll-replay" "$work/short" \
      --device cuda:0 --no-offline-bound >"$work/said" 2>&1
    tail -4 "$work/said"
  done
else
  say "no compute-sanitizer here"
fi
rm -rf "$work"
exit $failed
