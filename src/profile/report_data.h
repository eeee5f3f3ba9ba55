#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "profile/tensor_kind.h"

// What report.html shows, as plain data: filled in from a plan, from a table of operator memory, or
// from another report.
namespace plimsoll::profile {

// A value that lies in the bytes of a tensor: a view of it, or written over it in place.
struct ReportMember {
  std::string name = {};
  std::string type = {};   // "float32"
  std::string shape = {};  // "[1,3]"
  Bytes offset = {};       // in the tensor
  int64_t begin = 0;       // steps [begin, end)
  int64_t end = 0;
};

// Bytes with one place and one life: a rectangle of the memory map.
struct ReportTensor {
  std::string name = {};
  TensorKind kind = TensorKind::kUnknown;
  std::string type = {};
  std::string shape = {};
  Bytes bytes = {};
  Offset offset = {};  // in its region
  int32_t region = 0;
  int64_t begin = 0;  // steps [begin, end)
  int64_t end = 0;
  int64_t producer = -1;                   // step; -1: nobody in the run
  std::vector<int64_t> readers = {};       // steps
  std::vector<ReportMember> members = {};  // others in the same bytes
  std::string rule = {};                   // what keeps others from its bytes, beside its life
};

struct ReportStep {
  std::string name = {};  // of the operator
  std::string type = {};
  std::string module = {};  // "layer1.0.conv2"; empty: not known
  double start_us = 0;      // where ReportPlan::timed
  std::string kernel = {};  // "jit:avx2"; empty: not known
  double took_us = 0;       // 0: not known
  Bytes read = {};          // at least, and so for the next two
  Bytes written = {};
  int64_t operations = 0;  // additions and multiplications; 0: not counted
};

// What the machine reaches that the steps ran on: the roofs under which operators run.
struct ReportMachine {
  double bytes_per_second = 0;  // read and written
  double operations_per_second = 0;
};

struct ReportRegion {
  std::string name = {};
  std::string kind = {};
  Bytes bytes = {};
  Bytes lower_bound = {};  // 0: not known
  bool from_device = true;
};

struct ReportTechnique {
  std::string name = {};
  int64_t taken = 0;
  int64_t declined = 0;
  Bytes gained = {};
  std::string reason = {};
};

struct ReportPort {
  std::string name = {};
  bool input = true;
  bool in_place = true;
  std::string reason = {};
};

struct ReportPlan {
  std::string name = {};
  std::string source = "plan";  // "plan", "run" or "csv"
  std::string subject = {};     // what the figures describe, one sentence
  Bytes peak = {};
  Bytes lower_bound = {};  // 0: not known
  bool optimal_for_order = false;
  std::optional<Bytes> order_lower_bound = {};
  std::optional<Bytes> plain_peak = {};
  std::optional<Bytes> limit = {};
  std::optional<Bytes> device = {};  // what is taken from the device in all
  std::optional<ReportMachine> machine = {};
  std::vector<ReportRegion> regions = {};
  int32_t main_region = 0;  // that the peak and `live` are of
  bool timed = false;       // steps have times
  double end_us = 0;        // when the last step ends, where timed
  std::vector<ReportStep> steps = {};
  std::vector<Bytes> live = {};      // by step
  std::vector<Bytes> reserved = {};  // by step; empty: the peak, all the time
  std::vector<ReportTensor> tensors = {};
  std::vector<ReportTechnique> techniques = {};
  std::vector<ReportPort> ports = {};
  std::vector<std::pair<std::string, std::string>> notes = {};  // of what, text

  int64_t peak_step() const;  // the first with the most live bytes; -1: there is none
};

std::string NameAndVersion();  // ours, "plimsoll 0.1.0"

struct Report {
  std::string title = {};
  std::string made_by = NameAndVersion();
  std::vector<ReportPlan> plans = {};  // at least one
};

// A tensor of the region that the peak is of, alive at the step.
struct ReportOwner {
  std::string name = {};
  std::string producer = {};  // operator
  Bytes bytes = {};
};
// Largest first.
std::vector<ReportOwner> OwnersAt(const ReportPlan& plan, int64_t step);

}  // namespace plimsoll::profile
