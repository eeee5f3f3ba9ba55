#!/bin/bash
# The cuda device on a real card: the conformance suites, growth, and replays of traces with contents checked, plain and under
# compute-sanitizer.
#
#   bench/gpu/cuda_device.sh PROGRAMS TRACES
#
# PROGRAMS holds device_test, memory_test, replay_test, plimsoll-replay and replay_bench (a build folder; programs built on another
# machine do, the driver is opened at run time); TRACES holds *.csv or *.csv.xz. PARTS names what is wanted:
#   growth       to 100 GiB, time inside the driver's calls
#   conformance  the suites of device, memory and replay by the real driver
#   replays      each trace with contents checked
#   costs        each trace without, six passes: memory and driver time, alone on the card
#   memcheck     each trace's first SANITIZED_EVENTS (20000) under compute-sanitizer, which the CUDA toolkit has
# Exits with 1 when anything failed.
set -u
programs=$1
traces=$2
parts=${PARTS:-growth conformance replays costs memcheck}
work=$(mktemp -d)
failed=0
step_seconds=${STEP_SECONDS:-90}
events=${SANITIZED_EVENTS:-20000}

say() { printf '\n== %s s: %s\n' "$SECONDS" "$*"; }
run() {  # a step of its own that may not hang
  timeout "$step_seconds" "$@"
  local result=$?
  [ $result -eq 0 ] || { echo "FAILED ($result): $*"; failed=1; }
}

# A test that hangs is named, left out, and the others go on; so for one that ends the program.
conformance() {
  local program=$1 left_out=""
  say "$program by the real driver"
  for _ in 1 2 3 4 5; do
    PLIMSOLL_CUDA_TESTS=1 timeout "$step_seconds" "$programs/$program" \
      --gtest_filter="*/Cuda:*/CudaPlain:*OnCuda*-$left_out" >"$work/tests" 2>&1
    local result=$?
    grep -E -B12 '^\[  FAILED  \] .*ms\)$' "$work/tests" | head -120
    grep -E '^\[ +(PASSED|FAILED|SKIPPED) +\] [0-9]+ test|tests? ran' "$work/tests"
    [ $result -eq 0 ] && return
    failed=1
    [ $result -eq 1 ] && return
    local ended
    ended=$(grep -E '^\[ RUN' "$work/tests" | tail -1 | sed 's/.*\] //')
    echo "ENDS WITH $result (124: hangs): $ended"
    tail -3 "$work/tests"
    left_out="$left_out:$ended"
  done
}

growth() {
  say "growth"
  run "$programs/replay_bench" --growth cuda:0 100GiB
}

replay() {  # the trace, and options
  local trace=$1; shift
  say "$(basename "$trace") $*"
  run "$programs/plimsoll-replay" "$trace" --device cuda:0 --no-offline-bound --json "$@"
}

memcheck() {
  local sanitizer
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  [ -n "$sanitizer" ] || { say "no compute-sanitizer here"; return; }
  head -n "$events" "$1" >"$work/short"
  say "compute-sanitizer, the first $events events of $(basename "$1")"
  run "$sanitizer" --tool memcheck --error-exitcode 9 "$programs/plimsoll-replay" "$work/short" \
    --device cuda:0 --no-offline-bound >"$work/said" 2>&1
  tail -4 "$work/said"
}

nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used --format=csv,noheader
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
for part in $parts; do
  case $part in
    growth) growth ;;
    conformance) for program in device_test memory_test replay_test; do conformance $program; done ;;
    replays) for trace in "$work"/*.csv; do replay "$trace"; done ;;
    costs) for trace in "$work"/*.csv; do replay "$trace" --no-check-contents --repeat 6; done ;;
    memcheck) for trace in "$work"/*.csv; do memcheck "$trace"; done ;;
    *) echo "no such part: $part" >&2; failed=1 ;;
  esac
done
rm -rf "$work"
exit $failed
