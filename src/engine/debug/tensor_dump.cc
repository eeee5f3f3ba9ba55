#include "engine/debug/tensor_dump.h"

#include <algorithm>

#include "engine/debug/tensor_statistics.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

// One field of a line of CSV.
std::string Field(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string NumberOrNothing(std::optional<double> number) {
  return number ? StrCat(*number) : std::string();
}

}  // namespace

Result<std::filesystem::path> DumpFolder::Get() {
  const std::lock_guard lock(mutex_);
  if (made_.empty()) {
    const std::filesystem::path path = path_.empty() ? "." : path_;
    PLIMSOLL_ASSIGN(made_, MakeNewFolder(path / TimeStamp()));
  }
  return made_;
}

RunDump::RunDump(const config::DumpSettings& settings, DumpFolder& folder, std::string graph,
                 int64_t step)
    : settings_(settings), session_(folder), graph_(std::move(graph)), step_(step) {}

bool RunDump::Takes(const graph::Node& node) const {
  return settings_.layers.empty() ||
         std::ranges::find(settings_.layers, node.name) != settings_.layers.end();
}

Result<std::filesystem::path> RunDump::Folder() {
  const std::lock_guard lock(mutex_);
  return FolderLocked();
}

Result<std::filesystem::path> RunDump::FolderLocked() {
  if (folder_.empty()) {
    PLIMSOLL_ASSIGN(const std::filesystem::path session, session_.Get());
    PLIMSOLL_ASSIGN(folder_, MakeNewFolder(session / SafeFileName(graph_) / StrCat(step_)));
  }
  return folder_;
}

void RunDump::Write(const OperatorTensors& tensors, std::span<const OperandTensor> operands) {
  const std::lock_guard lock(mutex_);
  for (const OperandTensor& operand : operands) {
    if (failed_ || !operand.has_bytes()) continue;
    const Status written = TryWrite(tensors, operand);
    if (written.ok()) continue;
    failed_ = true;
    Log(LogLevel::kWarning, StrCat(written.error().Text(),
                                   ": the run goes on, and writes no more "
                                   "tensors (dump_config)"));
  }
}

Status RunDump::TryWrite(const OperatorTensors& tensors, const OperandTensor& operand) {
  PLIMSOLL_ASSIGN(const std::filesystem::path folder, FolderLocked());
  PLIMSOLL_ASSIGN(const FetchedBytes fetched,
                  Fetch(tensors.queue, operand.address, operand.size()));
  const graph::Node& node = tensors.graph[tensors.node];
  const std::string who = StrCat(Field(node.name), ",", Field(OperatorName(node)), ",",
                                 operand.role(), ",", operand.index, ",", Field(operand.value), ",",
                                 Name(operand.type), ",", Field(Join(operand.dims, "x")));
  if (settings_.data == config::DumpSettings::Data::kStats) {
    const TensorStatistics seen = StatisticsOf(operand.type, operand.elements(), fetched.bytes);
    return AddLine("statistics.csv",
                   "node,operator,operand,index,value,type,shape,elements,min,max,mean,nan,inf\n",
                   StrCat(who, ",", seen.elements, ",", NumberOrNothing(seen.least), ",",
                          NumberOrNothing(seen.most), ",", NumberOrNothing(seen.mean), ",",
                          seen.nan, ",", seen.infinite, "\n"));
  }
  const std::string named = node.name.empty() ? StrCat("node", tensors.node.index()) : node.name;
  const std::string file =
      StrCat(names_.Take(StrCat(SafeFileName(node.op), ".", SafeFileName(named), ".",
                                operand.role(), ".", operand.index)),
             ".npy");
  PLIMSOLL_TRY(WriteTensorFile(folder / file, operand.type, operand.dims, fetched.bytes));
  return AddLine("mapping.csv", "file,node,operator,operand,index,value,type,shape\n",
                 StrCat(file, ",", who, "\n"));
}

Status RunDump::AddLine(const char* file, const char* header, const std::string& line) {
  const std::filesystem::path path = folder_ / file;
  return AppendToFile(path, std::filesystem::exists(path) ? line : header + line);
}

}  // namespace plimsoll::engine
