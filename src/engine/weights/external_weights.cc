#include "engine/weights/external_weights.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <vector>

#include "base/mapped_pages.h"
#include "engine/weights/string_weights.h"
#include "engine/weights/weight_folder.h"
#include "engine/weights/weight_mapping.h"
#include "engine/weights/weight_names.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

// One folder and who uses what of it.
struct SharedWeightFolder {
  struct File {
    std::shared_ptr<const WeightMapping> mapping;
    int leases = 0;
  };
  std::unique_ptr<WeightFolder> folder;
  std::map<WeightHash, File> files;
};

namespace {

using graph::ConstantTensor;

// All folders of this process, and the lock under which they and what is in them change.
struct ProcessFolders {
  std::mutex mutex;
  std::vector<std::weak_ptr<SharedWeightFolder>> folders;
};

ProcessFolders& Process() {
  static auto& folders = *new ProcessFolders;  // sessions may live until the very end
  return folders;
}

std::pair<const std::byte*, const std::byte*> EndsOf(std::span<const std::byte> bytes) {
  return {bytes.data(), bytes.data() + bytes.size()};
}

// `other` is a mapping of a weight.
bool Equal(std::span<const std::byte> one, std::span<const std::byte> other) {
  if (one.size() != other.size()) return false;
  size_t place = 0;
  return ReadInSlices(one, [&](std::span<const std::byte> slice) {
    const auto against = other.subspan(place, slice.size());
    place += slice.size();
    const bool same = std::memcmp(slice.data(), against.data(), slice.size()) == 0;
    DropPagesOfFile(against);
    return same;
  });
}

Error Clash(const ConstantTensor& tensor, const WeightHash& hash) {
  return Error{.kind = ErrorKind::kMismatch,
               .code = "weights.clash",
               .what = "cannot write a weight to a file",
               .where = StrCat("tensor '", tensor.name, "'"),
               .why = StrCat("another weight has the same hash ", hash.Text()),
               .remedy = "leave external_weight off for this model"};
}

void View(const std::shared_ptr<const WeightMapping>& mapping, ConstantTensor& tensor) {
  if (tensor.type == graph::DataType::kString) {
    tensor.strings = StringsIn(mapping->bytes());
  } else {
    tensor.bytes = mapping->bytes();
  }
  tensor.storage = mapping;
}

// The process's own: another folder that has the weight already.
std::shared_ptr<SharedWeightFolder> FindHolder(const WeightHash& hash) {
  std::erase_if(Process().folders, [](const auto& folder) { return folder.expired(); });
  for (const auto& known : Process().folders) {
    auto folder = known.lock();
    if (folder != nullptr && folder->files.contains(hash)) return folder;
  }
  return nullptr;
}

// Puts the weight into the folder: as a link to a file of another session, or written anew.
Result<std::shared_ptr<const WeightMapping>> PutInto(const WeightFolder& folder,
                                                     const ConstantTensor& tensor,
                                                     const WeightHash& hash,
                                                     std::span<const std::byte> bytes) {
  const auto holder = FindHolder(hash);
  if (holder == nullptr) return WeightMapping::Write(folder, hash, bytes);
  auto mapping = holder->files.at(hash).mapping;
  if (!Equal(bytes, mapping->bytes())) return Clash(tensor, hash);
  if (!mapping->Link(*holder->folder, folder, hash)) {
    PLIMSOLL_TRY(WeightMapping::Write(folder, hash, bytes).status());
  }
  return mapping;
}

}  // namespace

Result<std::shared_ptr<SharedWeightFolder>> ExternalWeights::Folder() {
  auto folder = folder_.lock();
  if (folder != nullptr && !folder->folder->removed()) return folder;
  auto fresh = std::make_shared<SharedWeightFolder>();
  PLIMSOLL_ASSIGN(fresh->folder, WeightFolder::Make(work_path_, session_));
  folder_ = fresh;
  Process().folders.push_back(fresh);
  return fresh;
}

Status ExternalWeights::HoldTensor(ConstantTensor& tensor, WeightLease& lease) {
  if (tensor.missing || lease.HashAt(tensor.bytes)) return {};
  std::vector<std::byte> encoded;
  std::span<const std::byte> bytes = tensor.bytes;
  if (tensor.type == graph::DataType::kString) bytes = encoded = StringsAsBytes(tensor.strings);
  const WeightHash hash = HashOf(bytes);
  const std::lock_guard lock(Process().mutex);
  PLIMSOLL_ASSIGN(const auto current, Folder());
  const auto leased = lease.files_.find(hash);
  const auto& folder = leased != lease.files_.end() ? leased->second : current;
  auto found = folder->files.find(hash);
  if (found == folder->files.end()) {
    PLIMSOLL_ASSIGN(auto mapping, PutInto(*folder->folder, tensor, hash, bytes));
    found = folder->files.emplace(hash, SharedWeightFolder::File{std::move(mapping), 0}).first;
  } else if (!Equal(bytes, found->second.mapping->bytes())) {
    return Clash(tensor, hash);
  }
  if (leased == lease.files_.end()) {
    ++found->second.leases;
    lease.files_.emplace(hash, folder);
  }
  const auto& mapping = found->second.mapping;
  lease.mapped_.emplace(EndsOf(mapping->bytes()), hash);
  View(mapping, tensor);
  return {};
}

Status ExternalWeights::Hold(graph::Graph& graph, WeightLease& lease) {
  for (ConstantTensor& tensor : graph.constants) PLIMSOLL_TRY(HoldTensor(tensor, lease));
  for (graph::Node& node : graph.nodes) {
    const ConstantTensor* stored = node.attributes.Tensor("value");
    if (!node.domain.empty() || node.op != "Constant" || stored == nullptr) continue;
    ConstantTensor tensor = *stored;
    PLIMSOLL_TRY(HoldTensor(tensor, lease));
    node.attributes.Set("value", std::move(tensor));
  }
  return {};
}

WeightLease::~WeightLease() {
  const std::lock_guard lock(Process().mutex);
  for (auto& [hash, folder] : files_) {
    const auto file = folder->files.find(hash);
    if (--file->second.leases > 0) continue;
    folder->folder->Remove(WeightFileName(hash).c_str());
    folder->files.erase(file);
  }
  files_.clear();
}

std::optional<WeightHash> WeightLease::HashAt(std::span<const std::byte> bytes) const {
  const auto found = bytes.empty() ? mapped_.end() : mapped_.find(EndsOf(bytes));
  return found == mapped_.end() ? std::nullopt : std::optional(found->second);
}

bool WeightLease::Contains(std::span<const std::byte> bytes) const {
  const auto behind = mapped_.lower_bound({bytes.data() + 1, nullptr});
  return behind != mapped_.begin() &&
         bytes.data() + bytes.size() <= std::prev(behind)->first.second;
}

}  // namespace plimsoll::engine
