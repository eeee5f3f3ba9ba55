#pragma once

#include <map>
#include <string>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/onednn_versions.h"

namespace plimsoll::kernels::onednn {

// A description, or why there is none.
struct KeptDescription {
  dnnl_status_t status = dnnl_success;
  dnnl_primitive_desc_t descriptor = nullptr;
};

// What a thread has described in a scope, by everything that it depends on. Descriptions of large
// convolutions take up to megabytes, so they are few.
class KeptDescriptions {
 public:
  KeptDescriptions() = default;
  KeptDescriptions(const KeptDescriptions&) = delete;
  KeptDescriptions& operator=(const KeptDescriptions&) = delete;
  ~KeptDescriptions() {
    for (const auto& [key, kept] : known_) {
      if (kept.descriptor != nullptr) dnnl_primitive_desc_destroy(kept.descriptor);
    }
  }

  const KeptDescription* Find(const std::string& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
  }
  void Keep(std::string key, dnnl_status_t status, dnnl_primitive_desc_t descriptor) {
    constexpr size_t kMost = 64;
    const bool lasting = status == dnnl_success || status == dnnl_unimplemented;
    if (known_.size() == kMost || !lasting) return;
    KeptDescription kept{status, nullptr};
    if (status == dnnl_success &&
        dnnl_primitive_desc_clone(&kept.descriptor, descriptor) != dnnl_success) {
      return;
    }
    known_.emplace(std::move(key), kept);
  }

 private:
  std::map<std::string, KeptDescription> known_;
};

// Everything that a description depends on.
std::string KeyOf(const ConvolutionSpec& spec);

// Of the calling thread's PreparationScope; null outside of one.
KeptDescriptions* DescriptionsOfScope();

}  // namespace plimsoll::kernels::onednn
