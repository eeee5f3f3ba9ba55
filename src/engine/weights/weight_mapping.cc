#include "engine/weights/weight_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/mapped_pages.h"
#include "engine/weights/file_size_signal.h"
#include "engine/weights/weight_names.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

Error CannotWrite(const WeightFolder& folder, const WeightHash& hash, Bytes size, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const bool taken = error == EEXIST;
  const std::string says = std::generic_category().message(error);
  return Error{
      .kind = full ? ErrorKind::kDoesNotFit : ErrorKind::kRunFailed,
      .code = full    ? "weights.disk_full"
              : taken ? "weights.name_taken"
                      : "weights.write",
      .what = StrCat("cannot write a weight of ", size, " to a file"),
      .where = (folder.path() / WeightFileName(hash)).string(),
      .why = taken ? "a file of that name is there, and not written by this session" : says,
      .remedy = taken ? "remove it; nothing but weights belongs into that folder"
                      : "make room, give ASCEND_WORK_PATH another folder, or leave "
                        "external_weight off"};
}

Error CannotMap(const WeightFolder& folder, const WeightHash& hash, int error) {
  return Error{
      .kind = ErrorKind::kDoesNotFit,
      .code = "weights.map",
      .what = "cannot map the file of a weight",
      .where = (folder.path() / WeightFileName(hash)).string(),
      .why = std::generic_category().message(error),
      .remedy = "raise vm.max_map_count, unload other models, or leave external_weight off"};
}

// 0, or the system's error.
int WriteAll(int file, std::span<const std::byte> bytes) {
  const FileSizeSignalBlocked blocked;
  int error = 0;
  ReadInSlices(bytes, [&](std::span<const std::byte> slice) {
    while (!slice.empty()) {
      const ssize_t count = ::write(file, slice.data(), slice.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        error = count < 0 ? errno : ENOSPC;
        return false;
      }
      slice = slice.subspan(static_cast<size_t>(count));
    }
    return true;
  });
  return error;
}

int RenameIfFree(int folder, const char* from, const char* to) {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system that cannot do both at once. The folder is ours alone, so looking first will do.
  if (::faccessat(folder, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(folder, from, folder, to) == 0 ? 0 : errno;
}

}  // namespace

Result<std::shared_ptr<const WeightMapping>> WeightMapping::Write(
    const WeightFolder& folder, const WeightHash& hash, std::span<const std::byte> bytes) {
  const std::string partial = PartialWeightFileName(hash);
  const auto fail = [&](int error) {
    return CannotWrite(folder, hash, Bytes(static_cast<int64_t>(bytes.size())), error);
  };
  constexpr int kNew = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const FileDescriptor file(
      ::openat(folder.descriptor(), partial.c_str(), kNew, S_IRUSR | S_IWUSR));
  if (!file.open()) return fail(errno);
  const auto discard = [&](Error error) {
    ::unlinkat(folder.descriptor(), partial.c_str(), 0);
    return error;
  };
  if (const int error = WriteAll(file.number(), bytes)) return discard(fail(error));
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return discard(fail(errno));
  void* memory = nullptr;
  if (!bytes.empty()) {
    memory = ::mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, file.number(), 0);
    if (memory == MAP_FAILED) return discard(CannotMap(folder, hash, errno));
  }
  std::shared_ptr<WeightMapping> mapping(
      new WeightMapping({static_cast<const std::byte*>(memory), bytes.size()}));
  mapping->file_system_ = about.st_dev;
  mapping->file_ = about.st_ino;
  const std::string name = WeightFileName(hash);
  if (const int error = RenameIfFree(folder.descriptor(), partial.c_str(), name.c_str())) {
    return discard(fail(error));
  }
  return std::shared_ptr<const WeightMapping>(std::move(mapping));
}

bool WeightMapping::Link(const WeightFolder& folder, const WeightFolder& other,
                         const WeightHash& hash) const {
  const std::string name = WeightFileName(hash);
  if (::linkat(folder.descriptor(), name.c_str(), other.descriptor(), name.c_str(), 0) != 0) {
    return false;
  }
  struct stat linked {};
  const bool same =
      ::fstatat(other.descriptor(), name.c_str(), &linked, AT_SYMLINK_NOFOLLOW) == 0 &&
      linked.st_dev == file_system_ && linked.st_ino == file_;
  if (!same) ::unlinkat(other.descriptor(), name.c_str(), 0);
  return same;
}

WeightMapping::~WeightMapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace plimsoll::engine
