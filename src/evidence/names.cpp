#include "evidence/names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace burnish::evidence {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

std::string demangled(std::string_view name) {
  // Longer names than any compiler writes are not worth the demangler's recursion.
  constexpr std::size_t kLongest = 4096;
  if (!name.starts_with("_Z") || name.size() > kLongest) return std::string(name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : std::string(name);
}

/// Where the parameter list starts: the "(" outside template arguments that is no "(anonymous
/// namespace)"; npos when there is none.
std::size_t parameters(std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && depth > 0) --depth;
    if (name[i] != '(' || depth > 0) continue;
    if (!name.substr(i).starts_with(kAnonymous)) return i;
    i += kAnonymous.size() - 1;
  }
  return std::string_view::npos;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string plain_name(std::string_view name) {
  name = trim(name);
  if (name.ends_with(".kd")) name.remove_suffix(3);
  std::string text = demangled(name);
  if (const std::size_t clone = text.find(" [clone"); clone != std::string::npos)
    text.resize(clone);
  if (const std::size_t open = parameters(text); open != std::string::npos && open > 0) {
    text.resize(open);
  }
  // "void copy<float>": what is left of the last space outside template arguments is a return type.
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if ((text[i] == '>' || text[i] == ')') && depth > 0) --depth;
    if (text[i] == ' ' && depth == 0 && i + 1 < text.size()) start = i + 1;
  }
  text.erase(0, start);
  // Spaces count only between two words ("unsigned int").
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool space = std::isspace(static_cast<unsigned char>(text[i])) != 0;
    const bool between = space && !clean.empty() && is_word(clean.back()) && i + 1 < text.size() &&
                         is_word(text[i + 1]);
    if (!space || between) clean += space ? ' ' : text[i];
  }
  return clean;
}

std::string base_name(std::string_view name) {
  std::string text = plain_name(name);
  if (const std::size_t open = text.find('<'); open != std::string::npos && open > 0) {
    text.resize(open);
  }
  if (const std::size_t scope = text.rfind("::"); scope != std::string::npos) {
    text.erase(0, scope + 2);
  }
  return text;
}

}  // namespace burnish::evidence
