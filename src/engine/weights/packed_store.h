#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/weights/external_weights.h"
#include "engine/weights/session_weights.h"
#include "engine/weights/shared_forms.h"
#include "kernels/host_value.h"
#include "kernels/kernel.h"

namespace plimsoll::engine {

// The constants of one graph in the forms that kernels read, each made once however many kernels
// and shapes ask for it, in the session's memory for constants. The plain form's pages are dropped
// once it is packed. Thread-safe; makers wait for each other.
//
// Where the session keeps weights as files, a form is shared with every graph of the sessions that
// have their SharedForms together and has the same weight. Otherwise a constant that outlives the
// store is told by its address, and its forms are the graph's own: telling it by its bytes would
// read every weight once more. Any other is told by a hash of its bytes, since its memory may be
// another constant's later, and its forms are shared inside the session.
//
// A packed form comes from the session's disk cache where that has it, by the constant's bytes and
// the layout.
//
// A store that only counts makes no form: each has an address of its own, with nothing behind it.
class PackedStore : public kernels::PackedWeights {
 public:
  enum class Makes { kForms, kCounts };
  explicit PackedStore(std::shared_ptr<SessionWeights> session, Makes makes = Makes::kForms)
      : session_(std::move(session)), makes_(makes) {}

  Result<const void*> Pack(const void* data, Bytes plain, std::string_view layout, Bytes packed,
                           const Fill& fill) override;
  void Forget(const void* data, Bytes size) override;
  void BeginNode(const graph::Node& node) override;

  // Puts the graph's constants into files, where the session keeps weights so: for as long as the
  // store, they are views on those.
  Status Externalise(graph::Graph& graph);
  // Says that the constant at this address stays there for as long as the store.
  void AddLasting(const void* data);

  // A constant as it is, where kernels may read it so. The tensor keeps it alive.
  Result<kernels::HostTensor> Hold(const graph::ConstantTensor& constant, kernels::ReadAs read);
  // Gives back the pages of plain forms that have been read for the last time, as far as some are
  // left: while much is packed, that is done now and then.
  void DropRead();

  void AddTo(HeldWeights& weights) const;
  DiskCache* disk_cache() const { return session_->cache(); }  // null: there is none

  // What packing costs: the packed constants, and how many bytes they have in either form.
  struct Packed {
    size_t weights = 0;
    Bytes packed;
    Bytes plain;
    Bytes kept_plain;  // of those that others read plain, which `plain_held` has
    Bytes more() const { return packed + kept_plain - plain; }  // than plain forms alone
  };
  Packed packed(const HeldWeights& plain_held) const;

  // The memory of the packed forms, also of those to come, without the store's hold on files: what
  // was compiled with them may outlive the store.
  std::shared_ptr<const void> memories() const { return memories_; }

 private:
  struct Form {
    SharedForms::Form held;
    Bytes size;
    std::span<const std::byte> constant;  // where it lay; not read
    bool packed = true;                   // else a copy of the plain form
    std::string node;                     // that it was packed for
  };
  using Memories = std::vector<std::shared_ptr<const void>>;
  struct Key {
    std::string text;
    bool shared = false;
  };
  // Without the lock: `fill` runs under it, and nobody changes the lease then.
  void Drop(std::span<const std::byte> bytes);
  Key KeyOf(std::span<const std::byte> constant, std::string_view layout) const;
  Result<SharedForms::Form> FormOf(std::span<const std::byte> constant, std::string_view layout,
                                   Bytes size, const Fill& fill);
  Result<kernels::HostTensor> Counted(const graph::ConstantTensor& constant,
                                      kernels::ReadAs read) const;
  Result<std::shared_ptr<void>> MakeForm(std::span<const std::byte> constant, Bytes size,
                                         const Fill& fill);
  // From the disk cache, else made and kept there.
  Result<std::shared_ptr<void>> FormOnDisk(std::span<const std::byte> constant,
                                           std::string_view layout, Bytes size, const Fill& fill);

  const std::shared_ptr<SessionWeights> session_;
  const Makes makes_;
  mutable std::mutex mutex_;
  std::mutex read_mutex_;
  std::vector<std::span<const std::byte>> read_;  // for the last time; their pages may go
  Bytes read_size_;
  std::string node_;         // that is prepared, as HeldWeight calls it
  bool past_cache_ = false;  // forms of the node that is prepared are not asked of the disk cache
  Bytes packed_since_;       // code was given back
  std::set<const void*> lasting_;
  std::map<const void*, WeightHash> counted_;  // constants that would be files
  // Before the forms: a shared form must go before the weight that others compare theirs with.
  WeightLease lease_;
  std::map<std::string, Form> forms_;  // by constant and layout
  const std::shared_ptr<Memories> memories_ = std::make_shared<Memories>();
};

}  // namespace plimsoll::engine
