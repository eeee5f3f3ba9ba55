#include "cli/compiled_peak.h"

#include <algorithm>

#include "compile/compile_model.h"
#include "compile/shapes.h"
#include "kernels/parallel.h"

namespace plimsoll::cli {
namespace {

// Says yes to every packing and does none.
class NoPacking : public kernels::PackedWeights {
 public:
  Result<const void*> Pack(const void*, Bytes, std::string_view, Bytes, const Fill&) override {
    return static_cast<const void*>(this);
  }
  void Forget(const void*, Bytes) override {}
};

Result<Bytes> Compile(graph::Graph graph, const std::vector<compile::ShapeArgument>& shapes,
                      const compile::PlanOptions& options) {
  std::vector<compile::PassReport> passes;
  PLIMSOLL_TRY(compile::InferShapes(graph));
  PLIMSOLL_TRY(compile::Simplify(graph, passes));
  PLIMSOLL_TRY(compile::GiveInputShapes(graph, shapes).status());
  PLIMSOLL_TRY(compile::InferShapes(graph));
  if (auto reason = compile::WhyNotPlannable(graph)) {
    return Error{ErrorKind::kUnsupported, "plan.dynamic", "not planned", "", *reason, ""};
  }
  kernels::SetThreads(1);
  NoPacking packing;
  compile::CompileOptions compiling;
  compiling.plan = options;
  compiling.packed_weights = &packing;
  PLIMSOLL_ASSIGN(const compile::CompiledModel model,
                  compile::CompileModel(std::move(graph), compiling));
  return model.planned.plan.regions[model.planned.buffers.feature_map.index()].size;
}

}  // namespace

std::optional<Bytes> CompiledPeak(graph::Graph graph,
                                  const std::vector<compile::ShapeArgument>& shapes,
                                  const compile::PlanOptions& options) {
  const bool missing = std::any_of(graph.constants.begin(), graph.constants.end(),
                                   [](const auto& constant) { return constant.missing; });
  if (missing) return std::nullopt;
  const Result<Bytes> peak = Compile(std::move(graph), shapes, options);
  return peak.ok() ? std::optional(*peak) : std::nullopt;
}

}  // namespace plimsoll::cli
