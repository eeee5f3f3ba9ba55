#include "compile/kernel_looks.h"

#include <utility>

#include "compile/node_key.h"
#include "graph/graph.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using kernels::KernelSite;
using kernels::TensorInfo;

void AppendInfo(std::string& key, const TensorInfo& info) {
  AppendNumber(key, static_cast<uint64_t>(info.type));
  AppendBytes(key, info.dims.data(), info.dims.size() * sizeof(info.dims[0]));
  AppendNumber(key, (info.present() ? 1U : 0U) | (info.constant ? 2U : 0U) |
                        (info.assumed ? 4U : 0U) | (info.data != nullptr ? 8U : 0U));
}

// False where the site cannot be told from others.
bool AppendSite(std::string& key, const KernelSite& site) {
  if (!AppendOperator(key, site.node())) return false;
  AppendNumber(key, site.inputs.size());
  const graph::InputSet host_inputs = graph::FactsOf(site.node()).host_inputs;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const TensorInfo& input = site.inputs[i];
    AppendInfo(key, input);
    if (!input.present() || input.data == nullptr) continue;
    const Bytes size = input.size();
    // Weights: several floats that nobody but the kernel reads.
    const bool weights = input.constant && graph::IsFloating(input.type) && input.elements() > 1 &&
                         !graph::Contains(host_inputs, i);
    if (weights) continue;
    if (size <= Bytes(kComparedBytes) && !input.assumed) {
      AppendBytes(key, input.data, static_cast<size_t>(size.value()));
    } else if (!input.constant) {
      return false;
    } else {
      AppendNumber(key, reinterpret_cast<uintptr_t>(input.data));
    }
  }
  AppendNumber(key, site.outputs.size());
  for (const TensorInfo& output : site.outputs) AppendInfo(key, output);
  AppendNumber(key, (site.outputs_cleared ? 1U : 0U) | (site.deterministic ? 2U : 0U));
  AppendNumber(key, static_cast<uint64_t>(site.most_workspace.value()));
  AppendText(key, site.alternatives.wanted);
  return true;
}

}  // namespace

Result<KernelLook> KernelLooks::At(const KernelSite& site, std::string_view context,
                                   const std::function<Result<KernelLook>()>& prepare) {
  std::string key;
  AppendText(key, context);
  if (!AppendSite(key, site)) return prepare();
  if (const auto found = known_.find(key); found != known_.end()) return found->second.look;
  Known known;
  PLIMSOLL_ASSIGN(known.look, prepare());
  for (const graph::ValueId input : site.node().inputs) {
    if (!input.valid() || !site.graph[input].constant.valid()) continue;
    known.held.push_back(site.graph[site.graph[input].constant].storage);
  }
  return known_.emplace(std::move(key), std::move(known)).first->second.look;
}

}  // namespace plimsoll::compile
