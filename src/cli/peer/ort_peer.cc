#include "cli/peer/ort_peer.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "cli/inputs/npy.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

// Arguments: model, folder, threads, every value or not. Inputs are folder/in_N.npy with their
// names in folder/names; answers are one line each, "ok ..." or "error ...".
constexpr const char* kScript = R"py(
import atexit, shutil, sys, time
atexit.register(shutil.rmtree, sys.argv[2], ignore_errors=True)
try:
    import numpy as np
    import onnxruntime as ort
except ImportError as missing:
    print("missing", missing, flush=True)
    sys.exit(0)
model, folder, threads, every = sys.argv[1:5]
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
names = [line.rstrip("\n") for line in open(folder + "/names")]
feeds = {name: np.load(f"{folder}/in_{i}.npy") for i, name in enumerate(names)}
base = resident()
try:
    options = ort.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    source = model
    if every == "1":
        import onnx
        graph = onnx.load(model)
        known = {output.name for output in graph.graph.output}
        for node in graph.graph.node:
            for name in node.output:
                if name and name not in known:
                    known.add(name)
                    graph.graph.output.append(onnx.ValueInfoProto(name=name))
        source = graph.SerializeToString()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
except Exception as wrong:
    print("error", str(wrong).replace("\n", " "), flush=True)
    sys.exit(0)
print("ok", ort.__version__, flush=True)
outputs = []
for line in sys.stdin:
    command = line.strip()
    try:
        if command == "run":
            begin = time.perf_counter()
            outputs = session.run(None, feeds)
            print("ok", (time.perf_counter() - begin) * 1000, flush=True)
        elif command == "resident":
            print("ok", resident() - base, flush=True)
        elif command == "version":
            print("ok", ort.__version__, flush=True)
        elif command == "outputs":
            ports = [output.name for output in session.get_outputs()]
            with open(folder + "/outputs", "w") as listing:
                for i, value in enumerate(outputs):
                    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
                        np.save(f"{folder}/out_{i}.npy", np.asarray(value, order="C"))
                        listing.write(f"{i}\t{ports[i]}\n")
            print("ok", flush=True)
    except Exception as wrong:
        print("error", str(wrong).replace("\n", " "), flush=True)
)py";

Error PeerError(ErrorKind kind, std::string code, std::string why, std::string remedy) {
  return Error{.kind = kind,
               .code = std::move(code),
               .what = "ONNX Runtime did not answer",
               .where = "",
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Status WriteInputs(const std::filesystem::path& folder, const OrtPeer::Settings& settings) {
  std::string names;
  for (size_t i = 0; i < settings.inputs.size(); ++i) {
    PLIMSOLL_TRY(WriteNpy(folder / StrCat("in_", i, ".npy"), settings.inputs[i].tensor));
    names += settings.names[i] + "\n";
  }
  FILE* file = std::fopen((folder / "names").c_str(), "w");
  const bool written = file != nullptr && std::fputs(names.c_str(), file) >= 0;
  if (file != nullptr) std::fclose(file);
  if (written) return {};
  return PeerError(ErrorKind::kRunFailed, "peer.files",
                   StrCat("cannot write into ", folder.string()), "check the temporary folder");
}

}  // namespace

Result<OrtPeer> OrtPeer::Start(const Settings& settings) {
  OrtPeer peer;
  std::string pattern = (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return PeerError(ErrorKind::kRunFailed, "peer.files", "no temporary folder can be made", "");
  }
  peer.folder_ = pattern;
  PLIMSOLL_TRY(WriteInputs(peer.folder_, settings));
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (pipe2(down.data(), O_CLOEXEC) != 0 || pipe2(up.data(), O_CLOEXEC) != 0) {
    return PeerError(ErrorKind::kRunFailed, "peer.process", "no pipe can be made", "");
  }
  const char* chosen = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = chosen == nullptr ? "python3" : chosen;
  const std::string threads = StrCat(settings.threads);
  const std::string folder = peer.folder_.string();
  const std::string model = settings.model.string();
  std::signal(SIGPIPE, SIG_IGN);
  peer.process_ = fork();
  if (peer.process_ == 0) {
    // It ends with its standard input: Ctrl-C is this process's to answer. A peer that is stopped
    // when this process ends must go on to notice.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    execlp(python.c_str(), python.c_str(), "-u", "-c", kScript, model.c_str(), folder.c_str(),
           threads.c_str(), settings.every_value ? "1" : "0", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  peer.to_ = down[1];
  peer.from_ = up[0];
  PLIMSOLL_TRY(peer.Ask("").status());
  return peer;
}

OrtPeer::OrtPeer(OrtPeer&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      unread_(std::move(other.unread_)),
      folder_(std::exchange(other.folder_, {})) {}

OrtPeer::~OrtPeer() {
  Resume();
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<std::string> OrtPeer::Ask(const std::string& command) {
  if (!command.empty()) {
    const std::string line = command + "\n";
    if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      return PeerError(ErrorKind::kRunFailed, "peer.process", "its process has ended", "");
    }
  }
  while (unread_.find('\n') == std::string::npos) {
    std::array<char, 4096> chunk{};
    const ssize_t got = read(from_, chunk.data(), chunk.size());
    if (got <= 0) {
      return PeerError(ErrorKind::kUnsupported, "peer.missing", "Python did not start or has ended",
                       "set PLIMSOLL_PYTHON to a Python that has onnxruntime");
    }
    unread_.append(chunk.data(), static_cast<size_t>(got));
  }
  const size_t end = unread_.find('\n');
  const std::string answer = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  if (answer == "ok") return std::string();
  if (answer.starts_with("ok ")) return answer.substr(3);
  if (answer.starts_with("missing")) {
    return PeerError(ErrorKind::kUnsupported, "peer.missing", answer,
                     "pip install onnxruntime, or set PLIMSOLL_PYTHON to a Python that has it");
  }
  return PeerError(ErrorKind::kRunFailed, "peer.failed", answer, "");
}

void OrtPeer::Pause() {
  if (process_ > 0) kill(process_, SIGSTOP);
}

void OrtPeer::Resume() {
  if (process_ > 0) kill(process_, SIGCONT);
}

Result<double> OrtPeer::RunOnce() {
  PLIMSOLL_ASSIGN(const std::string answer, Ask("run"));
  return ParseDouble(answer).value_or(0);
}

Result<Bytes> OrtPeer::ResidentAboveBase() {
  PLIMSOLL_ASSIGN(const std::string answer, Ask("resident"));
  return Bytes(ParseInteger(answer).value_or(0));
}

Result<std::string> OrtPeer::Version() { return Ask("version"); }

Result<std::vector<OrtPeer::Named>> OrtPeer::Outputs() {
  PLIMSOLL_TRY(Ask("outputs").status());
  std::vector<Named> outputs;
  FILE* listing = std::fopen((folder_ / "outputs").c_str(), "r");
  if (listing == nullptr) {
    return PeerError(ErrorKind::kRunFailed, "peer.files", "its list of outputs is missing", "");
  }
  std::array<char, 4096> line{};
  std::vector<std::string> lines;
  while (std::fgets(line.data(), static_cast<int>(line.size()), listing) != nullptr) {
    lines.emplace_back(line.data());
  }
  std::fclose(listing);
  for (const std::string& row : lines) {
    const auto fields = Split(Trim(row), '\t');
    if (fields.size() != 2) continue;
    PLIMSOLL_ASSIGN(kernels::HostTensor tensor,
                    ReadNpy(folder_ / StrCat("out_", fields[0], ".npy")));
    outputs.push_back({std::string(fields[1]), std::move(tensor)});
  }
  return outputs;
}

}  // namespace plimsoll::cli
