#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::compile {

// Numbers and texts one behind the other, for this machine alone: to tell one request from another,
// and to keep an answer.
class RecordWriter {
 public:
  void Int(int64_t value);
  void Real(double value);
  void Text(std::string_view text);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what a RecordWriter wrote. Whatever the bytes are, it stays inside them: after a failure
// every number is 0 and every text empty.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : left_(bytes) {}

  int64_t Int();
  int64_t Int(int64_t least, int64_t most);  // one outside is a failure
  std::string Text();
  // How many rows follow, each of at least `bytes_each`.
  size_t Count(size_t bytes_each);

  bool failed() const { return failed_; }
  bool AtEnd() const { return !failed_ && left_.empty(); }

 private:
  std::string_view Take(size_t size);

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace plimsoll::compile
