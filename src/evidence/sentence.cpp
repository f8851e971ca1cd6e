#include "evidence/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text.h"
#include "evidence/evidence.h"

namespace burnish::evidence {

bool is_metric_name(const std::string& name) {
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name.front()))) return false;
  const bool clean = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
  return clean && name.back() != '.' && !contains(name, "..");
}

Result<Sentence> Sentence::parse(const std::string& text) {
  Sentence sentence;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) sentence.parts_.push_back({Format::literal, literal, {}, 0});
    literal.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      literal += c;
      ++i;
      continue;
    }
    if (c == '}') return bad_input("a \"}\" without \"{\"").with_hint("write }} for a brace");
    if (c != '{') {
      literal += c;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == std::string::npos) {
      return bad_input("a \"{\" without \"}\"").with_hint("write {{ for a brace");
    }
    const std::string inside = text.substr(i + 1, end - i - 1);
    const std::size_t colon = inside.find(':');
    Part part;
    for (const std::string_view name : split(std::string_view(inside).substr(0, colon), '|'))
      part.names.emplace_back(name);
    const std::string format = colon == std::string::npos ? "" : inside.substr(colon + 1);
    const bool fixed = format.size() == 3 && format[0] == '.' && format[2] == 'f' &&
                       std::isdigit(static_cast<unsigned char>(format[1]));
    if (!std::all_of(part.names.begin(), part.names.end(), is_metric_name)) {
      return bad_input(fmt::format("\"{{{}}}\" does not name a metric", inside));
    }
    if (colon == std::string::npos) {
      part.format = Format::shortest;
    } else if (format == "n") {
      part.format = Format::whole;
    } else if (fixed) {
      part.format = Format::fixed;
      part.digits = format[1] - '0';
    } else if (format == "%") {
      part.format = Format::per_cent;
    } else if (format == "p") {
      part.format = Format::prefixed;
    } else if (format == "s") {
      part.format = Format::plural;
    } else {
      return bad_input(fmt::format("unknown format \"{}\" in \"{{{}}}\"", format, inside))
          .with_hint("formats are n, .1f, %, p and s");
    }
    end_literal();
    sentence.parts_.push_back(std::move(part));
    i = end;
  }
  end_literal();
  return sentence;
}

std::vector<std::string> Sentence::names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    names.insert(names.end(), part.names.begin(), part.names.end());
  }
  return names;
}

std::string Sentence::fill(const Find& find, const Find& assumed) const {
  std::string text;
  for (const Part& part : parts_) {
    if (part.format == Format::literal) {
      text += part.text;
      continue;
    }
    const Metric* metric = nullptr;
    for (const std::string& name : part.names) {
      if (metric == nullptr) metric = find(name);
    }
    if (metric == nullptr) metric = assumed(part.names.back());
    if (part.format == Format::plural) {
      if (metric == nullptr || metric->value != 1) text += 's';
      continue;
    }
    if (metric == nullptr) {
      text += "unknown";
      continue;
    }
    if (metric->unit == "text") {
      text += metric->text;
      continue;
    }
    const double value = metric->value;
    constexpr double kWhole = 9e15;  // beyond it a double is no exact count
    if (!std::isfinite(value)) {
      text += number_text(value);
      continue;
    }
    switch (part.format) {
      case Format::whole:
        text += std::abs(value) < kWhole ? with_thousands(std::llround(value)) : number_text(value);
        break;
      case Format::fixed:
        text += fmt::format("{:.{}f}", value, part.digits);
        break;
      case Format::per_cent:
        text += fmt::format("{:.3g} %", 100 * value);
        break;
      case Format::prefixed:
        text += with_prefix(value, metric->unit == "1" ? "" : metric->unit);
        break;
      default:
        text += value == std::floor(value) && std::abs(value) < kWhole
                    ? fmt::format("{:.0f}", value)
                    : fmt::format("{:.3g}", value);
    }
  }
  return text;
}

Result<std::string> fill(const std::string& sentence, const MetricSet& metrics) {
  BURNISH_TRY_ASSIGN(const Sentence parsed, Sentence::parse(sentence));
  return parsed.fill([&](const std::string& name) { return metrics.find(name); },
                     [](const std::string&) { return nullptr; });
}

}  // namespace burnish::evidence
