#include "device/build_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace burnish::device {
namespace {

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  if (name.empty() || !is_letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c));
  });
}

/// Reads a severity word and the colon behind it off the front; absent when there is none.
std::optional<std::string> take_severity(std::string_view& text) {
  struct Word {
    std::string_view word, severity;
  };
  static constexpr std::array<Word, 7> kWords = {{{"fatal error", "error"},
                                                  {"catastrophic error", "error"},
                                                  {"error", "error"},
                                                  {"warning", "warning"},
                                                  {"note", "note"},
                                                  {"remark", "note"},
                                                  {"info", "note"}}};
  for (const auto& [word, severity] : kWords) {
    if (!text.starts_with(word)) continue;
    // nvcc numbers its messages: "error #20: …", "warning #177-D: …"; ptxas pads: "error   : …".
    std::string_view rest = text.substr(word.size());
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (rest.starts_with('#')) {
      while (!rest.empty() && rest.front() != ':' && rest.front() != ' ') rest.remove_prefix(1);
    }
    if (!rest.starts_with(':')) continue;
    text = trim(rest.substr(1));
    return std::string(severity);
  }
  return std::nullopt;
}

/// Reads "name:line:column:" or "name(line):" off the front.
std::optional<Place> take_place(std::string_view& text) {
  const auto digits = [&](std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) &&
           end - from < 9) {
      ++end;
    }
    return end;
  };
  const auto number = [&](std::size_t from, std::size_t end) {
    return static_cast<int>(parse_integer(text.substr(from, end - from)).value_or(0));
  };
  const std::size_t stop = std::min(text.size(), std::size_t{4096});
  for (std::size_t at = 1; at < stop; ++at) {
    if (text[at] != ':' && text[at] != '(') continue;
    const std::size_t line_end = digits(at + 1);
    if (line_end == at + 1 || line_end >= text.size()) continue;
    Place place{std::string(text.substr(0, at)), number(at + 1, line_end), 0};
    if (text[at] == '(' && text.substr(line_end).starts_with("):")) {
      text = trim(text.substr(line_end + 2));
      return place;
    }
    if (text[at] != ':' || text[line_end] != ':') continue;
    const std::size_t column_end = digits(line_end + 1);
    if (column_end > line_end + 1 && column_end < text.size() && text[column_end] == ':') {
      place.column = number(line_end + 1, column_end);
      text = trim(text.substr(column_end + 1));
    } else {
      text = trim(text.substr(line_end + 1));
    }
    return place;
  }
  return std::nullopt;
}

std::string quoted_name(std::string_view name) {
  return replace_all(replace_all(std::string(name), "\\", "\\\\"), "\"", "\\\"");
}

}  // namespace

Result<std::string> compiler_input(const Source& source) {
  std::string text;
  for (const auto& [name, value] : source.macros) {
    if (!is_identifier(name)) {
      return bad_input(fmt::format("\"{}\" cannot be the name of a macro", name))
          .with_hint("letters, digits and underscores, no digit first");
    }
    if (contains(value, "\n")) {
      return bad_input(fmt::format("the value of the macro {} has more than one line", name));
    }
    text += fmt::format("#define {} {}\n", name, value);
  }
  std::string_view body = source.text;
  if (body.starts_with("\xef\xbb\xbf"))
    body.remove_prefix(3);  // a byte-order mark opens a file only
  text += fmt::format("#line 1 \"{}\"\n", quoted_name(source.file));
  text += body;
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

Result<void> write_includes(const Source& source, const fs::path& folder) {
  BURNISH_TRY(real_file_system().make_folder(folder));
  for (const auto& [name, content] : source.also) {
    const fs::path path = fs::path(name).lexically_normal();
    if (name.empty() || path.is_absolute() || *path.begin() == "..") {
      return bad_input(fmt::format("the further file \"{}\" does not lie beside the kernel", name));
    }
    BURNISH_TRY(real_file_system().write(folder / path, content));
  }
  return {};
}

std::string with_source_names(std::string log, const Source& source,
                              const fs::path& include_folder) {
  if (include_folder.is_absolute()) {
    log = replace_all(std::move(log), include_folder.string() + "/", "");
  }
  const std::string relative = include_folder.filename().string() + "/";
  for (const auto& [name, content] : source.also) {
    log = replace_all(std::move(log), "./" + relative + name, name);
    log = replace_all(std::move(log), relative + name, name);
  }
  // PoCL compiles a file of its own making.
  constexpr std::string_view kTemporary = "tempfile_";
  for (std::size_t at = 0; (at = log.find(kTemporary, at)) != std::string::npos;) {
    std::size_t begin = at;
    while (begin > 0 && !std::isspace(static_cast<unsigned char>(log[begin - 1])) &&
           log[begin - 1] != '"' && log[begin - 1] != '\'') {
      --begin;
    }
    std::size_t end = at;
    while (end < log.size() && (std::isalnum(static_cast<unsigned char>(log[end])) ||
                                log[end] == '_' || log[end] == '.')) {
      ++end;
    }
    log.replace(begin, end - begin, source.file);
    at = begin + source.file.size();
  }
  return log;
}

std::vector<Diagnostic> parse_diagnostics(std::string_view log, const Source& source) {
  std::vector<Diagnostic> diagnostics;
  for (std::string_view line : split_lines(log)) {
    line = trim(line);
    Diagnostic diagnostic;
    std::string_view rest = line;
    if (rest.starts_with("ptxas ")) {
      // "ptxas error   : …" or "ptxas file.ptx, line 12; error   : …": lines of PTX help nobody.
      rest = trim(rest.substr(6));
      const std::size_t semicolon = rest.find("; ");
      if (semicolon != std::string_view::npos) rest = trim(rest.substr(semicolon + 2));
      const std::optional<std::string> severity = take_severity(rest);
      if (!severity || *severity == "note") continue;
      diagnostics.push_back({{source.file, 0, 0}, *severity, std::string(rest)});
      continue;
    }
    std::optional<std::string> severity = take_severity(rest);
    std::optional<Place> place = take_place(rest);
    if (!severity) severity = take_severity(rest);
    if (!severity) continue;
    if (*severity == "note" && !place) continue;
    diagnostic.severity = *severity;
    diagnostic.message = std::string(rest);
    if (place) diagnostic.place = std::move(*place);
    // "<kernel>", "<source>", "<program source>", "input.cl": drivers' names for a text in memory.
    const bool is_nameless = diagnostic.place.file.empty() ||
                             diagnostic.place.file.front() == '<' ||
                             diagnostic.place.file == "input.cl";
    if (is_nameless) diagnostic.place.file = source.file;
    diagnostics.push_back(std::move(diagnostic));
  }
  return diagnostics;
}

Error build_error(const Source& source, const BuildReport& report) {
  const auto is_error = [](const Diagnostic& diagnostic) { return diagnostic.severity == "error"; };
  const auto first = std::find_if(report.diagnostics.begin(), report.diagnostics.end(), is_error);
  Error error;
  if (first != report.diagnostics.end()) {
    error = refused(fmt::format("{} does not compile: {}", source.file, first->message))
                .at(first->place);
    const auto others =
        std::count_if(report.diagnostics.begin(), report.diagnostics.end(), is_error) - 1;
    if (others > 0) error.hint = fmt::format("{} more in the build log", others);
  } else {
    error = refused(fmt::format("{} does not compile", source.file)).at({source.file, 0, 0});
  }
  constexpr std::size_t kLines = 20;
  const std::vector<std::string_view> lines = split_lines(report.log);
  std::string start;
  for (std::size_t i = 0; i < std::min(lines.size(), kLines); ++i) {
    start += fmt::format("\n  {}", lines[i].substr(0, 300));
  }
  if (lines.size() > kLines) start += fmt::format("\n  … and {} more lines", lines.size() - kLines);
  return std::move(error).in("building it; the compiler says:" + start);
}

}  // namespace burnish::device
