#include "engine/weights/weight_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "engine/weights/stale_weight_folders.h"
#include "engine/weights/weight_names.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr int kMostAttempts = 1000;

Error CannotMake(const std::filesystem::path& where, std::string why) {
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "weights.folder",
               .what = "cannot make a folder for external weights",
               .where = where.string(),
               .why = std::move(why),
               .remedy =
                   "give ASCEND_WORK_PATH a local folder that may be written to, or leave "
                   "external_weight off"};
}

std::string Says(int error) { return std::generic_category().message(error); }

}  // namespace

Result<std::unique_ptr<WeightFolder>> WeightFolder::Make(const std::filesystem::path& work_path,
                                                         uint64_t number) {
  const std::filesystem::path given = work_path.empty() ? "." : work_path;
  std::error_code unknown;
  const std::filesystem::path base = std::filesystem::absolute(given, unknown).lexically_normal();
  std::unique_ptr<WeightFolder> made(new WeightFolder);
  made->owner_ = ::getpid();
  made->parent_ = FileDescriptor(::open(given.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!made->parent_.open()) return CannotMake(base, Says(errno));
  RemoveStaleWeightFolders(made->parent_.number());
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::string name =
        WeightFolderName(made->owner_, number + static_cast<uint64_t>(attempt));
    made->path_ = base / name;
    const int error = made->Take(name);
    if (error == 0) return made;
    made->Leave();
    // Taken by others, or, before it was locked, taken for stale and removed by another process.
    const bool try_next = error == EEXIST || error == ENOENT || error == EWOULDBLOCK;
    if (!try_next) return CannotMake(made->path_, Says(error));
  }
  return CannotMake(base, StrCat("the names of ", kMostAttempts, " folders are taken"));
}

int WeightFolder::Take(const std::string& name) {
  if (::mkdirat(parent_.number(), name.c_str(), S_IRWXU) != 0) return errno;
  name_ = name;
  folder_ = FileDescriptor(
      ::openat(parent_.number(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_.open()) return errno;
  constexpr int kNew = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  lock_ = FileDescriptor(::openat(folder_.number(), kWeightLockName, kNew, S_IRUSR | S_IWUSR));
  if (!lock_.open() || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) return errno;
  return removed() ? ENOENT : 0;
}

void WeightFolder::Leave() {
  if (name_.empty() || !owned()) return;
  if (folder_.open() && !removed()) {
    Remove(kWeightLockName);
    struct stat ours {};
    struct stat named {};
    const bool still_there =
        ::fstat(folder_.number(), &ours) == 0 &&
        ::fstatat(parent_.number(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
    if (still_there) ::unlinkat(parent_.number(), name_.c_str(), AT_REMOVEDIR);
  }
  name_.clear();
}

WeightFolder::~WeightFolder() { Leave(); }

bool WeightFolder::removed() const {
  struct stat about {};
  return ::fstat(folder_.number(), &about) != 0 || about.st_nlink == 0;
}

bool WeightFolder::owned() const { return ::getpid() == owner_; }

void WeightFolder::Remove(const char* name) {
  if (owned()) ::unlinkat(folder_.number(), name, 0);
}

}  // namespace plimsoll::engine
