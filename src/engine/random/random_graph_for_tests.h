#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "engine/session_for_tests.h"
#include "plimsoll/base/text.h"

// For tests that draw graphs at random.
namespace plimsoll::engine {

inline graph::ValueId Rows(graph::GraphBuilder& builder, graph::ValueId x, int64_t begin,
                           int64_t end, const std::string& name) {
  return builder.Node(
      "Slice", {x, builder.Int64s(name + ".from", {begin}), builder.Int64s(name + ".to", {end}),
                builder.Int64s(name + ".axis", {0})});
}

// A graph of some twenty nodes over tensors of a few rows: operators that overwrite, that are views
// of rows, that join rows, that read a row for all, that need workspace, that have several outputs,
// and branches. One seed gives one graph, whether the rows of its first input are a number or open.
//
// Draw gives a whole graph; DrawNodes, DrawOutputs and ReturnTo make one part by part.
class RandomGraph {
 public:
  static constexpr int64_t kRows = 6;       // of "x", where they are not open
  static constexpr int64_t kLeastRows = 4;  // that "x" may have where they are

  RandomGraph(uint32_t seed, int64_t columns, bool open_rows = false)
      : random_(seed), columns_(columns) {
    const graph::Dim rows = open_rows ? graph::Dim::Symbol("rows") : graph::Dim(kRows);
    Add(builder_.Input("x", compile::FloatTensor({rows, columns})), {1, 0});
    Add(builder_.Input("three", compile::FloatTensor({3, columns})), {0, 3});
    Add(builder_.Input("one", compile::FloatTensor({1, columns})), {0, 1});
    const auto integers = graph::ValueType::Tensor(graph::DataType::kInt64, {{3, columns}});
    integers_.push_back(builder_.Input("ids", integers));
  }

  // For one run, with that many rows in "x".
  static std::vector<kernels::HostTensor> Inputs(int64_t rows, int64_t columns, uint32_t seed) {
    return {Random({rows, columns}, seed), Random({3, columns}, seed + 1),
            Random({1, columns}, seed + 2),
            Random({3, columns}, seed + 3, graph::DataType::kInt64)};
  }

  graph::Graph Draw() {
    DrawNodes(8 + Below(16));
    DrawOutputs(1 + Below(3));
    return Finish();
  }

  void DrawNodes(int count) {
    const size_t wanted = graph().root().nodes.size() + static_cast<size_t>(count);
    while (graph().root().nodes.size() < wanted) DrawNode();
  }

  // Some of the values that were made since `since`, and one more that reads the last of them.
  void DrawOutputs(int count, size_t since = 3) {
    for (int i = 0; i < count && made_.size() > since; ++i) {
      Output(
          made_[since + static_cast<size_t>(Below(static_cast<int>(made_.size() - since)))].value);
    }
    if (Below(4) == 0) Output(integers_.back());
    Output(builder_.Node("Tanh", {made_.back().value}));
  }

  // What was made since Mark() gave this is not read by what is drawn from now on.
  struct Mark {
    size_t floats = 0;
    size_t integers = 0;
  };
  Mark mark() const { return {made_.size(), integers_.size()}; }
  void ReturnTo(const Mark& mark) {
    made_.resize(mark.floats);
    integers_.resize(mark.integers);
  }

  const graph::Graph& graph() { return builder_.graph(); }
  graph::GraphBuilder& builder() { return builder_; }
  graph::Graph Finish() { return compile::Inferred(builder_); }
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  graph::ValueId last() const { return made_.back().value; }

 private:
  using ValueId = graph::ValueId;

  // `times` as many rows as "x", and `more`.
  struct RowCount {
    int64_t times = 0;
    int64_t more = 0;
    int64_t At(int64_t rows) const { return times * rows + more; }
    int64_t least() const { return At(kLeastRows); }
    bool operator==(const RowCount&) const = default;
  };
  struct Made {
    ValueId value;
    RowCount rows;
  };

  void Add(ValueId value, RowCount rows) { made_.push_back({value, rows}); }
  // Recent ones more often, so that memory is free again soon.
  Made Any() {
    const int last = static_cast<int>(made_.size());
    return made_[static_cast<size_t>(last - 1 - Below(std::min(last, 2 + Below(last))))];
  }
  ValueId AnyIntegers() {
    return integers_[static_cast<size_t>(Below(static_cast<int>(integers_.size())))];
  }
  std::string Fresh() { return StrCat("c", ++names_); }
  ValueId Ints64(const Ints& elements) { return builder_.Int64s(Fresh(), elements); }
  // Weights that keep sums of `from` products small.
  ValueId Weights(const Ints& dims, int64_t from) {
    std::vector<float> elements = ElementsOf(Random(dims, random_()));
    for (float& element : elements) element /= static_cast<float>(from);
    return builder_.Float32s(Fresh(), dims, elements);
  }
  void Output(ValueId value) {
    const auto& outputs = graph().root().outputs;
    if (std::find(outputs.begin(), outputs.end(), value) == outputs.end()) builder_.Output(value);
  }

  void DrawNode() {
    const Made x = Any();
    using Way = void (RandomGraph::*)(const Made&);
    constexpr Way kWays[] = {
        &RandomGraph::Unary,   &RandomGraph::Unary,    &RandomGraph::Binary, &RandomGraph::Binary,
        &RandomGraph::Window,  &RandomGraph::Join,     &RandomGraph::Join,   &RandomGraph::Scatter,
        &RandomGraph::Flatten, &RandomGraph::Product,  &RandomGraph::Split,  &RandomGraph::Several,
        &RandomGraph::Count,   &RandomGraph::Convolve, &RandomGraph::Pool,   &RandomGraph::Branch};
    (this->*kWays[Below(static_cast<int>(std::size(kWays)))])(x);
  }

  ValueId UnaryOf(ValueId x) {
    constexpr const char* kOperators[] = {"Tanh", "Sigmoid", "Neg", "Softmax", "Sin"};
    return builder_.Node(kOperators[Below(5)], {x});
  }
  void Unary(const Made& x) { Add(UnaryOf(x.value), x.rows); }

  void Binary(const Made& x) {
    constexpr const char* kOperators[] = {"Add", "Sub", "Mul", "Max"};
    const RowCount one{0, 1};
    const Made y = Any();
    const bool fit = x.rows == y.rows || x.rows == one || y.rows == one;
    const ValueId made = builder_.Node(kOperators[Below(4)], {x.value, fit ? y.value : x.value});
    Add(builder_.Node("Sin", {made}), fit && x.rows == one ? y.rows : x.rows);
  }

  // Rows from `begin` on, to one that is counted from the first or from the last.
  void Window(const Made& x) {
    const int64_t begin = Below(static_cast<int>(x.rows.least()));
    const int64_t left = x.rows.least() - begin;
    const int64_t count = 1 + Below(static_cast<int>(left));
    if (count == left || Below(2) == 0) {
      Add(Rows(builder_, x.value, begin, begin + count, Fresh()), {0, count});
    } else {
      const int64_t short_of_end = left - count;
      Add(Rows(builder_, x.value, begin, -short_of_end, Fresh()),
          {x.rows.times, x.rows.more - begin - short_of_end});
    }
  }

  void Join(const Made& x) {
    std::vector<ValueId> parts = {x.value};
    RowCount rows = x.rows;
    for (int i = 1 + Below(2); i > 0; --i) {
      const Made y = Any();
      if (rows.At(kRows) + y.rows.At(kRows) > 2 * kRows) continue;
      parts.push_back(y.value);
      rows = {rows.times + y.rows.times, rows.more + y.rows.more};
    }
    if (parts.size() == 1) return Unary(x);
    Add(builder_.Node("Concat", parts, compile::With("axis", int64_t{0})), rows);
  }

  // Each row of the updates goes to another row, or several to one that takes their sum.
  void Scatter(const Made& x) {
    const Made updates = Any();
    if (updates.rows.times > 0 || updates.rows.more > x.rows.least()) return Unary(x);
    const bool sum = Below(2) == 0;
    Ints order;
    for (int64_t i = 0; i < x.rows.least(); ++i) order.push_back(sum ? i / 2 : i);
    std::shuffle(order.begin(), order.end(), random_);
    Ints places;
    for (int64_t i = 0; i < updates.rows.more * columns_; ++i) {
      places.push_back(order[static_cast<size_t>(i / columns_)]);
    }
    const ValueId indices =
        builder_.Node("Reshape", {Ints64(places), Ints64({updates.rows.more, columns_})});
    Add(builder_.Node("ScatterElements", {x.value, indices, updates.value},
                      compile::With("reduction", std::string(sum ? "add" : "none"))),
        x.rows);
  }

  void Flatten(const Made& x) {
    const ValueId flat = builder_.Node("Reshape", {x.value, Ints64({-1})});
    Add(builder_.Node("Reshape", {flat, Ints64({-1, columns_})}), x.rows);
  }

  void Product(const Made& x) {
    constexpr int64_t kInner = 8;
    const ValueId first = Weights({columns_, kInner}, columns_);
    const ValueId inner = Below(2) == 0
                              ? builder_.Node("MatMul", {x.value, first})
                              : builder_.Node("Gemm", {x.value, first, Weights({kInner}, 1)});
    Add(builder_.Node("MatMul", {inner, Weights({kInner, columns_}, kInner)}), x.rows);
  }

  // Columns split and joined again, the last ones first.
  void Split(const Made& x) {
    const int64_t first = 1 + Below(static_cast<int>(columns_) - 1);
    const std::vector<ValueId> parts =
        builder_.Nodes("Split", {x.value, Ints64({first, columns_ - first})}, 2,
                       compile::With("axis", int64_t{1}));
    const ValueId changed = UnaryOf(parts[1]);
    Add(builder_.Node("Concat", {changed, parts[0]}, compile::With("axis", int64_t{1})), x.rows);
  }

  void Several(const Made& x) {
    std::vector<ValueId> terms = {x.value};
    for (int i = 0; i < 2; ++i) {
      const Made y = Any();
      if (y.rows == x.rows) terms.push_back(y.value);
    }
    if (terms.size() == 1) return Binary(x);
    Add(builder_.Node("Tanh", {builder_.Node("Sum", terms)}), x.rows);
  }

  void Count(const Made&) {
    constexpr const char* kOperators[] = {"Add", "Sub", "Max", "Min"};
    integers_.push_back(builder_.Node(kOperators[Below(4)], {AnyIntegers(), AnyIntegers()}));
    if (Below(2) == 0) return;
    const ValueId floats =
        builder_.Node("Cast", {integers_.back()},
                      compile::With("to", static_cast<int64_t>(graph::DataType::kFloat32)));
    Add(builder_.Node("Sin", {floats}), {0, 3});
  }

  void Convolve(const Made& x) {
    const ValueId image = builder_.Node("Unsqueeze", {x.value, Ints64({0, 1})});
    const ValueId channels = builder_.Node("Conv", {image, Weights({2, 1, 3, 3}, 9)},
                                           compile::With("pads", Ints{1, 1, 1, 1}));
    Add(builder_.Node("ReduceSum", {channels, Ints64({0, 1})},
                      compile::With("keepdims", int64_t{0})),
        x.rows);
  }

  // The largest of every five columns, and back to where it was. Of an input: where the largest is
  // must not hang on how a value was rounded.
  void Pool(const Made&) {
    const Made& x = made_[static_cast<size_t>(Below(3))];
    graph::Attributes fives = compile::With("kernel_shape", Ints{1, 5});
    fives.Set("strides", Ints{1, 5});
    const ValueId image = builder_.Node("Unsqueeze", {x.value, Ints64({0, 1})});
    const std::vector<ValueId> pooled = builder_.Nodes("MaxPool", {image}, 2, fives);
    const ValueId spread =
        builder_.Node("MaxUnpool", {UnaryOf(pooled[0]), pooled[1]}, std::move(fives));
    Add(builder_.Node("Squeeze", {spread, Ints64({0, 1})}), x.rows);
  }

  // The condition is known only in the run; both bodies read values from outside.
  void Branch(const Made& x) {
    const ValueId sum =
        builder_.Node("ReduceSum", {AnyIntegers()}, compile::With("keepdims", int64_t{0}));
    const ValueId condition =
        builder_.Node("Greater", {sum, builder_.Int64(Fresh(), columns_ * 3 / 2 + Below(5) - 2)});
    graph::Attributes bodies;
    for (const char* name : {"then_branch", "else_branch"}) {
      const graph::SubgraphId body = builder_.BeginBody(StrCat(name, "_", Fresh()));
      const Made y = Any();
      const ValueId changed = UnaryOf(x.value);
      builder_.EndBody({builder_.Node("Add", {changed, y.rows == x.rows ? y.value : x.value})});
      bodies.Set(name, body);
    }
    Add(builder_.Node("If", {condition}, std::move(bodies)), x.rows);
  }

  std::mt19937 random_;
  const int64_t columns_;
  graph::GraphBuilder builder_;
  std::vector<Made> made_;  // the inputs first
  std::vector<ValueId> integers_;
  int names_ = 0;
};

}  // namespace plimsoll::engine
