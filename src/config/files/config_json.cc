#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "config/files/config_entries.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kLongestReason = 160;

// Reads characters and counts them in a place of the caller's, so that the events of the parser can
// be told where they happen.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  size_t* count_;
};

// Turns the parser's events into entries. An event that returns false stops the parser; `failure`
// then holds the reason.
class EntryBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  EntryBuilder(std::string_view text, const std::string& name, const size_t& count)
      : text_(text), name_(name), count_(count) {}

  std::vector<FileEntry>& entries() { return entries_; }
  const Status& failure() const { return failure_; }

  bool null() override { return Value(SettingValue()); }
  bool boolean(bool truth) override { return Value(truth); }
  bool number_integer(number_integer_t number) override { return Value(number); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Value(StrCat(number));
    }
    return Value(static_cast<int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t& /*text*/) override {
    return Value(number);
  }
  bool string(string_t& text) override { return Value(std::move(text)); }
  bool binary(binary_t& /*bytes*/) override { return Fail("it holds bytes"); }

  bool start_object(size_t /*elements*/) override {
    if (list_) return Fail("a list holds a map");
    if (keys_.size() == kDeepestEntry) return Fail("maps lie too deep in each other");
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) return Fail(StrCat("the key '", key, "' comes twice"));
    path_.resize(keys_.size() - 1);
    path_.push_back(std::move(key));
    entries_.push_back({path_, std::nullopt, Place(StartOfKey())});
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(size_t /*elements*/) override {
    if (keys_.empty()) return Fail("it holds a list, not a map of options");
    if (list_) return Fail("a list holds a list");
    list_.emplace();
    return true;
  }
  bool end_array() override {
    entries_.back().value = std::move(*list_);
    list_.reset();
    return true;
  }

  bool parse_error(size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& broken) override {
    if (const auto missing = MissingComma(position, last_token)) {
      failure_ = BadConfigFile("config.syntax", Place(*missing), "a comma is missing here");
      return false;
    }
    std::string reason = broken.what();
    for (const std::string_view before : {"] ", ": "}) {
      const size_t at = reason.find(before);
      if (at != std::string::npos) reason.erase(0, at + before.size());
    }
    if (reason.size() > kLongestReason) reason = reason.substr(0, kLongestReason) + "...";
    failure_ = BadConfigFile("config.syntax", Place(position == 0 ? 0 : position - 1), reason);
    return false;
  }

 private:
  bool Value(SettingValue value) {
    if (keys_.empty()) return Fail("it holds one value, not a map of options");
    if (!list_) {
      entries_.back().value = std::move(value);
      return true;
    }
    const bool element =
        std::holds_alternative<int64_t>(value) || std::holds_alternative<std::string>(value);
    if (!element) return Fail("a list may hold numbers and texts only");
    const auto* text = std::get_if<std::string>(&value);
    list_->push_back(text ? *text : StrCat(std::get<int64_t>(value)));
    return true;
  }

  bool Fail(std::string why) {
    failure_ = BadConfigFile("config.shape", Place(count_ == 0 ? 0 : count_ - 1), std::move(why));
    return false;
  }

  // A text that follows a value right away: where the comma belongs, behind that value. The token
  // ends just before the parser's position.
  std::optional<size_t> MissingComma(size_t position, const std::string& last_token) const {
    if (!last_token.starts_with('"') || position < last_token.size()) return {};
    size_t at = position - last_token.size();
    if (at > text_.size() || text_.substr(at, last_token.size()) != last_token) return {};
    while (at > 0 && std::string_view(" \t\r\n").find(text_[at - 1]) != std::string_view::npos)
      --at;
    const bool behind_value =
        at > 0 && std::string_view("{[,:").find(text_[at - 1]) == std::string_view::npos;
    return behind_value ? std::optional(at) : std::nullopt;
  }

  // The parser stands behind the closing quote of a key.
  size_t StartOfKey() const {
    size_t at = count_ - 1;
    bool escaped = true;
    while (at > 0 && escaped) {
      at = text_.rfind('"', at - 1);
      size_t slashes = 0;
      while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
      escaped = slashes % 2 == 1;
    }
    return at;
  }

  std::string Place(size_t offset) {
    offset = std::min(offset, text_.size());
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    return StrCat(name_, ":", line_, ":", offset - std::min(offset, line_start_) + 1);
  }

  const std::string_view text_;
  const std::string& name_;
  const size_t& count_;
  std::vector<std::set<std::string>> keys_;  // of each map that is open
  std::vector<std::string> path_;
  std::optional<std::vector<std::string>> list_;  // that is open
  std::vector<FileEntry> entries_;
  Status failure_;
  size_t counted_ = 0;  // lines are counted up to here
  size_t line_ = 1;
  size_t line_start_ = 0;
};

}  // namespace

Result<std::vector<FileEntry>> ReadJsonEntries(std::string_view text, const std::string& name,
                                               JsonComments comments) {
  size_t count = 0;
  EntryBuilder builder(text, name, count);
  const CountingIterator begin(text.data(), &count);
  const CountingIterator end(text.data() + text.size(), &count);
  const bool read =
      nlohmann::json::sax_parse(begin, end, &builder, nlohmann::json::input_format_t::json, true,
                                comments == JsonComments::kAllowed);
  if (!read) return builder.failure();
  return std::move(builder.entries());
}

}  // namespace plimsoll::config
