#include "replay/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "plimsoll/base/text.h"

namespace plimsoll::replay {
namespace {

// Of Python's module pickletools: those that make plain data.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kFloatLine = 'F',
  kIntLine = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kLongLine = 'L',
  kBinInt2 = 'M',
  kNone = 'N',
  kString = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicode = 'V',
  kBinUnicode = 'X',
  kAppend = 'a',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kGet = 'g',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinFloat = 'G',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kMemoize = 0x94,
  kFrame = 0x95,
};

constexpr int64_t kNewestProtocol = 5;
constexpr uint64_t kMostMemo = uint64_t{1} << 28;

}  // namespace

Error PickleReader::Bad(std::string why) const {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "replay.pickle",
               .what = "cannot read the snapshot",
               .where = StrCat(name_, ": byte ", at_),
               .why = std::move(why),
               .remedy = "save it with torch.cuda.memory._dump_snapshot(FILE)"};
}

Status PickleReader::TakeBytes(uint64_t count, std::string_view& bytes) {
  if (count > bytes_.size() - at_) {
    return Bad(StrCat(count, " bytes are needed, but ", bytes_.size() - at_, " remain"));
  }
  bytes = bytes_.substr(at_, count);
  at_ += count;
  return {};
}

Status PickleReader::TakeCount(size_t width, uint64_t& count) {
  static_assert(std::endian::native == std::endian::little, "pickles are little-endian");
  std::string_view bytes;
  PLIMSOLL_TRY(TakeBytes(width, bytes));
  count = 0;
  std::memcpy(&count, bytes.data(), width);
  return {};
}

Status PickleReader::TakeLine(std::string_view& line) {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) return Bad("a line is cut off");
  line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return {};
}

void PickleReader::PushInt(int64_t number) {
  PickleValue value;
  value.kind = Kind::kInt;
  value.number = number;
  Push(value);
}

void PickleReader::PushText(std::string_view text) {
  PickleValue value;
  value.kind = Kind::kText;
  value.index = texts_.size();
  texts_.push_back(text);
  Push(value);
}

void PickleReader::PushList(Kind kind, std::vector<PickleValue> items) {
  PickleValue value;
  value.kind = kind;
  value.index = lists_.size();
  lists_.push_back(std::move(items));
  Push(value);
}

Status PickleReader::PushBytes(size_t width) {
  uint64_t count = 0;
  std::string_view bytes;
  PLIMSOLL_TRY(TakeCount(width, count));
  PLIMSOLL_TRY(TakeBytes(count, bytes));
  PushText(bytes);
  return {};
}

// A number of any length in two's complement. Addresses above 2^63 keep their bits.
Status PickleReader::PushLong(std::string_view digits) {
  constexpr size_t kMost = 9;  // eight, and one for the sign
  if (digits.size() > kMost || (digits.size() == kMost && digits.back() != 0)) {
    return Bad("a number has more than 64 bits");
  }
  const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
  uint64_t bits = negative ? ~uint64_t{0} : 0;
  std::memcpy(&bits, digits.data(), std::min<size_t>(digits.size(), sizeof bits));
  PushInt(static_cast<int64_t>(bits));
  return {};
}

// "7", "7L", and of protocol 0 "00" and "01" for False and True.
Status PickleReader::PushNumberLine() {
  std::string_view line;
  PLIMSOLL_TRY(TakeLine(line));
  if (line.ends_with('L')) line.remove_suffix(1);
  uint64_t bits = 0;
  const auto number = ParseInteger(line);
  if (number) {
    PushInt(*number);
    return {};
  }
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), bits);
  if (failed != std::errc() || end != line.data() + line.size()) return Bad("it is no number");
  PushInt(static_cast<int64_t>(bits));
  return {};
}

Status PickleReader::PushFloatLine() {
  std::string_view line;
  PLIMSOLL_TRY(TakeLine(line));
  PickleValue value;
  value.kind = Kind::kFloat;
  value.real = ParseDouble(line).value_or(0);
  Push(value);
  return {};
}

// 'text' with escapes. Only the quotes are taken off: no name that is looked for has an escape.
Status PickleReader::PushQuotedLine() {
  std::string_view line;
  PLIMSOLL_TRY(TakeLine(line));
  if (line.size() < 2 || line.front() != line.back()) return Bad("a text has no quotes");
  PushText(line.substr(1, line.size() - 2));
  return {};
}

Status PickleReader::PushUnicodeLine() {
  std::string_view line;
  PLIMSOLL_TRY(TakeLine(line));
  PushText(line);
  return {};
}

Status PickleReader::PopMark(std::vector<PickleValue>& items) {
  if (marks_.empty() || marks_.back() > stack_.size()) return Bad("a list ends that did not begin");
  const auto begin = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
  items.assign(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return {};
}

Status PickleReader::MakeTuple(size_t count) {
  if (stack_.size() < count) return Bad("a tuple has too few values");
  const auto begin = stack_.end() - static_cast<ptrdiff_t>(count);
  std::vector<PickleValue> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  PushList(Kind::kList, std::move(items));
  return {};
}

Status PickleReader::Append(std::vector<PickleValue> items, Kind into) {
  if (stack_.empty() || stack_.back().kind != into) return Bad("values are added to no list");
  if (into == Kind::kDict && items.size() % 2 != 0) return Bad("a key has no value");
  std::vector<PickleValue>& list = lists_[stack_.back().index];
  list.insert(list.end(), items.begin(), items.end());
  return {};
}

Status PickleReader::Remember(uint64_t place) {
  // The places of a pickle are counted from 0, so a larger one than there are bytes is hostile.
  if (stack_.empty() || place > kMostMemo || place > bytes_.size()) {
    return Bad("nothing can be remembered there");
  }
  if (place >= memo_.size()) memo_.resize(place + 1);
  memo_[place] = stack_.back();
  return {};
}

Status PickleReader::Recall(uint64_t place) {
  if (place >= memo_.size()) return Bad("a value is named that was not given");
  Push(memo_[place]);
  return {};
}

Status PickleReader::Refuse(unsigned char opcode) const {
  return Bad(
      StrCat("the instruction ", static_cast<int>(opcode),
             " makes an object or is unknown; only numbers, texts, lists and dicts are read"));
}

Status PickleReader::Step(unsigned char opcode) {
  uint64_t count = 0;
  std::string_view text;
  std::vector<PickleValue> items;
  PickleValue value;
  switch (opcode) {
    case kProtocol:
      PLIMSOLL_TRY(TakeCount(1, count));
      return count <= kNewestProtocol ? Status() : Bad("its protocol is unknown");
    case kFrame:
      return TakeCount(8, count);
    case kMark:
      marks_.push_back(stack_.size());
      return {};
    case kPop:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
      } else if (stack_.empty()) {
        return Bad("there is no value to drop");
      } else {
        stack_.pop_back();
      }
      return {};
    case kPopMark:
      return PopMark(items);
    case kNone:
      Push(value);
      return {};
    case kTrue:
    case kFalse:
      value.kind = Kind::kBool;
      value.number = opcode == kTrue ? 1 : 0;
      Push(value);
      return {};
    case kIntLine:
    case kLongLine:
      return PushNumberLine();
    case kBinInt:
      PLIMSOLL_TRY(TakeCount(4, count));
      PushInt(static_cast<int32_t>(count));
      return {};
    case kBinInt1:
    case kBinInt2:
      PLIMSOLL_TRY(TakeCount(opcode == kBinInt1 ? 1 : 2, count));
      PushInt(static_cast<int64_t>(count));
      return {};
    case kLong1:
    case kLong4:
      PLIMSOLL_TRY(TakeCount(opcode == kLong1 ? 1 : 4, count));
      PLIMSOLL_TRY(TakeBytes(count, text));
      return PushLong(text);
    case kFloatLine:
      return PushFloatLine();
    case kBinFloat:
      PLIMSOLL_TRY(TakeCount(8, count));
      value.kind = Kind::kFloat;
      value.real = std::bit_cast<double>(__builtin_bswap64(count));
      Push(value);
      return {};
    case kString:
      return PushQuotedLine();
    case kUnicode:
      return PushUnicodeLine();
    case kShortBinString:
    case kShortBinBytes:
    case kShortBinUnicode:
      return PushBytes(1);
    case kBinString:
    case kBinBytes:
    case kBinUnicode:
      return PushBytes(4);
    case kBinBytes8:
    case kBinUnicode8:
      return PushBytes(8);
    case kEmptyList:
    case kEmptyTuple:
      PushList(Kind::kList, {});
      return {};
    case kEmptyDict:
      PushList(Kind::kDict, {});
      return {};
    case kList:
    case kTuple:
      PLIMSOLL_TRY(PopMark(items));
      PushList(Kind::kList, std::move(items));
      return {};
    case kDict:
      PLIMSOLL_TRY(PopMark(items));
      if (items.size() % 2 != 0) return Bad("a key has no value");
      PushList(Kind::kDict, std::move(items));
      return {};
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return MakeTuple(opcode - kTuple1 + 1U);
    case kAppend:
    case kSetItem: {
      const size_t values = opcode == kAppend ? 1 : 2;
      if (stack_.size() < values) return Bad("there is no value to add");
      items.assign(stack_.end() - static_cast<ptrdiff_t>(values), stack_.end());
      stack_.erase(stack_.end() - static_cast<ptrdiff_t>(values), stack_.end());
      return Append(std::move(items), opcode == kAppend ? Kind::kList : Kind::kDict);
    }
    case kAppends:
    case kSetItems:
      PLIMSOLL_TRY(PopMark(items));
      return Append(std::move(items), opcode == kAppends ? Kind::kList : Kind::kDict);
    case kPut:
    case kGet: {
      PLIMSOLL_TRY(TakeLine(text));
      const auto place = ParseInteger(text);
      if (!place || *place < 0) return Bad("a place is no number");
      const auto index = static_cast<uint64_t>(*place);
      return opcode == kPut ? Remember(index) : Recall(index);
    }
    case kBinPut:
    case kLongBinPut:
      PLIMSOLL_TRY(TakeCount(opcode == kBinPut ? 1 : 4, count));
      return Remember(count);
    case kBinGet:
    case kLongBinGet:
      PLIMSOLL_TRY(TakeCount(opcode == kBinGet ? 1 : 4, count));
      return Recall(count);
    case kMemoize:
      return Remember(memo_.size());
    default:
      return Refuse(opcode);
  }
}

Result<PickleValue> PickleReader::Read(std::string_view bytes) {
  bytes_ = bytes;
  at_ = 0;
  while (at_ < bytes_.size()) {
    const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
    if (opcode == kStop) {
      if (stack_.empty()) return Bad("it holds no value");
      return stack_.back();
    }
    PLIMSOLL_TRY(Step(opcode));
  }
  return Bad("it is cut off");
}

std::optional<PickleValue> PickleReader::Find(const PickleValue& dict, std::string_view key) const {
  std::optional<PickleValue> found;
  if (dict.kind != Kind::kDict) return found;
  const std::vector<PickleValue>& items = lists_[dict.index];
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind == Kind::kText && Text(items[i]) == key) found = items[i + 1];
  }
  return found;
}

}  // namespace plimsoll::replay
