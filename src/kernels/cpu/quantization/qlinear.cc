#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/byte_loops.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Operators over quantised elements, each operand with its scale and zero point.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

// A scale and the zero point behind it, as inputs of a node.
struct ScalePorts {
  size_t scale = 0;
  DataType type = DataType::kUndefined;  // of the elements, and of the zero point

  float Scale(const KernelCall& call) const {
    return *static_cast<const float*>(call.inputs[scale]);
  }
  int32_t Zero(const KernelCall& call) const {
    const void* const zero = scale + 1 < call.inputs.size() ? call.inputs[scale + 1] : nullptr;
    return zero == nullptr ? 0 : static_cast<int32_t>(LoadInteger(type, zero, 0));
  }
};

Result<ScalePorts> ReadScale(const KernelSite& site, size_t scale, DataType type) {
  if (!IsByte(type)) {
    return site.Unsupported(StrCat("there is no such operator over ", graph::Name(type)));
  }
  for (const size_t input : {scale, scale + 1}) {
    if (site.has_input(input) && site.inputs[input].elements() != 1) {
      return site.Unsupported("a scale or zero point is not one for the whole tensor");
    }
  }
  if (site.inputs[scale].type != DataType::kFloat32) {
    return site.Unsupported(StrCat("a scale is ", graph::Name(site.inputs[scale].type)));
  }
  return ScalePorts{.scale = scale, .type = type};
}

// How elements of `a` and `b` become one of `y`, in ONNX Runtime's order or, with `float_steps`, as
// the operator gives them between DequantizeLinear and QuantizeLinear.
ByteOperands OperandsOf(const KernelCall& call, bool product, bool float_steps, const ScalePorts& a,
                        const ScalePorts& b, const ScalePorts& y) {
  ByteOperands operands{.is_signed = y.type == DataType::kInt8, .product = product};
  operands.offset = static_cast<float>(y.Zero(call));
  if (product || float_steps) {
    operands.zero_a = a.Zero(call);
    operands.zero_b = b.Zero(call);
  }
  if (float_steps) {
    operands.factor_a = a.Scale(call);
    operands.factor_b = b.Scale(call);
    operands.divisor = y.Scale(call);
    return operands;
  }
  if (product) {
    operands.factor_a = a.Scale(call) * b.Scale(call) / y.Scale(call);
    return operands;
  }
  operands.factor_a = a.Scale(call) / y.Scale(call);
  operands.factor_b = b.Scale(call) / y.Scale(call);
  operands.offset -= std::fma(operands.factor_a, static_cast<float>(a.Zero(call)),
                              operands.factor_b * static_cast<float>(b.Zero(call)));
  return operands;
}

// Whether ONNX Runtime takes the first operand for one number although the second may be as well:
// the innermost axes that both have are 1.
bool FirstIsOneNumber(const Dims& a, const Dims& b) {
  const auto size = [](const Dims& dims, size_t from_end) {
    return from_end < dims.size() ? dims[dims.size() - 1 - from_end] : 1;
  };
  const size_t axes = std::max<size_t>(std::min(a.size(), b.size()), 1);
  for (size_t i = 0; i < axes; ++i) {
    if (size(a, i) != 1 || size(b, i) != 1) return false;
  }
  return true;
}

template <bool product>
Result<KernelPointer> MakeQLinearBinary(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  PLIMSOLL_ASSIGN(const ScalePorts a, ReadScale(site, 1, type));
  PLIMSOLL_ASSIGN(const ScalePorts b, ReadScale(site, 4, type));
  PLIMSOLL_ASSIGN(const ScalePorts y, ReadScale(site, 6, type));
  const auto layout =
      Broadcast<2>::Make(site.outputs[0].dims, {site.inputs[0].dims, site.inputs[3].dims});
  if (!layout) return site.Unsupported("the operands broadcast over too many axes");
  const bool float_steps = site.attributes().Int("float_steps", 0) != 0;
  const bool always_exchanged = FirstIsOneNumber(site.inputs[0].dims, site.inputs[3].dims);
  return MakeKernel([=, layout = *layout](const KernelCall& call) {
    const ByteOperands operands = OperandsOf(call, product, float_steps, a, b, y);
    const ByteOperands exchanged = OperandsOf(call, product, float_steps, b, a, y);
    ParallelFor(layout.count(), kElementGrain, [&](int64_t begin, int64_t end) {
      layout.ForEachRun(
          begin, end, [&](int64_t position, int64_t count, const auto& offsets, const auto& steps) {
            // What is one number for a whole run comes second.
            const bool exchange = always_exchanged || steps[0] == 0;
            ByteOperands run = exchange ? exchanged : operands;
            run.a = static_cast<const char*>(call.inputs[exchange ? 3 : 0]) + offsets[exchange];
            run.b = static_cast<const char*>(call.inputs[exchange ? 0 : 3]) + offsets[!exchange];
            run.step_a = steps[exchange];
            run.step_b = steps[!exchange];
            CombineBytes(run, count, static_cast<char*>(call.outputs[0]) + position);
          });
    });
  });
}

// Calls value(number that the byte stands for) and quantises what it gives.
template <typename Value>
ByteTable MakeTable(DataType type, float scale, int32_t zero, float y_scale, int32_t y_zero,
                    const Value& value) {
  ByteTable table;
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<uint8_t>(i);
    const int32_t element = type == DataType::kInt8 ? static_cast<int8_t>(byte) : byte;
    const float made = value(static_cast<float>(element - zero) * scale);
    StoreQuantized(type, made / y_scale, y_zero, table.data(), i);
  }
  return table;
}

float SigmoidOf(float x, float) { return 1 / (1 + std::exp(-x)); }
float LeakyReluOf(float x, float alpha) { return x < 0 ? alpha * x : x; }

template <float (*function)(float x, float alpha)>
Result<KernelPointer> MakeQLinearUnary(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  PLIMSOLL_ASSIGN(const ScalePorts x, ReadScale(site, 1, type));
  PLIMSOLL_ASSIGN(const ScalePorts y, ReadScale(site, 3, type));
  const auto alpha = static_cast<float>(site.attributes().Float("alpha", 0.01F));
  return MakeKernel([=, count = site.inputs[0].elements()](const KernelCall& call) {
    const ByteTable table =
        MakeTable(type, x.Scale(call), x.Zero(call), y.Scale(call), y.Zero(call),
                  [alpha](float value) { return function(value, alpha); });
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      TranslateBytes(table, static_cast<const uint8_t*>(call.inputs[0]) + begin, end - begin,
                     static_cast<uint8_t*>(call.outputs[0]) + begin);
    });
  });
}

// plimsoll::ByteTable, described in graph/operators/product/fused.cc.
Result<KernelPointer> MakeByteTable(KernelSite& site) {
  if (!IsByte(site.inputs[0].type) || !IsByte(site.inputs[1].type)) {
    return site.Unsupported("a table is for bytes");
  }
  return MakeKernel([count = site.inputs[0].elements()](const KernelCall& call) {
    ByteTable table;
    std::memcpy(table.data(), call.inputs[1], table.size());
    ParallelFor(count, kElementGrain, [&](int64_t begin, int64_t end) {
      TranslateBytes(table, static_cast<const uint8_t*>(call.inputs[0]) + begin, end - begin,
                     static_cast<uint8_t*>(call.outputs[0]) + begin);
    });
  });
}

// Rows along one axis, or along all axes from it on in the form before operator set 13.
struct SoftmaxRows {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
};

// Powers of e for numbers less than the row's largest by 0, 1 ... steps, all times one number, and
// the same times the steps in 1.
struct SoftmaxTable {
  std::array<float, 256> powers;
  std::array<float, 256> steps;

  // In the order of ONNX Runtime, where a row's sum is little less than what float32 holds, and
  // where the steps in 1 are a whole number.
  SoftmaxTable(float scale, int64_t length, float y_scale) {
    const float most = std::numeric_limits<float>::max() / static_cast<float>(length);
    const double shift = std::max(0.0, std::log(static_cast<double>(most)) - 5) / scale;
    const float steps_in_one = std::floor(1.0f / y_scale);
    for (size_t i = 0; i < powers.size(); ++i) {
      powers[i] = static_cast<float>(std::exp((shift - static_cast<double>(i)) * scale));
      steps[i] = powers[i] * steps_in_one;
    }
  }
};

template <typename T>
void SoftmaxRow(const T* x, const SoftmaxRows& rows, const SoftmaxTable& table, int32_t y_zero,
                T* y) {
  int32_t most = x[0];
  for (int64_t i = 1; i < rows.length; ++i) most = std::max<int32_t>(most, x[i * rows.inner]);
  float sum = 0;
  for (int64_t i = 0; i < rows.length; ++i) sum += table.powers[most - x[i * rows.inner]];
  std::array<float, 256> some;
  std::array<T, 256> bytes;
  for (int64_t first = 0; first < rows.length; first += std::ssize(some)) {
    const int64_t count = std::min<int64_t>(std::ssize(some), rows.length - first);
    for (int64_t i = 0; i < count; ++i) {
      some[static_cast<size_t>(i)] = table.steps[most - x[(first + i) * rows.inner]];
    }
    QuantizeRun(some.data(), count, sum, y_zero, bytes.data());
    for (int64_t i = 0; i < count; ++i) y[(first + i) * rows.inner] = bytes[static_cast<size_t>(i)];
  }
}

Result<KernelPointer> MakeQLinearSoftmax(KernelSite& site) {
  const DataType type = site.inputs[0].type;
  PLIMSOLL_ASSIGN(const ScalePorts x, ReadScale(site, 1, type));
  PLIMSOLL_ASSIGN(const ScalePorts y, ReadScale(site, 3, type));
  const Dims& dims = site.inputs[0].dims;
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = site.attributes().Int("axis", -1);
  if (axis < 0) axis += rank;
  if (rank > 0 && (axis < 0 || axis >= rank)) return site.BadInput("there is no such axis");
  const bool to_the_end = site.attributes().Int("opset", 13) < 13;
  SoftmaxRows rows;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<size_t>(i)];
    if (i < axis) {
      rows.outer *= size;
    } else if (i == axis || to_the_end) {
      rows.length *= size;
    } else {
      rows.inner *= size;
    }
  }
  if (rows.length == 0) rows.outer = 0;
  return MakeKernel([=](const KernelCall& call) {
    const SoftmaxTable table(x.Scale(call), rows.length, y.Scale(call));
    const int64_t count = rows.outer * rows.inner;
    const int32_t y_zero = y.Zero(call);
    VisitType<TypeList<int8_t, uint8_t>>(type, [&]<typename T>() {
      ParallelFor(count, std::max<int64_t>(kElementGrain / rows.length, 1),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      const int64_t at =
                          row / rows.inner * rows.length * rows.inner + row % rows.inner;
                      SoftmaxRow(static_cast<const T*>(call.inputs[0]) + at, rows, table, y_zero,
                                 static_cast<T*>(call.outputs[0]) + at);
                    }
                  });
    });
  });
}

struct JoinedPart {
  size_t input;
  ScalePorts scale;
  int64_t size;  // bytes that lie together
};

// Scale and zero point of the result, then triples of a tensor, its scale and its zero point.
Result<KernelPointer> MakeQLinearConcat(KernelSite& site) {
  const DataType type = site.outputs[0].type;
  PLIMSOLL_ASSIGN(const ScalePorts y, ReadScale(site, 0, type));
  const Dims& dims = site.outputs[0].dims;
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = site.attributes().Int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return site.BadInput("there is no such axis");
  const int64_t outer = ElementCount(std::span(dims).first(static_cast<size_t>(axis)));
  std::vector<JoinedPart> parts;
  for (size_t input = 2; input + 2 < site.inputs.size() + 1; input += 3) {
    const Dims& own = site.inputs[input].dims;
    PLIMSOLL_ASSIGN(const ScalePorts scale, ReadScale(site, input + 1, site.inputs[input].type));
    parts.push_back(
        {input, scale, ElementCount(std::span(own).subspan(static_cast<size_t>(axis)))});
  }
  return MakeKernel([=, parts = std::move(parts)](const KernelCall& call) {
    int64_t row = 0;
    for (const JoinedPart& part : parts) row += part.size;
    auto* to = static_cast<uint8_t*>(call.outputs[0]);
    for (const JoinedPart& part : parts) {
      const auto* const from = static_cast<const uint8_t*>(call.inputs[part.input]);
      const bool same = part.scale.type == y.type && part.scale.Scale(call) == y.Scale(call) &&
                        part.scale.Zero(call) == y.Zero(call);
      ByteTable table;
      for (int i = 0; i < 256 && !same; ++i) {
        const auto byte = static_cast<uint8_t>(i);
        const int32_t element =
            part.scale.type == DataType::kInt8 ? static_cast<int8_t>(byte) : byte;
        const float value =
            static_cast<float>(element - part.scale.Zero(call)) * part.scale.Scale(call);
        StoreQuantized(y.type, value / y.Scale(call), y.Zero(call), table.data(), i);
      }
      ParallelFor(outer, std::max<int64_t>(kElementGrain / std::max<int64_t>(part.size, 1), 1),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end && part.size > 0; ++i) {
                      if (same) {
                        std::memcpy(to + i * row, from + i * part.size,
                                    static_cast<size_t>(part.size));
                      } else {
                        TranslateBytes(table, from + i * part.size, part.size, to + i * row);
                      }
                    }
                  });
      to += part.size;
    }
  });
}

constexpr std::string_view kMicrosoft = graph::kContributedDomain;

constexpr KernelRow kQLinearRows[] = {
    {kMicrosoft, "QLinearAdd", 1, graph::kNewest, MakeQLinearBinary<false>},
    {kMicrosoft, "QLinearMul", 1, graph::kNewest, MakeQLinearBinary<true>},
    {kMicrosoft, "QLinearSigmoid", 1, graph::kNewest, MakeQLinearUnary<SigmoidOf>},
    {kMicrosoft, "QLinearLeakyRelu", 1, graph::kNewest, MakeQLinearUnary<LeakyReluOf>},
    {kMicrosoft, "QLinearSoftmax", 1, graph::kNewest, MakeQLinearSoftmax},
    {kMicrosoft, "QLinearConcat", 1, graph::kNewest, MakeQLinearConcat},
    {"plimsoll", "ByteTable", 1, graph::kNewest, MakeByteTable},
};

}  // namespace

std::span<const KernelRow> QLinearKernels() { return kQLinearRows; }

}  // namespace plimsoll::kernels::cpu
