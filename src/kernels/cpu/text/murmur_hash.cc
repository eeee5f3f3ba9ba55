#include <bit>
#include <cstring>

#include "kernels/cpu/families.h"
#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr uint32_t kFirstFactor = 0xcc9e2d51U;
constexpr uint32_t kSecondFactor = 0x1b873593U;

uint32_t Scrambled(uint32_t word) { return std::rotl(word * kFirstFactor, 15) * kSecondFactor; }

// MurmurHash3_x86_32, as its author put it into the public domain.
uint32_t HashOf(std::string_view bytes, uint32_t seed) {
  uint32_t hash = seed;
  const size_t whole = bytes.size() / 4;
  for (size_t i = 0; i < whole; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + 4 * i, 4);
    hash = std::rotl(hash ^ Scrambled(word), 13) * 5 + 0xe6546b64U;
  }
  uint32_t rest = 0;
  for (size_t i = bytes.size(); i > 4 * whole; --i) {
    rest = (rest << 8U) | static_cast<unsigned char>(bytes[i - 1]);
  }
  hash ^= Scrambled(rest) ^ static_cast<uint32_t>(bytes.size());
  hash = (hash ^ (hash >> 16U)) * 0x85ebca6bU;
  hash = (hash ^ (hash >> 13U)) * 0xc2b2ae35U;
  return hash ^ (hash >> 16U);
}

std::string_view BytesOf(const std::string& text) { return text; }

template <typename T>
std::string_view BytesOf(const T& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(T)};
}

// Of each element; the bits of the result are the same whether it has a sign or not.
Result<KernelPointer> MakeMurmurHash(KernelSite& site) {
  const auto seed = static_cast<uint32_t>(site.attributes().Int("seed", 0));
  const int64_t count = site.inputs[0].elements();
  const auto make = [&]<typename T>() {
    return MakeKernel([seed, count](const KernelCall& call) {
      const auto* from = static_cast<const T*>(call.inputs[0]);
      auto* to = static_cast<uint32_t*>(call.outputs[0]);
      for (int64_t i = 0; i < count; ++i) to[i] = HashOf(BytesOf(from[i]), seed);
    });
  };
  if (site.inputs[0].type == graph::DataType::kString) return make.operator()<std::string>();
  KernelPointer kernel;
  VisitType<TypeList<uint32_t, int32_t, uint64_t, int64_t, float, double>>(
      site.inputs[0].type, [&]<typename T>() { kernel = make.template operator()<T>(); });
  if (kernel == nullptr) return site.Unsupported("it hashes strings and numbers of 4 or 8 bytes");
  return kernel;
}

constexpr KernelRow kMurmurHashRows[] = {
    {graph::kContributedDomain, "MurmurHash3", 1, graph::kNewest, MakeMurmurHash},
};

}  // namespace

std::span<const KernelRow> MurmurHashKernels() { return kMurmurHashRows; }

}  // namespace plimsoll::kernels::cpu
