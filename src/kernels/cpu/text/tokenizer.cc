#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kTokenMatcherBytes = int64_t{8} << 20;
constexpr std::string_view kTextBegins = "\x02";
constexpr std::string_view kTextEnds = "\x03";

// Bytes of the UTF-8 character at the front of a text that is not empty.
size_t FirstCharacter(std::string_view text) {
  size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) ++bytes;
  return bytes;
}

bool HasCharacters(std::string_view text, int64_t least) {
  for (; least > 0 && !text.empty(); --least) text.remove_prefix(FirstCharacter(text));
  return least <= 0;
}

// Cuts texts into tokens: characters, what an expression matches, or what lies between matches of
// separators, each of which cuts the pieces that those before it have left.
class Tokenizer {
 public:
  static Result<std::shared_ptr<const Tokenizer>> Make(const KernelSite& site);

  void Cut(std::string_view text, std::vector<std::string_view>& tokens) const;
  int64_t marks() const { return marks_ ? 2 : 0; }
  const std::string& padding() const { return padding_; }

 private:
  using Expression = std::unique_ptr<const re2::RE2>;

  Status AddExpression(const KernelSite& site, const std::string& pattern);
  void Keep(std::string_view token, std::vector<std::string_view>& tokens) const {
    if (HasCharacters(token, least_characters_)) tokens.push_back(token);
  }
  // Of what is left of a text the first match. One that is empty takes the character behind it
  // along, so that the next search begins further on.
  static bool Match(const re2::RE2& expression, std::string_view text, std::string_view& before,
                    std::string_view& match, std::string_view& rest);

  std::vector<Expression> expressions_;  // none: characters
  bool separate_ = false;
  bool marks_ = false;
  int64_t least_characters_ = 1;
  std::string padding_;
};

Status Tokenizer::AddExpression(const KernelSite& site, const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(true);
  options.set_max_mem(kTokenMatcherBytes);
  auto expression = std::make_unique<const re2::RE2>(pattern, options);
  if (!expression->ok()) {
    return site.BadInput(StrCat("'", pattern, "' is no RE2 syntax: ", expression->error()));
  }
  expressions_.push_back(std::move(expression));
  return {};
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::Make(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  auto made = std::make_shared<Tokenizer>();
  made->marks_ = attributes.Int("mark", 0) != 0;
  made->padding_ = attributes.String("pad_value", "");
  made->least_characters_ = attributes.Int("mincharnum", 1);
  if (made->least_characters_ < 1) return site.BadInput("mincharnum is less than 1");
  const std::vector<std::string>* separators = attributes.Strings("separators");
  if (separators != nullptr && !separators->empty()) {
    made->separate_ = true;
    if (*separators != std::vector<std::string>{""}) {
      for (const std::string& one : *separators) PLIMSOLL_TRY(made->AddExpression(site, one));
    }
  } else {
    const std::string pattern = attributes.String("tokenexp", "");
    if (pattern.empty()) return site.BadInput("there are neither separators nor a tokenexp");
    if (pattern != ".") PLIMSOLL_TRY(made->AddExpression(site, pattern));
  }
  if (made->expressions_.empty() && made->least_characters_ > 1) {
    return site.BadInput("mincharnum is more than the one character of a token");
  }
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

bool Tokenizer::Match(const re2::RE2& expression, std::string_view text, std::string_view& before,
                      std::string_view& match, std::string_view& rest) {
  re2::StringPiece found;
  if (!expression.Match(text, 0, text.size(), re2::RE2::UNANCHORED, &found, 1)) return false;
  const auto place = static_cast<size_t>(found.data() - text.data());
  before = text.substr(0, place);
  match = text.substr(place, found.size());
  rest = text.substr(place + found.size());
  if (match.empty() && !rest.empty()) rest.remove_prefix(FirstCharacter(rest));
  return true;
}

void Tokenizer::Cut(std::string_view text, std::vector<std::string_view>& tokens) const {
  tokens.clear();
  if (expressions_.empty()) {
    for (; !text.empty(); text.remove_prefix(tokens.back().size())) {
      tokens.push_back(text.substr(0, FirstCharacter(text)));
    }
    return;
  }
  std::string_view before;
  std::string_view match;
  if (!separate_) {
    while (!text.empty() && Match(*expressions_[0], text, before, match, text)) {
      Keep(match, tokens);
    }
    return;
  }
  tokens.push_back(text);
  std::vector<std::string_view> whole;
  for (const Expression& expression : expressions_) {
    whole.swap(tokens);
    tokens.clear();
    for (std::string_view piece : whole) {
      while (!piece.empty() && Match(*expression, piece, before, match, piece)) {
        Keep(before, tokens);
      }
      Keep(piece, tokens);
    }
  }
}

// Tokens on a new last axis, between marks where these are wanted, padded to the longest. Where no
// text has a token there are no marks either, and without texts there is no new axis.
Result<KernelPointer> MakeTokenizer(KernelSite& site) {
  PLIMSOLL_ASSIGN(std::shared_ptr<const Tokenizer> tokenizer, Tokenizer::Make(site));
  const TensorInfo& texts = site.inputs[0];
  TensorInfo& result = site.outputs[0];
  const int64_t count = texts.elements();
  if (!result.sized) {
    size_t longest = 0;
    std::vector<std::string_view> tokens;
    const auto* first = static_cast<const std::string*>(texts.data);
    for (int64_t i = 0; i < count; ++i) {
      tokenizer->Cut(first[i], tokens);
      longest = std::max(longest, tokens.size());
    }
    result.dims = texts.dims;
    if (count == 0) {
      result.dims.back() = 0;
    } else {
      result.dims.push_back(longest == 0 ? 0 : static_cast<int64_t>(longest) + tokenizer->marks());
    }
    result.sized = true;
  }
  return MakeKernel(
      [tokenizer, count, room = count == 0 ? 0 : result.dims.back()](const KernelCall& call) {
        const auto* from = static_cast<const std::string*>(call.inputs[0]);
        auto* to = static_cast<std::string*>(call.outputs[0]);
        std::vector<std::string_view> tokens;
        for (int64_t i = 0; i < count && room > 0; ++i) {
          tokenizer->Cut(from[i], tokens);
          if (tokenizer->marks() > 0) {
            tokens.insert(tokens.begin(), kTextBegins);
            tokens.push_back(kTextEnds);
          }
          for (int64_t j = 0; j < room; ++j) {
            to[i * room + j] =
                j < std::ssize(tokens) ? tokens[j] : std::string_view(tokenizer->padding());
          }
        }
      });
}

constexpr KernelRow kTokenizerRows[] = {
    {graph::kContributedDomain, "Tokenizer", 1, graph::kNewest, MakeTokenizer},
};

}  // namespace

std::span<const KernelRow> TokenizerKernels() { return kTokenizerRows; }

}  // namespace plimsoll::kernels::cpu
