#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::replay {

// A value of a pickle: None, bool, int, float, str, list, tuple or dict. Texts, lists and dicts are
// the reader's: it must outlive them.
struct PickleValue {
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kText, kList, kDict };
  Kind kind = Kind::kNone;
  union {
    int64_t number = 0;  // of kBool too
    double real;
    uint64_t index;  // of a text, list or dict
  };
};

// Reads a pickle of plain data, protocols 0 to 5, and executes nothing: an instruction that would
// import a name, make an object or call anything is refused (replay.pickle). What it makes is
// bounded by the bytes of the file; values that the file names several times are one.
class PickleReader {
 public:
  explicit PickleReader(std::string name) : name_(std::move(name)) {}

  // The bytes must outlive the reader.
  Result<PickleValue> Read(std::string_view bytes);

  std::string_view Text(const PickleValue& text) const { return texts_[text.index]; }
  // The elements of a list or tuple; of a dict key, value, key, value.
  const std::vector<PickleValue>& Items(const PickleValue& list) const {
    return lists_[list.index];
  }
  // Of a dict, under a text; the last one where there are several.
  std::optional<PickleValue> Find(const PickleValue& dict, std::string_view key) const;

  Error Bad(std::string why) const;

 private:
  using Kind = PickleValue::Kind;

  Status Step(unsigned char opcode);
  Status Refuse(unsigned char opcode) const;
  Status TakeCount(size_t width, uint64_t& count);
  Status TakeBytes(uint64_t count, std::string_view& bytes);
  Status TakeLine(std::string_view& line);
  Status PushLong(std::string_view digits);
  Status PushNumberLine();
  Status PushFloatLine();
  Status PushQuotedLine();
  Status PushUnicodeLine();
  Status PushBytes(size_t width);
  Status PopMark(std::vector<PickleValue>& items);
  Status MakeTuple(size_t count);
  Status Append(std::vector<PickleValue> items, Kind into);
  Status Remember(uint64_t place);
  Status Recall(uint64_t place);
  void Push(PickleValue value) { stack_.push_back(value); }
  void PushInt(int64_t number);
  void PushText(std::string_view text);
  void PushList(Kind kind, std::vector<PickleValue> items);

  const std::string name_;
  std::string_view bytes_;
  size_t at_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleValue> memo_;
  std::vector<std::string_view> texts_;
  std::vector<std::vector<PickleValue>> lists_;
};

}  // namespace plimsoll::replay
