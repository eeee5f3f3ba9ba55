// The part of TorchMemory that is about recording.
#include <sstream>
#include <utility>

#include "core/torch_memory.h"
#include "profile/csv/csv_files.h"
#include "profile/csv_reader.h"
#include "profile/csv_report.h"
#include "profile/report_page.h"

namespace plimsoll::pytorch {

void TorchMemory::Record(bool on) {
  const std::lock_guard lock(mutex_);
  if (recorder_ == nullptr || on == recorder_->recording()) return;
  // Blocks that live when recording begins are counted before its window opens.
  if (on) {
    for (DeviceHeap* heap : heaps()) heap->Observe(true);
    recorder_->Start();
    return;
  }
  recorder_->Stop();
  for (DeviceHeap* heap : heaps()) heap->Observe(false);
}

Result<profile::Recording> TorchMemory::TakeRecording() {
  const std::lock_guard lock(mutex_);
  if (!recording()) {
    return Error{ErrorKind::kUsage,
                 "torch.record",
                 "cannot write what was recorded",
                 "",
                 "nothing is recorded",
                 "call plimsoll.torch.record() first, or install(record=True)"};
  }
  profile::Recording taken = recorder_->Stop();
  recorder_->Start();
  return taken;
}

Status TorchMemory::WriteOperatorMemory(const std::string& path) {
  PLIMSOLL_ASSIGN(const profile::Recording recording, TakeRecording());
  return profile::WriteProfileFile(path, profile::OperatorMemoryCsv(recording, {"CUDA"}));
}

Status TorchMemory::WriteReport(const std::string& path) {
  PLIMSOLL_ASSIGN(const profile::Recording recording, TakeRecording());
  std::istringstream table(profile::OperatorMemoryCsv(recording, {"CUDA"}));
  profile::CsvReport rows;
  PLIMSOLL_ASSIGN(const profile::OperatorMemoryReading reading,
                  profile::ReadOperatorMemory(table, path, [&](profile::OperatorMemoryRow&& row) {
                    rows.Add(std::move(row));
                  }));
  profile::Report report;
  report.title = "PyTorch";
  report.plans = rows.Finish("PyTorch", reading);
  return profile::WriteProfileFile(path, profile::ReportPage(report));
}

}  // namespace plimsoll::pytorch
