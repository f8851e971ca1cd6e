#include "profile/json_walk.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace burnish::profile {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonWalk::fail(std::string message) {
  if (failed()) return;
  message_ = std::move(message);
  where_ = std::min(at_, text_.size());
}

Error JsonWalk::error() const {
  const std::string_view before = text_.substr(0, where_);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  const auto bounded = [](std::uint64_t value) {
    return static_cast<int>(std::min<std::uint64_t>(
        value, static_cast<std::uint64_t>(std::numeric_limits<int>::max())));
  };
  return bad_input(message_).at(
      {file_, bounded(static_cast<std::uint64_t>(lines) + 1), bounded(column + 1)});
}

void JsonWalk::white() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    ++at_;
  }
}

JsonWalk::Kind JsonWalk::peek() {
  if (failed()) return Kind::none;
  white();
  if (at_ >= text_.size()) return Kind::none;
  switch (text_[at_]) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
    case 'N':
    case 'I':
      return Kind::null;  // and NaN, Infinity, which some writers put
    default:
      return is_digit(text_[at_]) || text_[at_] == '-' ? Kind::number : Kind::none;
  }
}

bool JsonWalk::open(char bracket) {
  const Kind kind = peek();
  if (failed()) return false;
  if (kind == Kind::none || text_[at_] != bracket) {
    skip();
    return false;
  }
  if (depth_ >= kMostDepth) {
    fail("brackets are nested too deeply");
    return false;
  }
  ++at_;
  ++depth_;
  first_ = true;
  return true;
}

/// Steps to the next entry of an open bracket; false when it closes.
bool JsonWalk::next_in(char close) {
  if (failed()) return false;
  white();
  if (at_ >= text_.size()) {
    fail("the file ends in the middle: it was cut off");
    return false;
  }
  if (text_[at_] == close) {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (text_[at_] != ',') {
      fail("a comma or a closing bracket was expected");
      return false;
    }
    ++at_;
    white();
  }
  first_ = false;
  return true;
}

bool JsonWalk::element() { return next_in(']'); }

bool JsonWalk::member() {
  if (!next_in('}')) return false;
  std::string_view content;
  bool escaped = false;
  if (!raw_string(content, escaped)) return false;
  if (escaped) {
    unescape(content);
    key_ = scratch_;
  } else {
    key_.assign(content);
  }
  white();
  if (at_ >= text_.size() || text_[at_] != ':') {
    fail(at_ >= text_.size() ? "the file ends in the middle: it was cut off"
                             : "a colon was expected after the key");
    return false;
  }
  ++at_;
  white();
  return true;
}

bool JsonWalk::raw_string(std::string_view& content, bool& escaped) {
  if (at_ >= text_.size() || text_[at_] != '"') {
    fail(at_ >= text_.size() ? "the file ends in the middle: it was cut off"
                             : "a string was expected");
    return false;
  }
  const std::size_t start = at_ + 1;
  std::size_t from = start;
  for (;;) {
    const void* found =
        from < text_.size() ? std::memchr(text_.data() + from, '"', text_.size() - from) : nullptr;
    if (found == nullptr) {
      fail("a string is not closed before the end of the file");
      return false;
    }
    const auto close = static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
    std::size_t slashes = 0;
    while (close - slashes > start && text_[close - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) {
      content = text_.substr(start, close - start);
      escaped = slashes > 0 || from != start ||
                (!content.empty() && std::memchr(content.data(), '\\', content.size()) != nullptr);
      at_ = close + 1;
      return true;
    }
    from = close + 1;
  }
}

void JsonWalk::unescape(std::string_view content) {
  scratch_.clear();
  const auto unit = [&](std::size_t at) -> std::optional<std::uint32_t> {
    if (at + 4 > content.size()) return std::nullopt;
    std::uint32_t code = 0;
    const char* first = content.data() + at;
    const auto [end, problem] = std::from_chars(first, first + 4, code, 16);
    if (problem != std::errc() || end != first + 4) return std::nullopt;
    return code;
  };
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content[i] != '\\' || i + 1 >= content.size()) {
      scratch_ += content[i];
      continue;
    }
    const char c = content[++i];
    switch (c) {
      case 'n':
        scratch_ += '\n';
        break;
      case 't':
        scratch_ += '\t';
        break;
      case 'r':
        scratch_ += '\r';
        break;
      case 'b':
        scratch_ += '\b';
        break;
      case 'f':
        scratch_ += '\f';
        break;
      case 'u': {
        auto code = unit(i + 1);
        if (!code) {
          scratch_ += "\\u";
          break;
        }
        i += 4;
        if (*code >= 0xD800 && *code < 0xDC00 && i + 2 < content.size() && content[i + 1] == '\\' &&
            content[i + 2] == 'u') {
          const auto low = unit(i + 3);
          if (low && *low >= 0xDC00 && *low < 0xE000) {
            code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
            i += 6;
          }
        }
        append_utf8(scratch_, *code);
        break;
      }
      default:
        scratch_ += c;
    }
  }
}

std::optional<std::string_view> JsonWalk::string() {
  if (peek() != Kind::string) {
    skip();
    return std::nullopt;
  }
  std::string_view content;
  bool escaped = false;
  if (!raw_string(content, escaped)) return std::nullopt;
  if (!escaped) return content;
  unescape(content);
  return std::string_view(scratch_);
}

/// The common case, an integer of few digits, without a second look.
std::optional<std::int64_t> JsonWalk::plain_integer() {
  white();
  std::size_t at = at_;
  const bool negative = at < text_.size() && text_[at] == '-';
  if (negative) ++at;
  std::int64_t value = 0;
  const std::size_t first = at;
  while (at < text_.size() && is_digit(text_[at]) && at - first < 15) {
    value = value * 10 + (text_[at] - '0');
    ++at;
  }
  const char after = at < text_.size() ? text_[at] : '\0';
  if (at == first || is_digit(after) || after == '.' || after == 'e' || after == 'E') {
    return std::nullopt;
  }
  at_ = at;
  return negative ? -value : value;
}

std::optional<std::int64_t> JsonWalk::integer() {
  if (failed()) return std::nullopt;
  if (const auto whole = plain_integer()) return whole;
  if (peek() == Kind::number) {
    // Longer ones do not fit a double exactly.
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, problem] = std::from_chars(text_.data() + at_, end, value);
    if (problem == std::errc() && (stop == end || (*stop != '.' && *stop != 'e' && *stop != 'E'))) {
      at_ = static_cast<std::size_t>(stop - text_.data());
      return value;
    }
  }
  const auto real = number();
  if (!real || !(std::fabs(*real) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<double> JsonWalk::number() {
  if (failed()) return std::nullopt;
  if (const auto whole = plain_integer()) return static_cast<double>(*whole);
  if (peek() != Kind::number) {
    skip();
    return std::nullopt;
  }
  double value = 0;
  const char* begin = text_.data() + at_;
  const char* end = text_.data() + text_.size();
  const auto [stop, problem] = std::from_chars(begin, end, value);
  if (stop == begin) {
    fail("a number was expected");
    return std::nullopt;
  }
  at_ += static_cast<std::size_t>(stop - begin);
  if (problem != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Steps over what stands inside open brackets, up to the one that closes the last of them.
void JsonWalk::skip_brackets() {
  static const std::array<bool, 256> ends = [] {
    std::array<bool, 256> stops{};
    for (const char c : {'"', '[', ']', '{', '}'}) stops[static_cast<unsigned char>(c)] = true;
    return stops;
  }();
  int depth = 0;
  const char* data = text_.data();
  const std::size_t size = text_.size();
  do {
    while (at_ < size && !ends[static_cast<unsigned char>(data[at_])]) ++at_;
    if (at_ >= size) {
      fail("the file ends in the middle: it was cut off");
      return;
    }
    if (data[at_] == '"') {
      std::string_view content;
      bool escaped = false;
      if (!raw_string(content, escaped)) return;
      continue;
    }
    depth += data[at_] == '[' || data[at_] == '{' ? 1 : -1;
    ++at_;
  } while (depth > 0);
}

void JsonWalk::skip() {
  if (failed()) return;
  white();
  if (at_ >= text_.size()) {
    fail("the file ends in the middle: it was cut off");
    return;
  }
  const char first = text_[at_];
  if (first == '[' || first == '{') {
    skip_brackets();
    return;
  }
  if (first == '"') {
    std::string_view content;
    bool escaped = false;
    (void)raw_string(content, escaped);
    return;
  }
  const std::size_t start = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool word = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                      c == '+' || c == '.';
    if (!word) break;
    ++at_;
  }
  if (at_ == start) fail("a value was expected");
}

void JsonWalk::finish() {
  if (failed()) return;
  white();
  if (at_ < text_.size()) fail("text follows the end of the JSON value");
}

}  // namespace burnish::profile
