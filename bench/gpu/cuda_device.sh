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
#   memcheck     each trace under compute-sanitizer, which the CUDA toolkit has, all at once: the whole of it, long ones by several
#                replays that each look at their own part of the blocks (SANITIZED_SECONDS, 500)
# Exits with 1 when anything failed.
set -u
programs=$1
traces=$2
parts=${PARTS:-growth conformance replays costs memcheck}
work=$(mktemp -d)
failed=0
step_seconds=${STEP_SECONDS:-90}
sanitized_seconds=${SANITIZED_SECONDS:-500}

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

# A part of about 40,000 blocks, for each trace as many as that takes.
memcheck() {
  local sanitizer trace name parts part
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  [ -n "$sanitizer" ] || { say "no compute-sanitizer here"; return; }
  say "compute-sanitizer, whole traces"
  for trace in "$work"/*.csv; do
    name=$(basename "$trace")
    parts=$((1 + $(grep -c '^a' "$trace") / 40000))
    for ((part = 1; part <= parts; ++part)); do
      { timeout "$sanitized_seconds" "$sanitizer" --tool memcheck --error-exitcode 9 "$programs/plimsoll-replay" "$trace" \
          --device cuda:0 --no-offline-bound --check-part $part/$parts
        echo "exit $? after $SECONDS s"; } >"$work/said_${name}_$part" 2>&1 &
    done
  done
  wait
  for said in "$work"/said_*; do
    echo "-- $(basename "$said"): $(grep -E 'ERROR SUMMARY|blocks as written|^exit' "$said" | tr '\n' ' ')"
    grep -q '^exit 0' "$said" || { failed=1; tail -8 "$said"; }
  done
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
    memcheck) memcheck ;;
    *) echo "no such part: $part" >&2; failed=1 ;;
  esac
done
rm -rf "$work"
exit $failed
