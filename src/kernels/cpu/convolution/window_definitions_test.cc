#include <algorithm>
#include <limits>

#include "kernels/cpu/definitions_for_tests.h"

// Convolutions and pools against their definition: strides, dilations, pads that differ in front
// and behind, groups, rounding up, and pads that the operator chooses.
namespace plimsoll::kernels::cpu {
namespace window_definitions_test {

using graph::DataType;
using Ints = std::vector<int64_t>;

struct WindowCase {
  Dims spatial;
  Ints kernel;
  Ints strides;
  Ints dilations;
  Ints pads;  // in front, then behind
  std::string auto_pad = "NOTSET";
  bool ceil = false;
};

std::vector<WindowCase> Windows() {
  return {
      {{7}, {3}, {1}, {1}, {0, 0}},
      {{7}, {3}, {2}, {1}, {1, 0}},
      {{8}, {2}, {3}, {2}, {0, 1}},
      {{6, 5}, {3, 2}, {1, 2}, {1, 1}, {1, 0, 0, 1}},
      {{6, 5}, {3, 3}, {2, 1}, {1, 2}, {1, 2, 1, 2}},
      {{7, 6}, {2, 3}, {2, 2}, {2, 1}, {0, 1, 1, 0}},
      {{4, 5, 3}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1, 0, 1, 1}},
      {{7, 6}, {3, 2}, {2, 3}, {1, 1}, {0, 0, 0, 0}, "SAME_UPPER"},
      {{7, 6}, {3, 2}, {2, 3}, {1, 1}, {0, 0, 0, 0}, "SAME_LOWER"},
      {{8, 7}, {4, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}, "SAME_UPPER"},
      {{8, 7}, {4, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}, "SAME_LOWER"},
      {{7, 6}, {3, 2}, {2, 3}, {1, 1}, {0, 0, 0, 0}, "VALID"},
      {{9, 1}, {5, 1}, {2, 1}, {1, 1}, {2, 0, 1, 0}},
      {{9, 1}, {3, 1}, {1, 4}, {2, 1}, {1, 0, 1, 0}},
      {{9, 1}, {3, 1}, {1, 3}, {1, 1}, {0, 1, 0, 1}},  // the one column is pads
      {{4, 5, 1}, {2, 3, 1}, {1, 2, 1}, {1, 1, 1}, {1, 0, 0, 0, 1, 0}},
      {{6, 1, 1}, {3, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0, 1, 0, 0}},
  };
}

// The pads that the attributes mean, and the places that result.
struct Layout {
  Ints front;
  Dims places;
};

Layout LayOut(const WindowCase& one) {
  Layout layout;
  const size_t rank = one.spatial.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = (one.kernel[axis] - 1) * one.dilations[axis] + 1;
    const int64_t size = one.spatial[axis];
    const int64_t stride = one.strides[axis];
    int64_t front = one.pads[axis];
    int64_t all = front + one.pads[rank + axis];
    if (one.auto_pad.starts_with("SAME")) {
      const int64_t places = (size + stride - 1) / stride;
      all = std::max<int64_t>((places - 1) * stride + extent - size, 0);
      front = one.auto_pad == "SAME_UPPER" ? all / 2 : all - all / 2;
    }
    int64_t places = (size + all - extent) / stride + 1;
    if (one.ceil) {
      places = (size + all - extent + stride - 1) / stride + 1;
      // The last window begins inside the data or the pads in front.
      if ((places - 1) * stride >= size + front) --places;
    }
    layout.front.push_back(front);
    layout.places.push_back(places);
  }
  return layout;
}

Attributes AttributesOf(const WindowCase& one) {
  Attributes attributes = {{"kernel_shape", one.kernel}, {"strides", one.strides}};
  if (one.auto_pad == "NOTSET") {
    attributes.emplace_back("pads", one.pads);
    attributes.emplace_back("dilations", one.dilations);
  } else {
    attributes.emplace_back("auto_pad", one.auto_pad);
  }
  if (one.ceil) attributes.emplace_back("ceil_mode", int64_t{1});
  return attributes;
}

// Calls visit(tap, place in the data, inside) for each tap of the window at a place of the output.
void ForEachTap(const WindowCase& one, const Layout& layout, const Place& place,
                const std::function<void(const Place&, const Place&, bool)>& visit) {
  ForEachPlace(one.kernel, [&](const Place& tap) {
    Place at;
    bool inside = true;
    for (size_t axis = 0; axis < tap.size(); ++axis) {
      at.push_back(place[axis] * one.strides[axis] + tap[axis] * one.dilations[axis] -
                   layout.front[axis]);
      inside = inside && at[axis] >= 0 && at[axis] < one.spatial[axis];
    }
    visit(tap, at, inside);
  });
}

Dims With(int64_t first, int64_t second, const Dims& rest) {
  Dims dims = {first, second};
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

Place Spatial(const Place& place) { return {place.begin() + 2, place.end()}; }

TEST(WindowDefinitionsTest, ConvolutionsOfEveryWindowAndGroup) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (const WindowCase& one : Windows()) {
      for (const int64_t groups : {1, 2}) {
        const int64_t channels = 2 * groups;
        const int64_t filters = 3 * groups;
        const Layout layout = LayOut(one);
        const HostTensor x = WholeNumbers(type, With(2, channels, one.spatial), 1);
        const HostTensor w = WholeNumbers(type, With(filters, 2, one.kernel), 2);
        const HostTensor b = WholeNumbers(type, {filters}, 3);
        OneNode node{.op = "Conv", .attributes = AttributesOf(one)};
        node.attributes.emplace_back("group", groups);
        ExpectDefinition(node, {x, w, b}, With(2, filters, layout.places), [&](const Place& place) {
          double sum = At(b, {place[1]});
          ForEachTap(one, layout, Spatial(place), [&](const Place& tap, const Place& at, bool in) {
            for (int64_t c = 0; in && c < 2; ++c) {
              sum +=
                  At(x, With(place[0], place[1] / 3 * 2 + c, at)) * At(w, With(place[1], c, tap));
            }
          });
          return sum;
        });
      }
    }
  }
}

std::vector<WindowCase> PoolWindows() {
  std::vector<WindowCase> cases;
  for (WindowCase one : Windows()) {
    if (one.auto_pad == "NOTSET") {
      one.ceil = true;
      cases.push_back(one);
      one.ceil = false;
    }
    cases.push_back(one);
  }
  return cases;
}

TEST(WindowDefinitionsTest, LargestElementsAndTheirPlaces) {
  for (const WindowCase& one : PoolWindows()) {
    const Layout layout = LayOut(one);
    const HostTensor x = Wavy(With(2, 2, one.spatial), 5);
    for (const int64_t columns_first : {0, 1}) {
      OneNode node{.op = "MaxPool", .attributes = AttributesOf(one), .outputs = 2};
      if (columns_first == 1 && one.spatial.size() != 2) continue;
      node.attributes.emplace_back("storage_order", columns_first);
      const auto made = MustMake(node, {x});
      ASSERT_EQ(made.size(), 2U);
      const OneNode plain{.op = "MaxPool", .attributes = AttributesOf(one)};
      const auto largest = MustMake(plain, {x});
      ASSERT_EQ(largest.size(), 1U);
      ASSERT_EQ(made[0].dims, With(2, 2, layout.places));
      ASSERT_EQ(largest[0].dims, made[0].dims);
      ForEachPlace(made[0].dims, [&](const Place& place) {
        double best = -std::numeric_limits<double>::infinity();
        int64_t index = -1;
        ForEachTap(one, layout, Spatial(place), [&](const Place&, const Place& at, bool in) {
          if (!in || At(x, With(place[0], place[1], at)) <= best) return;
          best = At(x, With(place[0], place[1], at));
          const int64_t map = place[0] * 2 + place[1];
          index = map * ElementCount(one.spatial) +
                  (columns_first == 1 ? at[1] * one.spatial[0] + at[0] : IndexOf(one.spatial, at));
        });
        ASSERT_EQ(At(made[0], place), best);
        ASSERT_EQ(At(largest[0], place), best);
        ASSERT_EQ(At(made[1], place), static_cast<double>(index));
      });
    }
  }
}

TEST(WindowDefinitionsTest, AveragesWithAndWithoutTheirPads) {
  for (const WindowCase& one : PoolWindows()) {
    const Layout layout = LayOut(one);
    const HostTensor x = Wavy(With(1, 2, one.spatial), 6);
    for (const int64_t with_pads : {0, 1}) {
      OneNode node{.op = "AveragePool", .attributes = AttributesOf(one)};
      node.attributes.emplace_back("count_include_pad", with_pads);
      const size_t rank = one.spatial.size();
      ExpectDefinition(node, {x}, With(1, 2, layout.places), [&](const Place& place) {
        double sum = 0;
        int64_t count = 0;
        ForEachTap(one, layout, Spatial(place), [&](const Place&, const Place& at, bool in) {
          if (in) sum += At(x, With(place[0], place[1], at));
          // Behind the pads, where rounding up reaches, nothing counts.
          bool counts = true;
          for (size_t axis = 0; axis < rank; ++axis) {
            const bool same = one.auto_pad.starts_with("SAME");
            const int64_t behind = same ? one.kernel[axis] : one.pads[rank + axis];
            counts = counts && at[axis] < one.spatial[axis] + behind;
          }
          count += with_pads == 1 ? counts : in;
        });
        return sum / static_cast<double>(count);
      });
    }
  }
}

TEST(WindowDefinitionsTest, PowersOfAPool) {
  for (const WindowCase& one : Windows()) {
    const Layout layout = LayOut(one);
    const HostTensor x = Wavy(With(1, 2, one.spatial), 7);
    for (const int64_t p : {1, 3}) {
      OneNode node{.op = "LpPool", .attributes = AttributesOf(one)};
      node.attributes.emplace_back("p", p);
      ExpectDefinition(node, {x}, With(1, 2, layout.places), [&](const Place& place) {
        double sum = 0;
        ForEachTap(one, layout, Spatial(place), [&](const Place&, const Place& at, bool in) {
          if (!in) return;
          sum += std::pow(std::abs(At(x, With(place[0], place[1], at))), static_cast<double>(p));
        });
        return std::pow(sum, 1 / static_cast<double>(p));
      });
    }
  }
}

// A transposed convolution spreads each element over the places that a convolution would read it
// from.
TEST(WindowDefinitionsTest, TransposedConvolutionsSpreadWhatConvolutionsGather) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (const int64_t groups : {1, 2}) {
      for (const int64_t extra : {0, 1}) {
        const Ints strides = {2, 3};
        const Ints kernel = {3, 2};
        const Ints pads = {1, 0, 0, 1};
        const HostTensor x = WholeNumbers(type, {2, 2 * groups, 3, 4}, 1);
        const HostTensor w = WholeNumbers(type, {2 * groups, 3, 3, 2}, 2);
        const OneNode node{.op = "ConvTranspose",
                           .attributes = {{"strides", strides},
                                          {"kernel_shape", kernel},
                                          {"pads", pads},
                                          {"group", groups},
                                          {"output_padding", Ints{extra, extra}}}};
        const Dims dims = {2, 3 * groups, 2 * 2 + 3 - 1 + extra, 3 * 3 + 2 - 1 + extra};
        ExpectDefinition(node, {x, w}, dims, [&](const Place& place) {
          double sum = 0;
          const int64_t group = place[1] / 3;
          ForEachPlace({2, 3, 4}, [&](const Place& from) {
            const int64_t row = place[2] + pads[0] - from[1] * strides[0];
            const int64_t column = place[3] + pads[1] - from[2] * strides[1];
            if (row < 0 || row >= kernel[0] || column < 0 || column >= kernel[1]) return;
            const int64_t channel = group * 2 + from[0];
            sum += At(x, {place[0], channel, from[1], from[2]}) *
                   At(w, {channel, place[1] % 3, row, column});
          });
          return sum;
        });
      }
    }
  }
}

HostTensor AsDoubles(const HostTensor& floats) {
  const std::vector<float> elements = ElementsOf<float>(floats);
  return Numbers(floats.dims, std::vector<double>(elements.begin(), elements.end()));
}

// Layers of doubles go tap by tap; those of floats over one channel each go phase by phase.
TEST(WindowDefinitionsTest, TransposedConvolutionsOfSingleChannelsGiveWhatDoublesGive) {
  struct Layer {
    Dims data;
    Dims weights;
    Ints strides, pads, more;
  };
  for (const Layer& one :
       std::vector<Layer>{{{2, 5, 9, 23}, {5, 1, 4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}},
                          {{1, 7, 6, 19}, {7, 1, 3, 5}, {3, 2}, {0, 2, 1, 0}, {2, 1}},
                          {{1, 3, 11, 4}, {3, 2, 2, 3}, {4, 1}, {0, 0, 0, 0}, {1, 0}},
                          {{3, 4, 50}, {4, 1, 9}, {5}, {2, 3}, {1}},
                          {{1, 6, 20, 37}, {6, 1, 1, 1}, {1, 3}, {0, 0, 0, 0}, {0, 0}},
                          {{1, 6, 7, 8}, {6, 1, 3, 3}, {2, 2}, {4, 4, 0, 0}, {0, 0}}}) {
    const int64_t filters = one.weights[0] * one.weights[1];
    const OneNode node{.op = "ConvTranspose",
                       .attributes = {{"group", one.weights[0]},
                                      {"strides", one.strides},
                                      {"pads", one.pads},
                                      {"output_padding", one.more}},
                       .outputs = 1,
                       .version = 11};
    const HostTensor x = Wavy(one.data);
    const HostTensor w = Wavy(one.weights, 1);
    const HostTensor bias = Wavy({filters}, 2);
    const auto made = MustMake(node, {x, w, bias});
    const auto exact = MustMake(node, {AsDoubles(x), AsDoubles(w), AsDoubles(bias)});
    const auto got = ElementsOf<float>(made[0]);
    const auto expected = ElementsOf<double>(exact[0]);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5) << "at " << i;
  }
}

}  // namespace window_definitions_test
}  // namespace plimsoll::kernels::cpu
