#!/usr/bin/env bash
# Packs what a measurement on another machine needs, programs and their libraries, into build/jobs/JOB, for a machine that can build and
# fetch nothing: bench/other_machine/pack.sh tests|libraries|threads|turns|regions|quantised|crowd|sanitizers. There, from the root of a checkout that has this folder:
# OUT=FOLDER build/jobs/JOB/run.sh. "turns FOLDER" takes the models of FOLDER along, without their weights (take_weights_out.py). "libraries" takes the programs that bench/libraries.py built; "crowd" uses the programs of "threads";
# "sanitizers" carries the libraries with their headers, and compiles there.
set -euo pipefail
cd "$(dirname "$0")/../.."
job=$1
folder=build/jobs/$job
rm -rf "$folder"
mkdir -p "$folder/lib"
cp "bench/other_machine/$job.sh" "$folder/run.sh"
case $job in
  libraries) programs=$(ls build/release/libraries/*) && cp bench/libraries.py "$folder" ;;
  threads) programs=build/release/plimsoll && cp bench/other_machine/{medians,speed_up}.py "$folder" ;;
  turns) programs=build/release/plimsoll && cp bench/other_machine/by_turns.py "$folder"
    [ -z "${2:-}" ] || build/venv/bin/python bench/other_machine/take_weights_out.py "$2" "$folder/models.tar.xz" ;;
  regions) programs=$(ls build/release/{plimsoll,machine_limits,region_timeline}) ;;
  quantised) programs=$(ls build/release/{plimsoll,kernels_test}) && cp bench/other_machine/quantised_figures.py "$folder" ;;
  tests) programs=$(ls build/release/{kernels,compile,engine}_test) ;;
  crowd) programs="" ;;
  sanitizers) programs="" ;;
  *) echo "there is no job '$job'" >&2 && exit 2 ;;
esac
for program in $programs; do
  cp "$program" "$folder"
  strip "$folder/$(basename "$program")"
  # The system's own C library stays: the other machine's is as new or newer.
  for library in $(ldd "$program" | awk '/=> \//{print $3}' | grep -v '/lib[cm]\.so\|ld-linux'); do cp -Lf "$library" "$folder/lib"; done
done
if [ "$job" = sanitizers ]; then
  packages=$(awk '$1 ~ /^lib.*-dev$|^nlohmann/ {print $1} /^#later/ {exit}' scripts/packages.txt)
  # shellcheck disable=SC2086
  { dpkg -L $packages; ldd build/release/plimsoll | awk '/=> \//{print $3}' | grep -v '/lib[cm]\.so\|libstdc\|libgcc'; } |
    grep -E '^/usr/(include|lib|share/cmake)|^/lib/' | while read -r path; do
      [ -d "$path" ] || echo "$path"
      case $path in *.so) readlink -f "$path" ;; esac
    done | sort -u > "$folder/paths.txt"
  # Links are followed: what they lead to may belong to another package.
  XZ_OPT=-1 tar -cJhf "$folder/root.tar.xz" --transform 's,^lib/,usr/lib/,' -C / -T <(sed 's,^/,,' "$folder/paths.txt")
  rm "$folder/paths.txt"
fi
find "$folder" -type f -not -name '*.tar.xz' -size +100k -exec xz -1 -f {} +
du -sh "$folder"
