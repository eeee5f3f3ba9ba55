#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/moved_element.h"
#include "plimsoll/base/text.h"

// Tensors made from little: constants, ranges, and the shape of another tensor.
namespace plimsoll::kernels::cpu {
namespace {

// A kernel that writes the same elements in every run.
template <typename T>
KernelPointer WritesAlways(std::vector<T> elements) {
  return MakeKernel([elements = std::move(elements)](const KernelCall& call) {
    std::copy(elements.begin(), elements.end(), static_cast<T*>(call.outputs[0]));
  });
}

// A constant's bytes are the file's, which outlives the kernels made from it.
Result<KernelPointer> WritesTensor(const KernelSite& site, const graph::ConstantTensor& tensor) {
  if (tensor.missing) return site.BadInput("its data is missing");
  if (tensor.type == graph::DataType::kString) {
    return WritesAlways(std::vector<std::string>(tensor.strings.begin(), tensor.strings.end()));
  }
  return MakeKernel([bytes = tensor.bytes, storage = tensor.storage](const KernelCall& call) {
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(call.outputs[0]));
  });
}

Result<KernelPointer> MakeConstant(KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  for (const std::string_view name : {"value", "sparse_value"}) {
    if (const auto* tensor = attributes.Tensor(name)) return WritesTensor(site, *tensor);
  }
  if (const auto* integers = attributes.Ints("value_ints")) return WritesAlways(*integers);
  if (const auto* numbers = attributes.Floats("value_floats")) {
    return WritesAlways(std::vector<float>(numbers->begin(), numbers->end()));
  }
  if (const auto* strings = attributes.Strings("value_strings")) return WritesAlways(*strings);
  if (attributes.Find("value_int") != nullptr) {
    return WritesAlways(std::vector<int64_t>{attributes.Int("value_int", 0)});
  }
  if (attributes.Find("value_float") != nullptr) {
    return WritesAlways(std::vector<float>{static_cast<float>(attributes.Float("value_float", 0))});
  }
  if (attributes.Find("value_string") != nullptr) {
    return WritesAlways(std::vector<std::string>{attributes.String("value_string", "")});
  }
  return site.BadInput("it carries no value");
}

Result<KernelPointer> MakeConstantOfShape(KernelSite& site) {
  struct Element {
    alignas(16) std::byte bytes[16] = {};
  };
  Element element;
  if (const auto* value = site.attributes().Tensor("value")) {
    if (value->bytes.empty() || value->bytes.size() > sizeof(element.bytes)) {
      return site.BadInput("its value is not one number");
    }
    std::copy(value->bytes.begin(), value->bytes.end(), element.bytes);
  }
  return MakeKernel([element, type = site.outputs[0].type,
                     count = site.outputs[0].elements()](const KernelCall& call) {
    FillElements(type, call.outputs[0], count, element.bytes);
  });
}

Result<KernelPointer> MakeShape(KernelSite& site) {
  const int64_t rank = site.inputs[0].rank();
  const auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t first = clamped(site.attributes().Int("start", 0));
  const int64_t last = std::max(first, clamped(site.attributes().Int("end", rank)));
  const Dims& dims = site.inputs[0].dims;
  return WritesAlways(Dims(dims.begin() + first, dims.begin() + last));
}

Result<KernelPointer> MakeSize(KernelSite& site) {
  return WritesAlways(Dims{site.inputs[0].elements()});
}

// Halves are computed in float and rounded once.
Result<KernelPointer> MakeRange(KernelSite& site) {
  if (!site.outputs[0].sized) {
    const std::vector<double> start = site.inputs[0].Doubles();
    const std::vector<double> limit = site.inputs[1].Doubles();
    const std::vector<double> delta = site.inputs[2].Doubles();
    if (start.empty() || limit.empty() || delta.empty() || delta[0] == 0) {
      return site.BadInput("its delta is 0, or an input is not known");
    }
    const double count = std::ceil((limit[0] - start[0]) / delta[0]);
    if (!(count < 1e15)) return site.BadInput("it is no finite range");
    site.outputs[0].dims = {static_cast<int64_t>(std::max(count, 0.0))};
    site.outputs[0].sized = true;
  }
  KernelPointer kernel;
  VisitType<AllNumbers>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([count = site.outputs[0].elements()](const KernelCall& call) {
      const Wide<T> start = *static_cast<const T*>(call.inputs[0]);
      const Wide<T> delta = *static_cast<const T*>(call.inputs[2]);
      auto* to = static_cast<T*>(call.outputs[0]);
      for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(start + static_cast<Wide<T>>(i) * delta);
      }
    });
  });
  if (kernel == nullptr) return site.Unsupported("a range of this type");
  return kernel;
}

Result<KernelPointer> MakeEyeLike(KernelSite& site) {
  const TensorInfo& out = site.outputs[0];
  if (out.rank() != 2 || graph::Bits(out.type) < 8) {
    return site.Unsupported("it needs a matrix of a type of whole bytes");
  }
  const int64_t diagonal = site.attributes().Int("k", 0);
  return MakeKernel([type = out.type, rows = out.dims[0], columns = out.dims[1],
                     diagonal](const KernelCall& call) {
    FillElements(type, call.outputs[0], rows * columns, nullptr);
    const int64_t first = std::max<int64_t>(diagonal < 0 ? -diagonal : 0, 0);
    for (int64_t row = first; row < rows && row + diagonal < columns; ++row) {
      StoreDouble(type, call.outputs[0], row * columns + row + diagonal, 1);
    }
  });
}

// An index of any numeric type, cut to a whole number; the smallest one for what has none.
int64_t HotIndex(graph::DataType type, const void* indices, int64_t at) {
  if (!graph::IsFloating(type)) return LoadInteger(type, indices, at);
  const double index = LoadDouble(type, indices, at);
  return std::abs(index) < 1e15 ? static_cast<int64_t>(index) : std::numeric_limits<int64_t>::min();
}

// Indices outside the depth give a row of off values.
Result<KernelPointer> MakeOneHot(KernelSite& site) {
  const TensorInfo& out = site.outputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", -1), out.rank()));
  KernelPointer kernel;
  VisitMoved(out.type, [&]<typename T>() {
    kernel = MakeKernel([split = SplitAt(out.dims, axis),
                         index_type = site.inputs[0].type](const KernelCall& call) {
      const auto* values = static_cast<const T*>(call.inputs[2]);
      auto* to = static_cast<T*>(call.outputs[0]);
      std::fill_n(to, split.outer * split.length * split.inner, values[0]);
      for (int64_t lane = 0; lane < split.lanes(); ++lane) {
        int64_t hot = HotIndex(index_type, call.inputs[0], lane);
        if (hot < 0) hot += split.length;
        if (hot < 0 || hot >= split.length) continue;
        to[(lane / split.inner * split.length + hot) * split.inner + lane % split.inner] =
            values[1];
      }
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("values are ", graph::Name(out.type)));
  return kernel;
}

constexpr KernelRow kGeneratorRows[] = {
    {"", "Constant", 1, graph::kNewest, MakeConstant},
    {"", "ConstantOfShape", 9, graph::kNewest, MakeConstantOfShape},
    {"", "Shape", 1, graph::kNewest, MakeShape},
    {"", "Size", 1, graph::kNewest, MakeSize},
    {"", "Range", 11, graph::kNewest, MakeRange},
    {"", "EyeLike", 9, graph::kNewest, MakeEyeLike},
    {"", "OneHot", 9, graph::kNewest, MakeOneHot},
};

}  // namespace

std::span<const KernelRow> GeneratorKernels() { return kGeneratorRows; }

}  // namespace plimsoll::kernels::cpu
