#include <optional>

#include "c/status.h"
#include "shared/array_problem.h"

namespace plimsoll::bindings {
namespace {

template <typename Number>
std::optional<Number> UnlessZero(Number number) {
  return number == Number(0) ? std::nullopt : std::optional(number);
}

Status PackProblem(const plimsoll_pack_problem* given, plimsoll_pack_result* result) {
  PLIMSOLL_TRY(CheckGiven(given, "problem"));
  PLIMSOLL_ASSIGN(const plimsoll_pack_problem problem, ReadStruct(given, "problem"));
  PLIMSOLL_ASSIGN(plimsoll_pack_result made, ReadStruct(result, "result"));
  if (problem.count > 0) {
    PLIMSOLL_TRY(CheckGiven(problem.sizes, "sizes"));
    PLIMSOLL_TRY(CheckGiven(problem.begins, "begins"));
    PLIMSOLL_TRY(CheckGiven(problem.ends, "ends"));
  }
  const auto column = [&](const int64_t* values) {
    return std::span(values, values == nullptr ? 0 : problem.count);
  };
  PackRequest request{.capacity = std::nullopt,
                      .steps = UnlessZero(problem.steps),
                      .deadline_ms = UnlessZero(problem.deadline_ms)};
  if (problem.capacity != 0) request.capacity = Bytes(problem.capacity);
  if (problem.assigner != nullptr) request.assigner = problem.assigner;
  if (problem.threads > 0) request.threads = problem.threads;
  PLIMSOLL_ASSIGN(const plan::PackAnswer answer,
                  PackColumns({column(problem.sizes), column(problem.begins), column(problem.ends),
                               column(problem.alignments), column(problem.fixed_offsets)},
                              request));
  made.peak = answer.peak_bytes.value();
  made.lower_bound = answer.lower_bound_bytes.value();
  made.fits = answer.fits ? 1 : 0;
  made.optimal = answer.optimal ? 1 : 0;
  made.infeasible = answer.infeasible ? 1 : 0;
  made.deadline_hit = answer.deadline_hit ? 1 : 0;
  if (made.offsets != nullptr) {
    for (size_t i = 0; i < answer.offsets.size(); ++i) made.offsets[i] = answer.offsets[i].value();
  }
  return WriteStruct(made, "result", result);
}

}  // namespace
}  // namespace plimsoll::bindings

plimsoll_status* plimsoll_pack(const plimsoll_pack_problem* problem, plimsoll_pack_result* result) {
  using namespace plimsoll::bindings;
  return Guarded([&] { return PackProblem(problem, result); });
}
