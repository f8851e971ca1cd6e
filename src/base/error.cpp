#include "base/error.h"

namespace burnish {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::refused:
      return 1;
    case ErrorKind::bad_input:
      return 2;
    case ErrorKind::environment:
      return 3;
    case ErrorKind::bug:
      return 4;
    case ErrorKind::timeout:
      return 124;
    case ErrorKind::interrupted:
      return 130;
  }
  return 4;
}

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::refused:
      return "refused";
    case ErrorKind::bad_input:
      return "bad_input";
    case ErrorKind::environment:
      return "environment";
    case ErrorKind::bug:
      return "bug";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "bug";
}

std::string Place::to_string() const {
  std::string text = file;
  if (line > 0) {
    text += ':' + std::to_string(line);
    if (column > 0) text += ':' + std::to_string(column);
  }
  return text;
}

Error Error::at(Place where) && {
  place = std::move(where);
  return std::move(*this);
}

Error Error::with_hint(std::string text) && {
  hint = std::move(text);
  return std::move(*this);
}

Error Error::in(std::string outer) && {
  context.push_back(std::move(outer));
  return std::move(*this);
}

std::string Error::to_string() const {
  std::string text;
  if (place) text += place->to_string() + ": ";
  text += message;
  for (const std::string& line : context) text += "\n  while " + line;
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

namespace {

Error error_of(ErrorKind kind, std::string message) {
  Error error;
  error.kind = kind;
  error.message = std::move(message);
  return error;
}

}  // namespace

Error refused(std::string message) { return error_of(ErrorKind::refused, std::move(message)); }
Error bad_input(std::string message) { return error_of(ErrorKind::bad_input, std::move(message)); }
Error environment_error(std::string message) {
  return error_of(ErrorKind::environment, std::move(message));
}
Error bug(std::string message) { return error_of(ErrorKind::bug, std::move(message)); }
Error timed_out(std::string message) { return error_of(ErrorKind::timeout, std::move(message)); }

}  // namespace burnish
