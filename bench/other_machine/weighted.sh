# Sourced by the jobs beside it, with `root` the checkout: weighted NAMES gives the models whose names match the regular expression their weights, in
# $root/build/weighted. Those that an earlier call on the same machine has left there are taken as they are.
weighted() {
  local models=$root/build/other_models
  mkdir -p "$models" "$root/build/weighted"
  tar -xJf "$root/tests/data/models.tar.xz" -C "$models"
  find "$models" -name '*.onnx' -not -name '*.plan.onnx' | grep -E "/($1)\.onnx" | while read -r model; do
    [ -f "$root/build/weighted/$(basename "$model")" ] || echo "$model"
  done | xargs -r -P 12 -n 1 python3 "$root/tests/data/materialize.py" -o "$root/build/weighted" > /dev/null
}
