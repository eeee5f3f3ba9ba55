#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/run/executable.h"
#include "engine/session.h"
#include "kernels/threads/region_runner.h"
#include "plimsoll/base/status.h"

namespace plimsoll {

// A compiled model in memory of its own, whose regions a program runs itself.
class RegionSubject {
 public:
  // `shapes`: NAME=SHAPE, as on the command line.
  static Result<RegionSubject> Make(const std::string& file, int threads,
                                    const std::vector<std::string>& shapes);

  const engine::Program& program() const { return executable_->program(); }
  std::string NameOf(const engine::Task& task) const;  // operator and implementation

  // One task after the other; `before` is told each.
  Status RunOneByOne(kernels::RegionRunner& runner,
                     const std::function<void(int64_t task)>& before);
  // As a session does; `task` is set to the one that is begun.
  Status Run(kernels::RegionRunner& runner, std::atomic<int64_t>& task);

 private:
  engine::Executable::Call CallNow();

  std::vector<kernels::HostValue> inputs_;
  std::vector<kernels::HostTensor> outputs_;
  std::unique_ptr<engine::Session> session_;
  std::shared_ptr<const engine::Executable> executable_;
  std::vector<std::byte> memory_;
  std::byte* arena_ = nullptr;
  std::vector<const void*> read_;
  std::vector<void*> written_;
};

// The exit code; writes the error where there is one.
int Finish(const Status& done);

}  // namespace plimsoll
