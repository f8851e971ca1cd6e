#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace burnish {

/// What kind of thing went wrong; each kind has one exit code (see exit_code()).
enum class ErrorKind {
  refused,      ///< the answer is no: a gate that fails, a target that is not met
  bad_input,    ///< wrong usage, or a file that cannot be understood
  environment,  ///< no device, no profiler, no permission, a missing program
  bug,          ///< burnish itself is wrong
  timeout,      ///< a deadline passed
  interrupted,  ///< the user asked to stop
};

/// The process exit code of an error kind (design §8). 0 is success.
int exit_code(ErrorKind kind);

/// The name that `--json` prints for a kind, e.g. "bad_input".
const char* to_string(ErrorKind kind);

/// A position in a file. A line or column of 0 is unknown; columns count bytes from 1.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string to_string() const;
};

/// Everything a reader needs to act: what failed, where, why, and what to do about it.
struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::bug;
  std::string message;
  std::optional<Place> place;
  std::string hint;
  std::vector<std::string> context;  ///< outermost last: "reading the task", "starting the run"

  Error at(Place where) &&;
  Error with_hint(std::string text) &&;
  Error in(std::string outer) &&;  ///< adds one line of context

  /// "file:line:column: message" with context and hint, for people; several lines, no final
  /// newline.
  std::string to_string() const;
};

Error refused(std::string message);
Error bad_input(std::string message);
Error environment_error(std::string message);
Error bug(std::string message);
Error timed_out(std::string message);

/// A value or an Error. Converts from either, so functions say `return value;` or
/// `return bad_input("…").at(place);`.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
  Result(tl::expected<T, Error> other) : tl::expected<T, Error>(std::move(other)) {}
};

/// Adds a line of context to the error of a result, if it has one.
template <class T>
Result<T> in_context(Result<T> result, std::string context) {
  if (!result) return std::move(result.error()).in(std::move(context));
  return result;
}

}  // namespace burnish

#define BURNISH_CONCAT_INNER(a, b) a##b
#define BURNISH_CONCAT(a, b) BURNISH_CONCAT_INNER(a, b)

/// Returns the error of `expr` from this function, or goes on.
#define BURNISH_TRY(expr)                                             \
  do {                                                                \
    if (auto burnish_try_result = (expr); !burnish_try_result)        \
      return ::burnish::Error(std::move(burnish_try_result).error()); \
  } while (false)

/// `BURNISH_TRY_ASSIGN(auto x, f())`: returns the error of f(), or assigns its value.
#define BURNISH_TRY_ASSIGN(target, expr) \
  BURNISH_TRY_ASSIGN_INNER(BURNISH_CONCAT(burnish_try_value_, __LINE__), target, expr)
#define BURNISH_TRY_ASSIGN_INNER(temporary, target, expr)                \
  auto temporary = (expr);                                               \
  if (!temporary) return ::burnish::Error(std::move(temporary).error()); \
  target = std::move(*temporary)
