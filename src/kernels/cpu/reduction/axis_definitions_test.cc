#include <algorithm>

#include "kernels/cpu/definitions_for_tests.h"
#include "kernels/parallel.h"

// Axes counted from the front and from the back, one beyond either end, and tensors without
// elements.
namespace plimsoll::kernels::cpu {
namespace axis_definitions_test {

using graph::Attribute;
using graph::DataType;
using Ints = std::vector<int64_t>;

const Dims kDims = {2, 3, 4};

// A node whose axis is an attribute, over inputs that fit every axis.
struct AxisCase {
  std::string op;
  std::vector<HostTensor> inputs;
  Attributes attributes = {};
  size_t outputs = 1;
  int version = 20;
};

std::vector<AxisCase> AxisCases() {
  const HostTensor x = Wavy(kDims, 1);
  const HostTensor indices = WholeNumbers(DataType::kInt64, kDims, 2, 0, 1);
  return {
      {"Concat", {x, Wavy(kDims, 2)}},
      {"Gather", {x, Ints64({1, -2, 0})}},
      {"GatherElements", {x, indices}},
      {"ScatterElements", {x, indices, Wavy(kDims, 3)}, {{"reduction", std::string("add")}}},
      {"Softmax", {x}},
      {"LogSoftmax", {x}},
      {"Hardmax", {x}},
      {"ArgMax", {x}},
      {"ArgMin", {x}, {{"keepdims", int64_t{0}}}},
      {"TopK", {x}, {{"k", int64_t{2}}}, 2, 9},
      {"LpNormalization", {x}, {{"p", int64_t{1}}}},
      {"Flatten", {x}},
      {"Compress", {x, Numbers<bool>({2}, {true, false})}},
  };
}

OneNode WithAxis(const AxisCase& one, int64_t axis) {
  OneNode node{
      .op = one.op, .attributes = one.attributes, .outputs = one.outputs, .version = one.version};
  node.attributes.emplace_back("axis", axis);
  return node;
}

TEST(AxisDefinitionsTest, AnAxisCountedFromTheBackIsTheSameAxis) {
  for (const AxisCase& one : AxisCases()) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      const auto front = MustMake(WithAxis(one, axis), one.inputs);
      const auto back = MustMake(WithAxis(one, axis - 3), one.inputs);
      ASSERT_EQ(front.size(), one.outputs) << one.op;
      ASSERT_EQ(back.size(), one.outputs) << one.op;
      for (size_t i = 0; i < front.size(); ++i) {
        ASSERT_EQ(back[i].dims, front[i].dims) << one.op << " along " << axis;
        ForEachPlace(front[i].dims, [&](const Place& place) {
          ASSERT_EQ(At(back[i], place), At(front[i], place)) << one.op << " along " << axis;
        });
      }
    }
  }
}

TEST(AxisDefinitionsTest, AnAxisBeyondEitherEndIsRefused) {
  for (const AxisCase& one : AxisCases()) {
    for (const int64_t axis : {-4, 3}) {
      if (one.op == "Flatten" && axis == 3) continue;  // which may end behind the last axis
      EXPECT_FALSE(RunKnowingSmallInputs(WithAxis(one, axis), one.inputs).ok())
          << one.op << " along " << axis;
    }
  }
}

TEST(AxisDefinitionsTest, JoinsAndCutsAlongEveryAxis) {
  const HostTensor x = Wavy(kDims, 1);
  for (size_t axis = 0; axis < 3; ++axis) {
    const HostTensor y = Wavy(kDims, 2);
    Dims joined = kDims;
    joined[axis] *= 2;
    const OneNode concat{.op = "Concat", .attributes = {{"axis", static_cast<int64_t>(axis)}}};
    ExpectDefinition(concat, {x, y}, joined, [&](const Place& place) {
      Place at = place;
      const bool second = at[axis] >= kDims[axis];
      if (second) at[axis] -= kDims[axis];
      return At(second ? y : x, at);
    });
    const OneNode split{
        .op = "Split", .attributes = {{"axis", static_cast<int64_t>(axis)}}, .outputs = 2};
    const auto parts = MustMake(split, {x, Ints64({1, kDims[axis] - 1})});
    ASSERT_EQ(parts.size(), 2U);
    for (const size_t part : {0, 1}) {
      ForEachPlace(parts[part].dims, [&](const Place& place) {
        Place at = place;
        at[axis] += static_cast<int64_t>(part);
        ASSERT_EQ(At(parts[part], place), At(x, at)) << "axis " << axis << ", part " << part;
      });
    }
  }
}

void ExpectSumsAlongAxes(const Dims& dims, DataType type) {
  const HostTensor x = WholeNumbers(type, dims, 1);
  for (const int64_t axis : {0, 1, 2, -1, -3}) {
    const auto along = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    for (const int64_t exclusive : {0, 1}) {
      for (const int64_t reverse : {0, 1}) {
        const OneNode node{.op = "CumSum",
                           .attributes = {{"exclusive", exclusive}, {"reverse", reverse}}};
        ExpectDefinition(node, {x, Numbers<int64_t>({}, {axis})}, dims, [&](const Place& place) {
          double sum = 0;
          for (int64_t i = 0; i < dims[along]; ++i) {
            const int64_t distance = reverse == 1 ? i - place[along] : place[along] - i;
            if (distance < exclusive) continue;
            Place at = place;
            at[along] = i;
            sum += At(x, at);
          }
          return sum;
        });
      }
    }
  }
}

TEST(AxisDefinitionsTest, SumsAlongAnAxisInEveryWay) {
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kInt32, DataType::kInt64}) {
    ExpectSumsAlongAxes(kDims, type);
    ExpectSumsAlongAxes({2, 5, 140}, type);  // vectors of every width
  }
}

// Steps and bounds of both signs, on one axis and on two.
TEST(AxisDefinitionsTest, SlicesWalkInBothDirections) {
  const HostTensor x = Wavy({5, 6}, 1);
  struct Walk {
    int64_t from, to, step;
    std::vector<int64_t> places;  // on an axis of 6
  };
  const Walk walks[] = {{0, 6, 1, {0, 1, 2, 3, 4, 5}},
                        {1, 5, 2, {1, 3}},
                        {-2, 6, 1, {4, 5}},
                        {5, 0, -2, {5, 3, 1}},
                        {-1, -7, -1, {5, 4, 3, 2, 1, 0}},
                        {4, 100, 1, {4, 5}},
                        {3, 3, 1, {}},
                        {-100, 2, 1, {0, 1}}};
  for (const Walk& walk : walks) {
    for (const int64_t axis : {1, -1}) {
      const auto count = static_cast<int64_t>(walk.places.size());
      ExpectDefinition(
          OneNode{.op = "Slice", .attributes = {}},
          {x, Ints64({walk.from}), Ints64({walk.to}), Ints64({axis}), Ints64({walk.step})},
          {5, count}, [&](const Place& place) {
            return At(x, {place[0], walk.places[static_cast<size_t>(place[1])]});
          });
    }
  }
  ExpectDefinition(OneNode{.op = "Slice", .attributes = {}},
                   {x, Ints64({4, 1}), Ints64({0, 6}), Ints64({-2, -1}), Ints64({-2, 3})}, {2, 2},
                   [&](const Place& place) {
                     return At(x, {4 - 2 * place[0], 1 + 3 * place[1]});
                   });
}

// Where a padded place reads from; -1: the constant.
int64_t ReadFrom(const std::string& mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size) return at;
  if (mode == "constant") return -1;
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  while (at < 0 || at >= size) {
    if (mode == "wrap") {
      at += at < 0 ? size : -size;
    } else {
      at = at < 0 ? -at : 2 * (size - 1) - at;
    }
  }
  return at;
}

TEST(AxisDefinitionsTest, PadsOfEveryModeAlsoLongerThanTheTensor) {
  const HostTensor x = Wavy({3, 4}, 1);
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    for (const Ints& pads :
         std::vector<Ints>{{0, 1, 2, 0}, {1, 1, 1, 1}, {2, 3, 2, 3}, {5, 0, 7, 9}, {0, 0, 0, 0}}) {
      const OneNode node{.op = "Pad", .attributes = {{"mode", mode}}};
      const Dims dims = {3 + pads[0] + pads[2], 4 + pads[1] + pads[3]};
      const auto expected = [&](const Place& place) {
        const int64_t row = ReadFrom(mode, place[0] - pads[0], 3);
        const int64_t column = ReadFrom(mode, place[1] - pads[1], 4);
        return row < 0 || column < 0 ? 7.5 : At(x, {row, column});
      };
      ExpectDefinition(node, {x, Ints64(pads), Numbers<float>({}, {7.5F})}, dims, expected);
      // The same by axes in another order, counted from the back.
      ExpectDefinition(node,
                       {x, Ints64({pads[1], pads[0], pads[3], pads[2]}), Numbers<float>({}, {7.5F}),
                        Ints64({-1, -2})},
                       dims, expected);
    }
  }
}

// Enough rows and indices for several threads, each of which begins in the middle of both.
TEST(AxisDefinitionsTest, GatheredRowsAreTheSameInThreads) {
  const HostTensor x = Wavy({7, 5, 4000}, 1);
  const Ints picks = {4, 0, -1, 2, -5, 3, 3, 1, -2, 0, 4};
  const auto count = static_cast<int64_t>(picks.size());
  for (const int some : {1, 2, 3}) {
    const ThreadScope threads(some);
    ExpectDefinition(OneNode{.op = "Gather", .attributes = {{"axis", int64_t{1}}}},
                     {x, Ints64(picks)}, {7, count, 4000}, [&](const Place& place) {
                       const int64_t pick = picks[static_cast<size_t>(place[1])];
                       return At(x, {place[0], pick < 0 ? pick + 5 : pick, place[2]});
                     });
  }
}

TEST(AxisDefinitionsTest, ScatteredUpdatesLandWhereTheirIndexSays) {
  const HostTensor x = WholeNumbers(DataType::kFloat32, {4, 3}, 1);
  const HostTensor updates = WholeNumbers(DataType::kFloat32, {2, 3}, 2);
  const HostTensor indices = Numbers<int64_t>({2, 3}, {-1, 0, -4, 2, -2, 3});
  struct Join {
    std::string name;
    double (*join)(double, double);
  };
  for (const Join& one :
       {Join{"none", [](double, double update) { return update; }},
        Join{"add", [](double old, double update) { return old + update; }},
        Join{"mul", [](double old, double update) { return old * update; }},
        Join{"min", [](double old, double update) { return std::min(old, update); }},
        Join{"max", [](double old, double update) { return std::max(old, update); }}}) {
    const OneNode node{.op = "ScatterElements", .attributes = {{"reduction", one.name}}};
    ExpectDefinition(node, {x, indices, updates}, {4, 3}, [&](const Place& place) {
      double element = At(x, place);
      for (const int64_t row : {0, 1}) {
        const auto index = static_cast<int64_t>(At(indices, {row, place[1]}));
        const bool here = (index < 0 ? index + 4 : index) == place[0];
        if (here) element = one.join(element, At(updates, {row, place[1]}));
      }
      return element;
    });
    const OneNode rows{.op = "ScatterND", .attributes = {{"reduction", one.name}}};
    ExpectDefinition(
        rows, {x, Numbers<int64_t>({2, 1}, {-1, 1}), updates}, {4, 3}, [&](const Place& place) {
          if (place[0] != 3 && place[0] != 1) return At(x, place);
          return one.join(At(x, place), At(updates, {place[0] == 3 ? 0 : 1, place[1]}));
        });
  }
}

// More results than are folded at a time, and more elements.
TEST(AxisDefinitionsTest, LongRowsOfResultsAreAllFolded) {
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kInt32}) {
    const HostTensor x = WholeNumbers(type, {3, 300, 2}, 1);
    for (const int64_t axis : {0, 1, 2}) {
      Dims dims = x.dims;
      dims[static_cast<size_t>(axis)] = 1;
      const auto fold = [&](const Place& place, double start, double (*join)(double, double)) {
        Place at = place;
        double total = start;
        for (int64_t i = 0; i < x.dims[static_cast<size_t>(axis)]; ++i) {
          at[static_cast<size_t>(axis)] = i;
          total = join(total, At(x, at));
        }
        return total;
      };
      ExpectDefinition(OneNode{.op = "ReduceSum", .attributes = {}}, {x, Ints64({axis})}, dims,
                       [&](const Place& place) {
                         return fold(place, 0, [](double a, double b) { return a + b; });
                       });
      ExpectDefinition(OneNode{.op = "ReduceMax", .attributes = {}}, {x, Ints64({axis})}, dims,
                       [&](const Place& place) {
                         return fold(place, -100,
                                     [](double a, double b) { return std::max(a, b); });
                       });
    }
  }
}

// Tensors without elements go through; what is folded to nothing is what the fold begins with.
TEST(AxisDefinitionsTest, TensorsWithoutElements) {
  const HostTensor none = *AllocateOnHeap(DataType::kFloat32, {0, 4});
  const Dims same = {0, 4};
  const auto never = [](const Place&) { return 0.0; };
  for (const char* op : {"Relu", "Neg", "Softmax", "Transpose", "Identity", "Erf", "Abs"}) {
    ExpectDefinition(OneNode{.op = op, .attributes = {}}, {none},
                     std::string(op) == "Transpose" ? Dims{4, 0} : same, never);
  }
  for (const char* op : {"Add", "Mul", "Sub", "Max"}) {
    ExpectDefinition(OneNode{.op = op, .attributes = {}}, {none, Wavy({4}, 1)}, same, never);
    ExpectDefinition(OneNode{.op = op, .attributes = {}}, {none, Wavy({1, 1}, 1)}, same, never);
  }
  ExpectDefinition(OneNode{.op = "Concat", .attributes = {{"axis", int64_t{0}}}},
                   {none, Wavy({2, 4}, 3), none}, {2, 4}, [&](const Place& place) {
                     return At(Wavy({2, 4}, 3), place);
                   });
  ExpectDefinition(OneNode{.op = "MatMul", .attributes = {}}, {none, Wavy({4, 3}, 1)}, {0, 3},
                   never);
  const HostTensor flat = *AllocateOnHeap(DataType::kFloat32, {3, 0});
  ExpectDefinition(OneNode{.op = "MatMul", .attributes = {}}, {flat, none}, {3, 4}, never);
  for (const auto& [op, start] : {std::pair<const char*, double>{"ReduceSum", 0},
                                  {"ReduceProd", 1},
                                  {"ReduceL2", 0},
                                  {"ReduceSumSquare", 0}}) {
    const double begin = start;
    ExpectDefinition(OneNode{.op = op, .attributes = {}}, {none, Ints64({0})}, {1, 4},
                     [&](const Place&) { return begin; });
  }
  ExpectDefinition(OneNode{.op = "Gather", .attributes = {}}, {Wavy({3, 4}, 1), Ints64({})}, same,
                   never);
}

// Rows of some lengths, several of which become columns, against doubles one by one.
TEST(AxisDefinitionsTest, TheExtremesOfManyRowsLieWhereThoseOfDoublesDo) {
  for (const int64_t length : {1, 2, 5, 21, 64, 65}) {
    const HostTensor x = WholeNumbers(DataType::kFloat32, {3, 50, length}, 7, -9, 9);
    const HostTensor wide = WholeNumbers(DataType::kFloat64, {3, 50, length}, 7, -9, 9);
    for (const std::string op : {"ArgMax", "ArgMin"}) {
      for (const int64_t last : {0, 1}) {
        const OneNode node{.op = op,
                           .attributes = {{"axis", int64_t{2}}, {"select_last_index", last}},
                           .outputs = 1,
                           .version = 13};
        EXPECT_EQ(ElementsOf<int64_t>(MustMake(node, {x})[0]),
                  ElementsOf<int64_t>(MustMake(node, {wide})[0]))
            << op << " of rows of " << length;
      }
    }
  }
}

}  // namespace axis_definitions_test
}  // namespace plimsoll::kernels::cpu
