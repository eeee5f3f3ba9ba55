#include "planner.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "errors.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/json.h"
#include "plimsoll/plan/verifier.h"
#include "plimsoll/replay/replay.h"
#include "shared/array_problem.h"

namespace nb = nanobind;

namespace plimsoll::python {
namespace {

// A column of int64; None: an empty one.
class Column {
 public:
  Column(nb::handle array, const char* name) {
    if (array.is_none()) return;
    array_ = LentArray::ForReading(array, name);
    values_ = array_.view().Elements<int64_t>();
    const bool right = array_.view().type == DataType::kInt64 && array_.view().dims.size() == 1;
    if (!right) {
      Raise(BadArgument("pack.columns", name, "it is no array of int64 with one axis",
                        "convert it: numpy.asarray(x, dtype=\"int64\").ravel()"));
    }
  }
  std::span<const int64_t> values() const { return values_; }

 private:
  LentArray array_;
  std::span<const int64_t> values_;
};

nb::dict PackArrays(nb::handle sizes, nb::handle begins, nb::handle ends, nb::handle alignments,
                    nb::handle fixed_offsets, std::optional<int64_t> capacity,
                    std::optional<int64_t> steps, std::optional<double> deadline_ms,
                    const std::string& assigner, int threads) {
  const Column size(sizes, "sizes");
  const Column begin(begins, "begins");
  const Column end(ends, "ends");
  const Column alignment(alignments, "alignments");
  const Column fixed(fixed_offsets, "fixed_offsets");
  bindings::PackRequest request{
      .steps = steps, .deadline_ms = deadline_ms, .assigner = assigner, .threads = threads};
  if (capacity) request.capacity = Bytes(*capacity);
  const auto packed = [&] {
    const nb::gil_scoped_release released;
    return bindings::PackColumns(
        {size.values(), begin.values(), end.values(), alignment.values(), fixed.values()}, request);
  }();
  const plan::PackAnswer answer = Take(packed);
  const Tensor offsets =
      Take(Tensor::Allocate(DataType::kInt64, {static_cast<int64_t>(answer.offsets.size())}));
  for (size_t i = 0; i < answer.offsets.size(); ++i) {
    offsets.Elements<int64_t>()[i] = answer.offsets[i].value();
  }
  std::vector<size_t> blocking;
  for (const plan::BufferId id : answer.infeasible_set) blocking.push_back(id.index());
  nb::dict row;
  row["offsets"] = ToArray(offsets);
  row["peak_bytes"] = answer.peak_bytes.value();
  row["lower_bound_bytes"] = answer.lower_bound_bytes.value();
  row["fits"] = answer.fits;
  row["optimal"] = answer.optimal;
  row["infeasible"] = answer.infeasible;
  row["deadline_hit"] = answer.deadline_hit;
  row["assigner"] = answer.assigner;
  row["infeasible_set"] = blocking;
  return row;
}

Result<std::string> SolveText(const std::string& text, const std::string& assigner, int threads,
                              const plan::Effort& effort) {
  PLIMSOLL_ASSIGN(const plan::Problem problem, plan::ReadProblemJson(text));
  PLIMSOLL_ASSIGN(const auto made, plan::MakeAssigner(assigner, threads));
  PLIMSOLL_ASSIGN(const plan::MemoryPlan plan, made->Assign(problem, effort));
  PLIMSOLL_TRY(plan::Verify(problem, plan));
  return plan::WritePlanJson(plan, problem);
}

std::string Solve(const std::string& text, const std::string& assigner, int threads,
                  std::optional<int64_t> steps, std::optional<double> deadline_ms) {
  plan::Effort effort;
  if (steps) effort.steps = *steps;
  if (deadline_ms) effort.deadline_ms = *deadline_ms;
  const auto solved = [&] {
    const nb::gil_scoped_release released;
    return SolveText(text, assigner, threads, effort);
  }();
  return Take(solved);
}

std::string ReplayTrace(const std::string& text, const std::string& name,
                        const std::string& allocator, const std::string& device, int64_t capacity,
                        int64_t repeat, bool find_capacity) {
  const auto replayed = [&]() -> Result<std::string> {
    const nb::gil_scoped_release released;
    PLIMSOLL_ASSIGN(const replay::Trace trace, replay::ParseTrace(text, name));
    PLIMSOLL_ASSIGN(const replay::ReplayResult result,
                    replay::Replay(trace, {.allocator = allocator,
                                           .device = device,
                                           .capacity = Bytes(capacity),
                                           .repeat = repeat,
                                           .find_capacity = find_capacity}));
    return result.ToJson();
  }();
  return Take(replayed);
}

}  // namespace

void AddPlanner(nb::module_& module) {
  module.def("pack", &PackArrays, nb::arg("sizes"), nb::arg("begins"), nb::arg("ends"),
             nb::arg("alignments").none(), nb::arg("fixed_offsets").none(),
             nb::arg("capacity").none(), nb::arg("steps").none(), nb::arg("deadline_ms").none(),
             nb::arg("assigner"), nb::arg("threads"));
  module.def("solve", &Solve, nb::arg("problem"), nb::arg("assigner"), nb::arg("threads"),
             nb::arg("steps").none(), nb::arg("deadline_ms").none());
  module.def("replay", &ReplayTrace, nb::arg("trace"), nb::arg("name"), nb::arg("allocator"),
             nb::arg("device"), nb::arg("capacity"), nb::arg("repeat"), nb::arg("find_capacity"));
  module.def("assigner_names", &plan::AssignerNames);
  module.def("allocator_names", &replay::AllocatorNames);
  module.def(
      "parse_bytes",
      [](const std::string& text) -> std::optional<int64_t> {
        const auto bytes = ParseBytes(text);
        return bytes ? std::optional(bytes->value()) : std::nullopt;
      },
      nb::arg("text"));
  module.def(
      "format_bytes", [](int64_t bytes) { return FormatBytes(Bytes(bytes)); }, nb::arg("bytes"));
  module.def(
      "nearest_name",
      [](const std::string& name, const std::vector<std::string>& candidates) {
        return NearestName(name, candidates);
      },
      nb::arg("name"), nb::arg("candidates"));
}

}  // namespace plimsoll::python
