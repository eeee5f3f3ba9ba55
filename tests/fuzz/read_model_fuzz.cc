// Reads arbitrary bytes as a model and, where that succeeds, works out its shapes. Nothing may
// crash, hang or take memory out of proportion.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target read_model_fuzz
//   mkdir -p build/fuzz/corpus
//   build/fuzz/read_model_fuzz -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 \
//     -max_len=65536 -max_total_time=60 build/fuzz/corpus tests/fuzz/corpus/read_model
//
// New inputs go to the first folder; the second holds the seeds, which tests/fuzz/make_corpus.py
// writes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "compile/shapes/shapes.h"
#include "graph/text_form.h"
#include "onnx/model_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto graph = plimsoll::onnx::ReadModelBytes(std::as_bytes(std::span(data, size)), nullptr, "");
  if (!graph.ok()) {
    (void)graph.error().Text();
    return 0;
  }
  (void)plimsoll::compile::InferShapes(*graph).ok();
  (void)plimsoll::graph::TextForm(*graph);
  return 0;
}
