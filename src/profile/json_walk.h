#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace burnish::profile {

/// Walks a JSON text once from front to back and keeps nothing of it, for traces that are larger
/// than memory. Values that are not asked for are stepped over with their brackets and strings
/// checked only. The first mistake sticks: afterwards every call does nothing, and error() says
/// what and where. Strings may hold invalid UTF-8, as rocprofv3 writes it.
class JsonWalk {
 public:
  JsonWalk(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  enum class Kind { object, array, string, number, boolean, null, none };
  /// The kind of the next value; `none` at the end or after a mistake.
  Kind peek();

  /// Calls each(key) for every member; `each` takes the value by one call, or leaves it to be
  /// skipped. The key is valid until the next string is read. A value that is no object is skipped.
  template <class Each>
  void object(Each&& each) {
    if (!open('{')) return;
    while (member()) {
      const std::size_t before = at_;
      each(std::string_view(key_));
      if (at_ == before) skip();
    }
  }
  /// Calls each() for every element, likewise.
  template <class Each>
  void array(Each&& each) {
    if (!open('[')) return;
    while (element()) {
      const std::size_t before = at_;
      each();
      if (at_ == before) skip();
    }
  }
  /// The next value when it is of that kind; otherwise it is skipped. A string is valid until the
  /// next one is read.
  std::optional<double> number();
  std::optional<std::int64_t> integer();
  std::optional<std::string_view> string();
  void skip();

  /// Whether the walk stands behind the last byte but white space.
  void finish();
  void fail(std::string message);
  bool failed() const { return !message_.empty(); }
  Error error() const;
  std::size_t position() const { return at_; }

 private:
  static constexpr int kMostDepth = 128;

  bool open(char bracket);
  bool member();
  bool element();
  bool next_in(char close);
  std::optional<std::int64_t> plain_integer();
  void skip_brackets();
  void white();
  bool raw_string(std::string_view& content, bool& escaped);
  void unescape(std::string_view content);

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool first_ = false;  ///< the bracket was just opened
  std::string key_, scratch_;
  std::string message_;
  std::size_t where_ = 0;
};

}  // namespace burnish::profile
