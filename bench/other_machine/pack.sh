#!/usr/bin/env bash
# Packs what a measurement on another machine needs, programs and their libraries, into build/jobs/JOB, for a machine that can build and
# fetch nothing: bench/other_machine/pack.sh kernels|libraries|threads|crowd. There, from the root of a checkout that has this folder:
# OUT=FOLDER build/jobs/JOB/run.sh. "libraries" takes the programs that bench/libraries.py built; "crowd" uses the programs of "threads".
set -euo pipefail
cd "$(dirname "$0")/../.."
job=$1
folder=build/jobs/$job
rm -rf "$folder"
mkdir -p "$folder/lib"
cp "bench/other_machine/$job.sh" "$folder/run.sh"
case $job in
  kernels) programs=build/release/kernels_test ;;
  libraries) programs=$(ls build/release/libraries/*) && cp bench/libraries.py "$folder" ;;
  threads) programs=build/release/plimsoll && cp bench/other_machine/medians.py "$folder" ;;
  crowd) programs="" ;;
  *) echo "there is no job '$job'" >&2 && exit 2 ;;
esac
for program in $programs; do
  cp "$program" "$folder"
  strip "$folder/$(basename "$program")"
  # The system's own C library stays: the other machine's is as new or newer.
  for library in $(ldd "$program" | awk '/=> \//{print $3}' | grep -v '/lib[cm]\.so\|ld-linux'); do cp -Lf "$library" "$folder/lib"; done
done
find "$folder" -type f -size +100k -exec xz -1 -f {} +
du -sh "$folder"
