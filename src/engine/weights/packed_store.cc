#include "engine/weights/packed_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/code_pages.h"
#include "base/mapped_pages.h"
#include "compile/tuning/tuning.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr std::string_view kPlainLayout = "plain";
// Packed before the code that it took, much of which is not used again, is given back: the system
// maps 64 KiB around each place, some 10 MB for a model of any size.
constexpr Bytes kPackedForCode = MiB(8);
constexpr Bytes kLeastKeptOnDisk = KiB(64);  // smaller forms are made as fast as a file is opened

}  // namespace

PackedStore::Key PackedStore::KeyOf(std::span<const std::byte> constant,
                                    std::string_view layout) const {
  const std::string kind =
      StrCat(session_->memory().Kind(), makes_ == Makes::kCounts ? ", counted" : "");
  if (const auto counted = counted_.find(constant.data()); counted != counted_.end()) {
    return {StrCat("session ", session_->session(), " weight ", counted->second.Text(), " in ",
                   kind, " as ", layout),
            true};
  }
  if (const auto hash = lease_.HashAt(constant)) {
    return {StrCat("weight ", hash->Text(), " in ", kind, " as ", layout), true};
  }
  if (lasting_.contains(constant.data())) {
    return {StrCat("at ", reinterpret_cast<uintptr_t>(constant.data()), " of ", constant.size(),
                   " as ", layout),
            false};
  }
  return {StrCat("session ", session_->session(), " constant ", HashOf(constant).Text(), " of ",
                 constant.size(), " in ", kind, " as ", layout),
          true};
}

Result<std::shared_ptr<void>> PackedStore::MakeForm(std::span<const std::byte> constant, Bytes size,
                                                    const Fill& fill) {
  const bool counts = makes_ == Makes::kCounts;
  // Large pages are the device's, which has numbers alone where nothing is made.
  const Bytes wanted = counts && !session_->memory().large_pages() ? Bytes(1) : size;
  PLIMSOLL_ASSIGN(std::shared_ptr<void> memory, session_->memory().Allocate(wanted));
  if (counts) return memory;
  if (session_->cache() != nullptr) PLIMSOLL_TRY(session_->cache()->CheckConstant(constant));
  // Before a large form becomes resident, not behind it.
  packed_since_ += size;
  if (packed_since_ >= kPackedForCode) {
    packed_since_ = Bytes();
    GiveBackFreedHeap();
    GiveBackCode("libdnnl");
  }
  PLIMSOLL_TRY(session_->memory().Fill(memory.get(), size, fill));
  Drop(constant);
  return memory;
}

Result<std::shared_ptr<void>> PackedStore::FormOnDisk(std::span<const std::byte> constant,
                                                      std::string_view layout, Bytes size,
                                                      const Fill& fill) {
  DiskCache& cache = *session_->cache();
  auto known = lease_.HashAt(constant);
  if (!known) known = cache.HashAt(constant);
  const WeightHash hash = known ? *known : HashOf(constant);
  const CacheKey key = CacheKeyFor(
      "packed", StrCat(hash.Text(), " of ", constant.size(), " as ", layout, " of ", size.value()));
  if (const auto mapped = cache.Map(key, size)) {
    if (!session_->memory().copies()) {
      return std::const_pointer_cast<void>(std::shared_ptr<const void>(mapped));
    }
    return MakeForm(constant, size, [&](void* form) {
      std::memcpy(form, mapped.get(), static_cast<size_t>(size.value()));
      return Status();
    });
  }
  return MakeForm(constant, size, [&](void* form) {
    PLIMSOLL_TRY(fill(form));
    cache.Keep(key, {static_cast<const std::byte*>(form), static_cast<size_t>(size.value())},
               &hash);
    return Status();
  });
}

Result<SharedForms::Form> PackedStore::FormOf(std::span<const std::byte> constant,
                                              std::string_view layout, Bytes size,
                                              const Fill& fill) {
  const std::lock_guard lock(mutex_);
  const Key key = KeyOf(constant, layout);
  if (const auto known = forms_.find(key.text); known != forms_.end()) return known->second.held;
  const auto make = [&]() -> Result<SharedForms::Form> {
    const bool on_disk = session_->cache() != nullptr && makes_ == Makes::kForms &&
                         layout != kPlainLayout && size >= kLeastKeptOnDisk && !past_cache_;
    PLIMSOLL_ASSIGN(
        const std::shared_ptr<void> memory,
        on_disk ? FormOnDisk(constant, layout, size, fill) : MakeForm(constant, size, fill));
    return std::make_shared<const SharedForms::Held>(SharedForms::Held{memory});
  };
  PLIMSOLL_ASSIGN(SharedForms::Form form,
                  key.shared ? session_->forms().FindOrMake(key.text, make) : make());
  const bool is_packed = layout != kPlainLayout;
  forms_.emplace(key.text, Form{form, size, constant, is_packed, is_packed ? node_ : ""});
  memories_->push_back(form->memory);
  return form;
}

Result<const void*> PackedStore::Pack(const void* data, Bytes plain, std::string_view layout,
                                      Bytes packed, const Fill& fill) {
  const std::span<const std::byte> constant(static_cast<const std::byte*>(data),
                                            static_cast<size_t>(plain.value()));
  PLIMSOLL_ASSIGN(const SharedForms::Form form, FormOf(constant, layout, packed, fill));
  return session_->memory().side().WorkPointer(form->memory.get());
}

void PackedStore::BeginNode(const graph::Node& node) {
  const std::lock_guard lock(mutex_);
  node_ = StrCat(node.name.empty() ? node.op : node.name, " (packed)");
  DiskCache* const cache = session_->cache();
  past_cache_ =
      cache != nullptr && std::ranges::any_of(compile::TypesIn(node), [&](const auto& type) {
        return cache->IsPassedBy(node.name, type);
      });
}

void PackedStore::Forget(const void* data, Bytes size) {
  Drop({static_cast<const std::byte*>(data), static_cast<size_t>(size.value())});
}

void PackedStore::Drop(std::span<const std::byte> bytes) {
  // Looking up what is mapped where takes longer than packing a small constant.
  constexpr Bytes kDroppedAtOnce(4 << 20);
  if (lease_.Contains(bytes)) return DropPagesOfFile(bytes);
  {
    const std::lock_guard lock(read_mutex_);
    read_.push_back(bytes);
    read_size_ += Bytes(static_cast<int64_t>(bytes.size()));
    if (read_size_ < kDroppedAtOnce) return;
  }
  DropRead();
}

void PackedStore::DropRead() {
  const std::lock_guard lock(read_mutex_);
  DropMappedSurroundings(std::exchange(read_, {}));
  read_size_ = Bytes();
}

Status PackedStore::Externalise(graph::Graph& graph) {
  if (session_->external() == nullptr) return {};
  const std::lock_guard lock(mutex_);
  if (makes_ == Makes::kForms) return session_->external()->Hold(graph, lease_);
  for (graph::ConstantTensor& constant : graph.constants) {
    if (constant.missing || constant.bytes.empty() || counted_.contains(constant.bytes.data())) {
      continue;
    }
    const WeightHash hash = session_->ShareEqual(constant);
    counted_.emplace(constant.bytes.data(), hash);
  }
  return {};
}

void PackedStore::AddLasting(const void* data) {
  const std::lock_guard lock(mutex_);
  lasting_.insert(data);
}

// The address that ToHostTensor would give, or one of its own where that copies.
Result<kernels::HostTensor> PackedStore::Counted(const graph::ConstantTensor& constant,
                                                 kernels::ReadAs read) const {
  kernels::HostTensor tensor{.type = constant.type, .dims = constant.dims, .data = nullptr};
  const std::lock_guard lock(mutex_);
  const bool of_file = counted_.contains(constant.bytes.data());  // which is aligned
  if (of_file || kernels::IsReadInPlace(constant, read)) {
    tensor.data = std::shared_ptr<void>(std::const_pointer_cast<void>(constant.storage),
                                        const_cast<std::byte*>(constant.bytes.data()));
    return tensor;
  }
  PLIMSOLL_ASSIGN(tensor.data, session_->memory().Allocate(Bytes(1)));
  return tensor;
}

Result<kernels::HostTensor> PackedStore::Hold(const graph::ConstantTensor& constant,
                                              kernels::ReadAs read) {
  const bool stays = !session_->memory().copies() || constant.bytes.empty();
  if (session_->cache() != nullptr && makes_ == Makes::kForms) {
    PLIMSOLL_TRY(session_->cache()->CheckConstant(constant.bytes));
  }
  if (stays && makes_ == Makes::kCounts) return Counted(constant, read);
  if (stays && (constant.bytes.empty() || kernels::IsReadInPlace(constant, read))) {
    return kernels::ToHostTensor(constant, read);
  }
  const Bytes size(static_cast<int64_t>(constant.bytes.size()));
  PLIMSOLL_ASSIGN(const SharedForms::Form form,
                  FormOf(constant.bytes, kPlainLayout, size, [&](void* memory) {
                    auto* to = static_cast<std::byte*>(memory);
                    ReadInSlices(constant.bytes, [&](std::span<const std::byte> slice) {
                      to = std::copy(slice.begin(), slice.end(), to);
                      return true;
                    });
                    return Status();
                  }));
  kernels::HostTensor tensor{.type = constant.type, .dims = constant.dims, .data = nullptr};
  tensor.data = form->memory;
  return tensor;
}

void PackedStore::AddTo(HeldWeights& weights) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, form] : forms_) {
    weights.emplace(form.held->memory.get(), HeldWeight{form.size, form.node});
  }
}

PackedStore::Packed PackedStore::packed(const HeldWeights& plain_held) const {
  const std::lock_guard lock(mutex_);
  Packed sum;
  std::set<const void*> seen;
  std::set<const void*> plain_too;  // constants that have a copy of the plain form as well
  for (const auto& [key, form] : forms_) {
    if (!form.packed) plain_too.insert(form.constant.data());
  }
  for (const auto& [key, form] : forms_) {
    if (!form.packed) continue;
    sum.packed += form.size;
    if (!seen.insert(form.constant.data()).second) continue;
    ++sum.weights;
    const Bytes plain(std::ssize(form.constant));
    sum.plain += plain;
    const void* const constant = form.constant.data();
    if (plain_held.contains(constant) || plain_too.contains(constant)) sum.kept_plain += plain;
  }
  return sum;
}

}  // namespace plimsoll::engine
