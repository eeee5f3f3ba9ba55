#include "kernels/cpu/elementwise/text_conversion.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/cpu/elementwise/conversion.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

template <typename Number>
void Write(Number value, std::string& text) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  text.assign(buffer.data(), end);
}

// As a double or, if it is one no wider, as a float: its shortest form is the shorter.
void WriteFloating(double value, bool is_double, std::string& text) {
  if (std::isnan(value)) {
    text = "NaN";
  } else if (std::isinf(value)) {
    text = value > 0 ? "INF" : "-INF";
  } else if (is_double) {
    Write(value, text);
  } else {
    Write(static_cast<float>(value), text);
  }
}

KernelPointer MakeToText(DataType from, int64_t count) {
  return MakeKernel([from, count](const KernelCall& call) {
    auto* out = static_cast<std::string*>(call.outputs[0]);
    for (int64_t i = 0; i < count; ++i) {
      if (graph::IsFloating(from)) {
        WriteFloating(LoadDouble(from, call.inputs[0], i), from == DataType::kFloat64, out[i]);
      } else if (from == DataType::kUint64) {
        Write(static_cast<uint64_t>(LoadInteger(from, call.inputs[0], i)), out[i]);
      } else {
        Write(LoadInteger(from, call.inputs[0], i), out[i]);
      }
    }
  });
}

// The number that all of the text says, or nothing. Infinities and NaN in any case of letters.
template <typename Number>
std::optional<Number> Read(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool StoreText(DataType to, const std::string& text, void* data, int64_t index) {
  if (graph::IsInteger(to)) {
    if (const std::optional<int64_t> whole = Read<int64_t>(text)) {
      StoreInteger(to, data, index, *whole);
      return true;
    }
    if (const std::optional<uint64_t> whole = Read<uint64_t>(text)) {
      StoreInteger(to, data, index, static_cast<int64_t>(*whole));
      return true;
    }
  }
  const std::optional<double> number = Read<double>(text);
  if (!number) return false;
  if (to == DataType::kBool) {
    StoreInteger(to, data, index, *number != 0 ? 1 : 0);
  } else if (graph::IsInteger(to)) {
    StoreInteger(to, data, index, ToInt64(*number));
  } else {
    StoreDouble(to, data, index, *number);
  }
  return true;
}

KernelPointer MakeFromText(const KernelSite& site, DataType to, int64_t count) {
  return MakeKernel(
      [to, count, place = graph::Describe(site.graph, site.id)](const KernelCall& call) -> Status {
        const auto* texts = static_cast<const std::string*>(call.inputs[0]);
        for (int64_t i = 0; i < count; ++i) {
          if (StoreText(to, texts[i], call.outputs[0], i)) continue;
          return Error{.kind = ErrorKind::kRunFailed,
                       .code = "kernel.input",
                       .what = StrCat("cannot run ", place),
                       .where = StrCat("element ", i, " of input 0"),
                       .why = StrCat("'", texts[i], "' is no number"),
                       .remedy = ""};
        }
        return {};
      });
}

}  // namespace

Result<KernelPointer> MakeTextCast(const KernelSite& site) {
  const DataType from = site.inputs[0].type;
  const DataType to = site.outputs[0].type;
  const int64_t count = site.outputs[0].elements();
  if (from == to) {
    return MakeKernel([count](const KernelCall& call) {
      const auto* in = static_cast<const std::string*>(call.inputs[0]);
      std::copy(in, in + count, static_cast<std::string*>(call.outputs[0]));
    });
  }
  const DataType number = from == DataType::kString ? to : from;
  if (!graph::IsFloating(number) && !graph::IsInteger(number) && number != DataType::kBool) {
    return NoKernelForType(site, number);
  }
  return to == DataType::kString ? MakeToText(from, count) : MakeFromText(site, to, count);
}

}  // namespace plimsoll::kernels::cpu
