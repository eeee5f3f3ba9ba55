# Sourced by the jobs beside it, with `root` the checkout: weighted NAMES [ARCHIVE NAME] gives the models of tests/data, or of the archive, whose names
# match the regular expression their weights, in $root/build/weighted or $root/build/NAME. Those that an earlier call on the same machine has left
# there are taken as they are.
weighted() {
  local archive=${2:-$root/tests/data/models.tar.xz} to=$root/build/${3:-weighted}
  mkdir -p "$to.models" "$to"
  tar -xJf "$archive" -C "$to.models"
  find "$to.models" -name '*.onnx' -not -name '*.plan.onnx' | grep -E "/($1)\.onnx" | while read -r model; do
    [ -f "$to/$(basename "$model")" ] || echo "$model"
  done | xargs -r -P 12 -n 1 python3 "$root/tests/data/materialize.py" -o "$to" > /dev/null
}
