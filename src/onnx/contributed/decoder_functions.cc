#include <algorithm>

#include "graph/operator_row.h"
#include "onnx/contributed/compositions.h"
#include "plimsoll/base/text.h"

// Operators of decoders of text and pictures, which are a few nodes of the standard each.
namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;
using NamedAttributes = FunctionWriter::NamedAttributes;

Name InFloat32(FunctionWriter& f, Name value) {
  return f.Make("Cast", {value}, {{"to", static_cast<int64_t>(graph::DataType::kFloat32)}});
}

Name Joined(FunctionWriter& f, std::vector<Name> lists) {
  return f.Make("Concat", std::move(lists), {{"axis", int64_t{0}}});
}

// Streams as [..., branches, width], whose branches an attribute counts where they lie side by side
// in the last axis.
struct Branches {
  Name front;  // the sizes of all axes but the last
  Name data;   // in float32

  explicit Branches(FunctionWriter& f) {
    const int64_t count = f.given().Int("num_branches", 0);
    const Name wide = InFloat32(f, f.in(0));
    const Name sizes = f.Make("Shape", {f.in(0)}, {{"end", int64_t{-1}}});
    front = count > 0 ? Joined(f, {sizes, f.Int64s({count})}) : sizes;
    data = f.Make("Reshape", {wide, Joined(f, {front, f.Int64s({-1})})});
  }
  // Gates of branches, or of each of their elements, with the axes of the data.
  Name Gates(FunctionWriter& f, Name gates) const {
    return f.Make("Reshape", {InFloat32(f, gates), Joined(f, {front, f.Int64s({-1})})});
  }
};

// Rows of the last axis by their root mean square, then times `scale`.
Name RmsNormalized(FunctionWriter& f, Name rows, Name scale, double epsilon) {
  const Name width = f.Make("Shape", {rows}, {{"start", int64_t{-1}}});
  const Name ones = f.Make("Expand", {f.Float32(1), width});
  const Name normalized = f.Make("RMSNormalization", {rows, ones}, {{"epsilon", epsilon}});
  if (scale.empty()) return normalized;
  const Name weights = f.Make("Reshape", {InFloat32(f, scale), Joined(f, {f.Int64s({-1}), width})});
  return f.Make("Mul", {normalized, weights});
}

// `value` with the sizes and the type of `like`.
void AddShapedLike(FunctionWriter& f, Name value, Name like, Name result) {
  const Name shaped = f.Make("Reshape", {value, f.Make("Shape", {like})});
  f.Add("CastLike", {shaped, like}, {result});
}

}  // namespace

Status WriteBranchwiseRMSNorm(FunctionWriter& f) {
  const Branches branches(f);
  AddShapedLike(f, RmsNormalized(f, branches.data, f.in(1), f.given().Float("epsilon", 1e-6F)),
                f.in(0), f.out(0));
  return {};
}

Status WriteHyperConnectionPreMix(FunctionWriter& f) {
  const Branches branches(f);
  const Name gated = f.Make("Mul", {branches.data, branches.Gates(f, f.in(1))});
  const Name sum = f.Make("ReduceSum", {gated, f.Int64s({-2})}, {{"keepdims", int64_t{0}}});
  const Name scaled = f.Make("Mul", {sum, f.Float32(f.given().Float("reduction_scale", 1))});
  f.Add("CastLike", {scaled, f.in(0)}, {f.out(0)});
  return {};
}

Status WriteHyperConnectionPostMix(FunctionWriter& f) {
  const Branches branches(f);
  Name mixed = branches.data;
  if (f.has(3)) {
    mixed =
        f.Make("FusedMatMul", {InFloat32(f, f.in(3)), mixed}, {{"transA", int64_t{1}}}, "plimsoll");
  }
  const Name block = f.Make("Unsqueeze", {InFloat32(f, f.in(1)), f.Int64s({-2})});
  const Name sum = f.Make("Add", {mixed, f.Make("Mul", {branches.Gates(f, f.in(2)), block})});
  AddShapedLike(f, sum, f.in(0), f.out(0));
  return {};
}

Status WriteEngramGate(FunctionWriter& f) {
  if (f.wants(1) && !f.has(5)) return CannotWrite("there is no scale of the normalized values");
  constexpr double kLeast = 1e-6;
  const double epsilon = f.given().Float("epsilon", 1e-5F);
  const Name key = RmsNormalized(f, InFloat32(f, f.in(0)), f.in(3), epsilon);
  const Name query = RmsNormalized(f, InFloat32(f, f.in(1)), f.in(4), epsilon);
  const Name sum = f.Make("ReduceSum", {f.Make("Mul", {key, query}), f.Int64s({-1})});
  const Name width = InFloat32(f, f.Make("Shape", {f.in(0)}, {{"start", int64_t{-1}}}));
  const Name dot = f.Make("Div", {sum, f.Make("Sqrt", {width})});
  const Name size = f.Make("Max", {f.Make("Abs", {dot}), f.Float32(kLeast)});
  const Name root = f.Make("Mul", {f.Make("Sign", {dot}), f.Make("Sqrt", {size})});
  const Name value = f.Make("Unsqueeze", {InFloat32(f, f.in(2)), f.Int64s({-2})});
  const Name gated = f.Make("Mul", {f.Make("Sigmoid", {root}), value});
  f.Add("CastLike", {gated, f.in(0)}, {f.out(0)});
  if (f.wants(1)) {
    f.Add("CastLike", {RmsNormalized(f, gated, f.in(5), epsilon), f.in(0)}, {f.out(1)});
  }
  return {};
}

Status WriteLinearAttentionGate(FunctionWriter& f) {
  if (f.wants(1) && !f.has(3)) return CannotWrite("there is nothing to make beta of");
  const Name biased = f.Make("Add", {InFloat32(f, f.in(0)), f.in(1)});
  const Name decay = f.Make("Mul", {f.Make("Softplus", {biased}), f.in(2)});
  f.Add("CastLike", {decay, f.in(0)}, {f.out(0)});
  if (f.wants(1)) f.Add("Sigmoid", {f.in(3)}, {f.out(1)});
  return {};
}

// A token has three positions, of time, height and width. Each angle goes by one of them: in
// sections one after the other, or in turn.
Status WriteMRotaryEmbedding(FunctionWriter& f) {
  const std::vector<int64_t>* sections = f.given().Ints("mrope_section");
  constexpr int64_t kMost = 1 << 16;  // angles of one section
  const auto is_size = [](int64_t section) { return section >= 0 && section <= kMost; };
  if (sections == nullptr || sections->size() != 3 || !std::ranges::all_of(*sections, is_size)) {
    return CannotWrite("mrope_section is not 3 sizes");
  }
  if (f.given().Int("is_packed_batching", 0) != 0) {
    return CannotWrite("is_packed_batching is not known");
  }
  if (f.given().Float("scale", 1) != 1) return CannotWrite("a scale is not known");
  const bool in_turn = f.given().Int("mrope_layout", 0) != 0;
  const auto time = static_cast<size_t>((*sections)[0]);
  const auto high = static_cast<size_t>((*sections)[1]);
  const auto wide = static_cast<size_t>((*sections)[2]);
  const size_t count = time + high + wide;
  std::vector<int64_t> by_height(count);
  std::vector<int64_t> by_width(count);
  for (size_t i = 0; i < count; ++i) {
    by_height[i] = in_turn ? i % 3 == 1 && i < 3 * high : i >= time && i < time + high;
    by_width[i] = in_turn ? i % 3 == 2 && i < 3 * wide : i >= time + high;
  }
  const auto mask = [&](std::vector<int64_t> elements) {
    return f.Make("Cast", {f.Int64s(std::move(elements))},
                  {{"to", static_cast<int64_t>(graph::DataType::kBool)}});
  };
  const Name height_mask = mask(std::move(by_height));
  const Name width_mask = mask(std::move(by_width));
  const auto angles = [&](Name cache) {
    const auto at = [&](int64_t stream) {
      return f.Make("Gather", {cache, f.Make("Gather", {f.in(1), f.Int64(stream)})});
    };
    const Name two = f.Make("Where", {height_mask, at(1), at(0)});
    return f.Make("Where", {width_mask, at(2), two});
  };
  const Name cosines = angles(f.in(2));
  const Name sines = angles(f.in(3));
  // Each token has a row of its own in these caches.
  const Name sizes = f.Make("Shape", {f.in(1)}, {{"start", int64_t{1}}});
  const Name tokens = f.Make("ReduceProd", {sizes}, {{"keepdims", int64_t{0}}});
  const Name rows = f.Make("Reshape", {f.Make("Range", {f.Int64(0), tokens, f.Int64(1)}), sizes});
  const Name flat = f.Int64s({-1, static_cast<int64_t>(count)});
  NamedAttributes attributes;
  for (const std::string_view name : {"interleaved", "num_heads", "rotary_embedding_dim"}) {
    f.PassOn(attributes, name);
  }
  f.Add("RotaryEmbedding",
        {f.in(0), rows, f.Make("Reshape", {cosines, flat}), f.Make("Reshape", {sines, flat})},
        {f.out(0)}, std::move(attributes), graph::kContributedDomain);
  return {};
}

}  // namespace plimsoll::onnx
