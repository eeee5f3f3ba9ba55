#include "graph/operators/control/counted_loop.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace plimsoll::graph::operators {
namespace {

// Sums and differences of such numbers do not overflow.
constexpr int64_t kLargest = int64_t{1} << 40;
constexpr int kMostDepth = 16;

// A number that is `first` in the first iteration, and `step` more in each later one, as long as it
// is not beyond `exact`: a type that it is converted to may not hold more.
struct Counter {
  int64_t first = 0;
  int64_t step = 0;
  int64_t exact = kLargest;
};

// The whole numbers up to this, and their negatives if it has any, are elements of the type.
int64_t ExactUpTo(DataType type) {
  switch (type) {
    case DataType::kInt64:
    case DataType::kFloat64:
      return kLargest;
    case DataType::kInt32:
      return std::numeric_limits<int32_t>::max();
    case DataType::kFloat32:
      return int64_t{1} << 24;
    case DataType::kInt16:
      return std::numeric_limits<int16_t>::max();
    default:
      return 0;
  }
}

class Counting {
 public:
  Counting(const InferContext& context, SubgraphId body)
      : context_(context), graph_(context.graph()), body_(context.graph()[body]) {}

  std::optional<int64_t> IterationsUntilFalse(ValueId condition, int depth = 0) const {
    if (const auto known = KnownNumber(condition)) return *known != 0 ? kEndless : 1;
    const Node* const node = MakerOf(condition);
    if (node == nullptr || depth == kMostDepth) return std::nullopt;
    if (node->op == "Identity") return IterationsUntilFalse(node->inputs[0], depth + 1);
    if (node->op == "And") {
      const auto left = IterationsUntilFalse(node->inputs[0], depth + 1);
      const auto right = IterationsUntilFalse(node->inputs[1], depth + 1);
      return left && right ? std::optional(std::min(*left, *right)) : std::nullopt;
    }
    const bool turned = node->op.starts_with("Greater");
    if (!turned && !node->op.starts_with("Less")) return std::nullopt;
    const auto counter = CounterAt(node->inputs[turned ? 1 : 0], 0);
    const auto bound = KnownNumber(node->inputs[turned ? 0 : 1]);
    if (!counter || !bound || counter->step <= 0 || Far(counter->first) || Far(counter->step)) {
      return std::nullopt;
    }
    if (*bound >= kLargest && counter->exact == kLargest) return kEndless;
    // The first number that is too large.
    const int64_t over = std::max(*bound, -kLargest) + (node->op.ends_with("OrEqual") ? 1 : 0);
    if (std::max(std::abs(counter->first), over + counter->step) > counter->exact) {
      return std::nullopt;
    }
    const int64_t missing = std::max<int64_t>(over - counter->first, 0);
    return (missing + counter->step - 1) / counter->step + 1;
  }

 private:
  const Node* MakerOf(ValueId value) const {
    const NodeId maker = value.valid() ? graph_[value].producer : NodeId();
    const bool standard = maker.valid() && graph_[maker].domain.empty();
    return standard ? &graph_[maker] : nullptr;
  }

  // What it is in every iteration.
  std::optional<int64_t> KnownNumber(ValueId value) const {
    if (!value.valid() || !graph_[value].content || graph_[value].content->size() != 1) {
      return std::nullopt;
    }
    const Content& known = *graph_[value].content;
    if (const auto* const dims = known.dims()) {
      return dims->front().is_number() ? std::optional(dims->front().number()) : std::nullopt;
    }
    const double number = known.doubles()->front();
    const bool whole =
        std::abs(number) < static_cast<double>(kLargest) && std::trunc(number) == number;
    return whole ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }

  static bool Far(int64_t number) { return number > kLargest || number < -kLargest; }

  std::optional<Counter> CounterAt(ValueId value, int depth) const {
    if (const auto known = KnownNumber(value)) return Counter{*known, 0};
    if (depth == kMostDepth) return std::nullopt;
    if (value == body_.inputs[0]) return Counter{0, 1};
    for (size_t i = 2; i < body_.inputs.size(); ++i) {
      if (value == body_.inputs[i]) return Carried(i - 2, depth);
    }
    const Node* const node = MakerOf(value);
    if (node == nullptr) return std::nullopt;
    if (node->op == "Identity") return CounterAt(node->inputs[0], depth + 1);
    if (node->op == "Cast") {
      std::optional<Counter> given = CounterAt(node->inputs[0], depth + 1);
      if (given) given->exact = std::min(given->exact, ExactUpTo(graph_[value].type.data_type));
      return given;
    }
    if (node->op != "Add") return std::nullopt;
    const auto left = CounterAt(node->inputs[0], depth + 1);
    const auto right = CounterAt(node->inputs[1], depth + 1);
    if (!left || !right || Far(left->first) || Far(right->first)) return std::nullopt;
    return Counter{left->first + right->first, left->step + right->step,
                   std::min(left->exact, right->exact)};
  }

  // A carried number to which the body adds what is known.
  std::optional<Counter> Carried(size_t index, int depth) const {
    const ValueId input = body_.inputs[2 + index];
    const auto first = context_.input_integers(2 + index);
    const Node* const node = MakerOf(body_.outputs[1 + index]);
    if (!first || first->size() != 1) return std::nullopt;
    if (node == nullptr || node->op != "Add" || depth == kMostDepth) return std::nullopt;
    const bool turned = node->inputs[1] == input;
    const auto step = KnownNumber(node->inputs[turned ? 0 : 1]);
    if (!step || node->inputs[turned ? 1 : 0] != input) return std::nullopt;
    return Counter{first->front(), *step};
  }

  const InferContext& context_;
  const Graph& graph_;
  const Subgraph& body_;
};

}  // namespace

std::optional<int64_t> CountIterations(const InferContext& context, SubgraphId body) {
  return Counting(context, body).IterationsUntilFalse(context.graph()[body].outputs[0]);
}

}  // namespace plimsoll::graph::operators
