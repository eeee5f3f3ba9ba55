#include "kernels/cpu/definitions_for_tests.h"
#include "kernels/parallel.h"

// Elements written several times: Tile, Expand, and Pads around a tensor.
namespace plimsoll::kernels::cpu {
namespace repeat_test {

using graph::DataType;

Place Wrapped(Place place, const Dims& dims) {
  for (size_t axis = 0; axis < dims.size(); ++axis) place[axis] %= dims[axis];
  return place;
}

// Rows and blocks of all lengths; the last ones are worth several threads.
TEST(TileTest, RepeatsEveryAxis) {
  struct Case {
    Dims dims;
    Dims repeats;
  };
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    for (const Case& one : std::vector<Case>{{{5}, {1}},
                                             {{1}, {70}},
                                             {{3}, {7}},
                                             {{2, 3}, {3, 1}},
                                             {{2, 3}, {1, 5}},
                                             {{2, 1, 3}, {2, 4, 2}},
                                             {{2, 3, 4, 5}, {2, 2, 3, 3}},
                                             {{2, 3, 4, 5}, {1, 2, 1, 1}},
                                             {{30, 40, 50}, {2, 1, 3}},
                                             {{300, 200}, {3, 1}}}) {
      Dims out;
      for (size_t axis = 0; axis < one.dims.size(); ++axis) {
        out.push_back(one.dims[axis] * one.repeats[axis]);
      }
      for (const DataType type : {DataType::kFloat32, DataType::kUint8, DataType::kInt64}) {
        const HostTensor x = WholeNumbers(type, one.dims, 1);
        ExpectDefinition(OneNode{"Tile", {}}, {x, Ints64(one.repeats)}, out,
                         [&](const Place& place) { return At(x, Wrapped(place, one.dims)); });
      }
    }
  }
}

TEST(ExpandTest, LongRunsOfOneElementAreWhole) {
  const HostTensor x = WholeNumbers(DataType::kInt32, {3, 1}, 1);
  ExpectDefinition(OneNode{"Expand", {}}, {x, Ints64({2, 3, 1500})}, {2, 3, 1500},
                   [&](const Place& place) {
                     return At(x, {place[1], 0});
                   });
}

TEST(PadTest, ConstantsLieAroundTheInputOnEveryAxis) {
  for (const Dims& pads : std::vector<Dims>{
           {0, 1, 0, 2}, {1, 0, 2, 0}, {1, 600, 2, 3}, {-1, 1, 2, -1}, {0, 0, 0, 0}}) {
    const Dims dims = {4, 5};
    const HostTensor x = WholeNumbers(DataType::kFloat32, dims, 1);
    const Dims out = {dims[0] + pads[0] + pads[2], dims[1] + pads[1] + pads[3]};
    ExpectDefinition(
        {"Pad", {}}, {x, Ints64(pads), Numbers<float>({}, {7})}, out, [&](const Place& place) {
          const Place at = {place[0] - pads[0], place[1] - pads[1]};
          const bool inside = at[0] >= 0 && at[0] < dims[0] && at[1] >= 0 && at[1] < dims[1];
          return inside ? At(x, at) : 7;
        });
  }
}

}  // namespace repeat_test
}  // namespace plimsoll::kernels::cpu
