#include "engine/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "config/files/operator_files.h"
#include "engine/weights/file_replacement.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEntries = "kernel_cache";
constexpr const char* kLimitsFile = "op_cache.ini";

}  // namespace

DiskCache::DiskCache(const config::CacheSettings& settings, std::function<FileTime()> now)
    : folder_(settings.folder),
      entries_(folder_ / kEntries),
      limits_(settings.limits),
      always_compiled_(settings.always_compiled),
      now_(std::move(now)),
      has_folder_(!settings.folder.empty()) {}

std::unique_ptr<DiskCache> DiskCache::WithoutFolder() {
  return std::unique_ptr<DiskCache>(new DiskCache({}, Now));
}

Result<std::unique_ptr<DiskCache>> DiskCache::Open(const config::CacheSettings& settings,
                                                   std::function<FileTime()> now) {
  std::unique_ptr<DiskCache> cache(new DiskCache(settings, std::move(now)));
  std::error_code failed;
  fs::create_directories(cache->entries_, failed);
  if (failed || !fs::is_directory(cache->entries_, failed)) {
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "cache.folder",
                 .what = "no disk cache: its folder cannot be made",
                 .where = cache->entries_.string(),
                 .why = failed ? failed.message() : "there is something else of that name",
                 .remedy =
                     "name another folder by op_compiler_cache_dir, or set "
                     "op_compiler_cache_mode=disable"};
  }
  if (settings.mode == config::CacheSettings::Mode::kForce) cache->Empty();
  return cache;
}

bool DiskCache::IsPassedBy(std::string_view name, std::string_view op) const {
  return always_compiled_ && always_compiled_->Holds(name, op);
}

fs::path DiskCache::PathOf(const CacheKey& key) const { return entries_ / key.FileName(); }

void DiskCache::Empty() const {
  Log(LogLevel::kWarning,
      StrCat("op_compiler_cache_mode=force empties ", entries_.string(),
             ": other programs that use the folder compile again; set it to enable afterwards"));
  std::error_code failed;
  for (fs::directory_iterator at(entries_, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (at->path().string().ends_with(kCacheEntrySuffix)) fs::remove(at->path(), ignored);
  }
}

std::shared_ptr<const std::byte> DiskCache::MapAny(const CacheKey& key, uint64_t* size) {
  for (const auto& file : Files()) {
    if (auto bytes = file->Map(key, size)) {
      ++found_;
      return bytes;
    }
  }
  if (!has_folder_) {
    ++missing_;
    return nullptr;
  }
  const fs::path path = PathOf(key);
  std::shared_ptr<const std::byte> bytes = MapCacheEntry(path.string(), key, size);
  ++(bytes != nullptr ? found_ : missing_);
  if (bytes != nullptr && limits_.ages()) {
    constexpr timespec kUsedNow[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                                      {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
    utimensat(AT_FDCWD, path.c_str(), kUsedNow, AT_SYMLINK_NOFOLLOW);
  }
  return bytes;
}

std::optional<std::string> DiskCache::Find(const CacheKey& key) {
  uint64_t size = 0;
  const auto bytes = MapAny(key, &size);
  if (bytes == nullptr) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes.get()), size);
}

std::shared_ptr<const std::byte> DiskCache::Map(const CacheKey& key, Bytes size) {
  uint64_t found = 0;
  auto bytes = MapAny(key, &found);
  return found == static_cast<uint64_t>(size.value()) ? bytes : nullptr;
}

void DiskCache::Keep(const CacheKey& key, std::span<const std::byte> bytes, const WeightHash* of) {
  if (const auto sink = Sink()) sink->Keep(key, bytes, of);
  if (broken_ || !has_folder_) return;
  const Status written = WriteCacheEntry(PathOf(key).string(), key, bytes);
  if (written.ok()) {
    ++kept_;
  } else if (written.error().code != "file.busy" && !broken_.exchange(true)) {
    Log(LogLevel::kWarning,
        StrCat("the disk cache takes no more entries: ", written.error().Text()));
  }
}

void DiskCache::Serve(std::shared_ptr<const CompiledFile> file) {
  const std::lock_guard lock(mutex_);
  files_.push_back(std::move(file));
}

void DiskCache::TellOf(std::shared_ptr<CacheSink> sink) {
  const std::lock_guard lock(mutex_);
  sink_ = std::move(sink);
}

std::vector<std::shared_ptr<const CompiledFile>> DiskCache::Files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

std::shared_ptr<CacheSink> DiskCache::Sink() const {
  const std::lock_guard lock(mutex_);
  return sink_;
}

std::optional<WeightHash> DiskCache::HashAt(std::span<const std::byte> constant) const {
  for (const auto& file : Files()) {
    if (const auto hash = file->HashAt(constant)) return hash;
  }
  return std::nullopt;
}

Status DiskCache::CheckConstant(std::span<const std::byte> constant) const {
  for (const auto& file : Files()) PLIMSOLL_TRY(file->CheckConstant(constant));
  return {};
}

void DiskCache::Settle() {
  if (!has_folder_) return;
  AgeCacheEntries(entries_, limits_, now_());
  const fs::path file = folder_ / kLimitsFile;
  std::error_code failed;
  if (broken_ || fs::exists(fs::symlink_status(file, failed))) return;
  const std::string text = config::OpCacheIniText({});
  auto replacement = FileReplacement::Begin(file.string());
  if (!replacement.ok()) return;
  if (replacement->WriteAt(0, std::as_bytes(std::span(text))).ok()) {
    (void)replacement->CommitUnflushed();
  }
}

}  // namespace plimsoll::engine
