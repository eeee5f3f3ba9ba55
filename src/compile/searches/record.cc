#include "compile/searches/record.h"

#include <cstring>

namespace plimsoll::compile {

void RecordWriter::Int(int64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void RecordWriter::Real(double value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void RecordWriter::Text(std::string_view text) {
  Int(static_cast<int64_t>(text.size()));
  bytes_.append(text);
}

std::string_view RecordReader::Take(size_t size) {
  if (failed_ || size > left_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

int64_t RecordReader::Int() {
  int64_t value = 0;
  const std::string_view taken = Take(sizeof value);
  if (!taken.empty()) std::memcpy(&value, taken.data(), sizeof value);
  return value;
}

int64_t RecordReader::Int(int64_t least, int64_t most) {
  const int64_t value = Int();
  if (value >= least && value <= most) return value;
  failed_ = true;
  return 0;
}

std::string RecordReader::Text() { return std::string(Take(Count(1))); }

size_t RecordReader::Count(size_t bytes_each) {
  const int64_t count = Int();
  if (count >= 0 && static_cast<uint64_t>(count) <= left_.size() / bytes_each && !failed_) {
    return static_cast<size_t>(count);
  }
  failed_ = true;
  return 0;
}

}  // namespace plimsoll::compile
