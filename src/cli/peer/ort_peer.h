#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/host_value.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

// ONNX Runtime in a Python process of its own, told run by run what to do. The interpreter is
// PLIMSOLL_PYTHON, else python3; without the package `onnxruntime` in it Start fails (kUnsupported,
// peer.missing) and says how to get it. Not thread-safe. The process ends with the object.
class OrtPeer {
 public:
  struct Settings {
    std::filesystem::path model;
    std::vector<std::string> names;  // of the inputs
    std::vector<kernels::HostValue> inputs;
    int threads = 1;
    bool every_value = false;  // outputs are what every node makes, not only the model's
  };

  static Result<OrtPeer> Start(const Settings& settings);
  OrtPeer(OrtPeer&& other) noexcept;
  OrtPeer& operator=(OrtPeer&&) = delete;
  ~OrtPeer();

  // Stops its process, threads that spin included, and lets it go on.
  void Pause();
  void Resume();
  Result<double> RunOnce();           // milliseconds
  Result<Bytes> ResidentAboveBase();  // since before the model was loaded
  Result<std::string> Version();      // "1.31.1"
  struct Named {
    std::string name;
    kernels::HostTensor tensor;
  };
  Result<std::vector<Named>> Outputs();  // of the last run, tensors that NumPy can hold

 private:
  OrtPeer() = default;
  Result<std::string> Ask(const std::string& command);

  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string unread_;
  std::filesystem::path folder_;  // temporary; ours to remove
};

}  // namespace plimsoll::cli
