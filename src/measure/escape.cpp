#include "measure/escape.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

#include "base/text.h"

namespace burnish::measure {
namespace {

constexpr std::array<std::string_view, 5> kForbidden = {"asm", "__asm", "__asm__",
                                                        "__cl_clang_function_pointers", "_Pragma"};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The text with lines joined that end with a backslash, and the line that each character is of. A
/// compiler lets blanks follow the backslash.
std::string joined_lines(std::string_view text, std::vector<int>& lines) {
  std::string joined;
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const std::size_t end = text.find_first_not_of(" \t\v\f", i + 1);
      if (end != std::string_view::npos && (text[end] == '\n' || text[end] == '\r')) {
        const char other = text[end] == '\n' ? '\r' : '\n';
        i = end + 1 < text.size() && text[end + 1] == other ? end + 1 : end;
        ++line;
        continue;
      }
    }
    joined += text[i];
    lines.push_back(line);
    if (text[i] == '\n') ++line;
  }
  return joined;
}

/// Calls `word(text, line)` for each identifier that is not in a comment, a string or a character.
template <class Function>
void for_each_word(std::string_view text, Function&& word) {
  std::vector<int> lines;
  const std::string joined = joined_lines(text, lines);
  for (std::size_t i = 0; i < joined.size();) {
    const char c = joined[i];
    if (joined.compare(i, 2, "//") == 0) {
      i = std::min(joined.find('\n', i), joined.size());
    } else if (joined.compare(i, 2, "/*") == 0) {
      const auto end = joined.find("*/", i + 2);
      i = end == std::string::npos ? joined.size() : end + 2;
    } else if (c == '"' || c == '\'') {
      for (++i; i < joined.size() && joined[i] != c && joined[i] != '\n'; ++i) {
        if (joined[i] == '\\') ++i;
      }
      ++i;
    } else if (in_word(c)) {
      const std::size_t from = i;
      while (i < joined.size() && in_word(joined[i])) ++i;
      word(std::string_view(joined).substr(from, i - from), lines[from]);
    } else {
      ++i;
    }
  }
}

/// OpenCL C has trigraphs: this one is a backslash, which joins lines and ends no string.
std::string without_trigraphs(std::string_view text) {
  return replace_all(std::string(text), "?\?/", "\\");
}

bool pastes_tokens(std::string_view text) {
  std::vector<int> lines;
  const std::string joined = joined_lines(without_trigraphs(text), lines);
  return contains(joined, "##") || contains(joined, "%:%:") || contains(joined, "?\?=");
}

std::string search(const std::string& file, std::string_view text) {
  std::string found;
  if (contains(text, "?\?/")) found = search(file, without_trigraphs(text));
  for_each_word(text, [&](std::string_view word, int line) {
    if (!found.empty()) return;
    for (const std::string_view forbidden : kForbidden) {
      if (word != forbidden) continue;
      found = fmt::format(
          "{}:{}: `{}` is refused on a CPU device, where it leads out of the kernel "
          "language into the worker's process",
          file, line, word);
    }
  });
  return found;
}

/// The source with macros expanded, so that a word pasted together from parts shows; absent when no
/// C compiler is there or it cannot read the source.
std::optional<std::string> preprocessed(const device::Source& source, ProcessRunner& runner) {
  const auto compiler = find_program({"cc", "c++", "gcc", "clang"});
  if (!compiler) return std::nullopt;
  auto folder = TemporaryFolder::make("burnish-source");
  if (!folder) return std::nullopt;
  ProcessSpec spec;
  spec.argv = {compiler->string(), "-E", "-P", "-x", "c", "-I" + folder->path().string()};
  for (const auto& [name, text] : source.also) {
    if (!real_file_system().write(folder->path() / name, text)) return std::nullopt;
  }
  for (const auto& [name, value] : source.macros) spec.argv.push_back("-D" + name + "=" + value);
  spec.argv.push_back("-");
  spec.input = source.text;
  spec.deadline = std::chrono::seconds(20);
  const auto result = runner.run(spec);
  if (!result || !result->ok()) return std::nullopt;
  return result->output;
}

}  // namespace

std::string forbidden_source(const device::DeviceInfo& device, const device::Source& source,
                             ProcessRunner& runner) {
  // A Python candidate is host code anyway, and is confined as such.
  if (device.vendor != "cpu" || source.language == "python") return "";
  bool pastes = false;
  auto look = [&](const std::string& file, const std::string& text) {
    if (pastes_tokens(text)) pastes = true;
    return search(file, text);
  };
  std::string found = look(source.file, source.text);
  for (const auto& [name, text] : source.also) {
    if (found.empty()) found = look(name, text);
  }
  for (const auto& [name, value] : source.macros) {
    if (found.empty()) found = look("macro " + name, value);
  }
  if (found.empty() && pastes) {
    if (const auto expanded = preprocessed(source, runner)) {
      found = search(source.file + ", macros expanded", *expanded);
    }
  }
  return found;
}

device::Source without_escapes(const device::DeviceInfo& device, device::Source source) {
  if (device.vendor != "cpu" || source.language != "opencl") return source;
  bool pastes = pastes_tokens(source.text);
  for (const auto& [name, text] : source.also) pastes = pastes || pastes_tokens(text);
  for (const auto& [name, value] : source.macros) pastes = pastes || pastes_tokens(value);
  if (!pastes) return source;
  for (const std::string_view word : kForbidden) {
    source.macros[std::string(word)] = fmt::format("burnish_refuses_{}_on_a_CPU_device", word);
  }
  return source;
}

}  // namespace burnish::measure
