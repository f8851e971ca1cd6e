#include "knowledge/page.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace burnish::knowledge {
namespace {

using Values = std::vector<std::string_view>;

std::string heading_of(const CardHead& head) {
  std::string out = head.kind + " " + head.category;
  for (const auto* list :
       {&head.applies.vendor, &head.applies.arch, &head.applies.language, &head.applies.family})
    out += " " + join(*list, " ");
  return out;
}

void lower(Words& words) {
  for (std::string* text : {&words.id, &words.title, &words.heading, &words.text})
    *text = to_lower(*text);
}

/// A bare key without dots.
bool is_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

/// `"…"` without escapes at the front of `text`, which moves behind it.
std::optional<std::string_view> take_string(std::string_view& text) {
  if (text.empty() || text.front() != '"') return std::nullopt;
  const std::size_t end = text.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(1, end - 1);
  if (inside.find('\\') != std::string_view::npos) return std::nullopt;
  text = trim(text.substr(end + 1));
  // `""` may begin a string of several lines.
  if (inside.empty() && text.starts_with('"')) return std::nullopt;
  return inside;
}

/// A string, a number, or a list of strings that begins and ends on this line. A number gives no
/// strings.
bool plain_value(std::string_view text, Values& out) {
  out.clear();
  if (text.starts_with('"')) {
    const auto value = take_string(text);
    if (!value) return false;
    out.push_back(*value);
  } else if (text.starts_with('[')) {
    text = trim(text.substr(1));
    while (!text.starts_with(']')) {
      const auto value = take_string(text);
      if (!value) return false;
      out.push_back(*value);
      if (text.starts_with(','))
        text = trim(text.substr(1));
      else if (!text.starts_with(']'))
        return false;
    }
    text = trim(text.substr(1));
  } else if (const auto number = text.substr(0, text.find('#')); parse_number(trim(number))) {
    text = text.substr(number.size());
  } else {
    return false;
  }
  return text.empty() || text.starts_with('#');
}

/// One key of the front matter, into the head and the words.
class Reader {
 public:
  explicit Reader(Page& page) : page_(page) {}

  /// Whether the line is one that this reader understands.
  bool line(std::string_view line) {
    line = trim(line);
    if (line.empty() || line.front() == '#') return true;
    if (line.front() == '[') {
      table_ = line;
      return line == "[applies]" || line == "[[trigger]]";
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = trim(line.substr(0, equals));
    return is_key(key) && plain_value(trim(line.substr(equals + 1)), values_) && take(key);
  }

  bool finish() {
    const CardHead& head = page_.head;
    const auto& kinds = card_kinds();
    if (head.id.empty() || head.title.empty() ||
        std::find(kinds.begin(), kinds.end(), head.kind) == kinds.end())
      return false;
    Words& words = page_.words;
    words.id = head.id;
    words.title = head.title;
    words.heading = heading_of(head) + heading_;
    return true;
  }

 private:
  bool take(std::string_view key) {
    const auto is = [&](std::string_view name) { return key == name; };
    const auto into = [&](std::string& field) {
      if (values_.size() == 1) field = values_.front();
      return values_.size() == 1;
    };
    const auto list = [&](std::vector<std::string>& field) {
      field.assign(values_.begin(), values_.end());
    };
    const auto append = [&](std::string& text, char separator) {
      for (const std::string_view value : values_) {
        text += separator;
        text += value;
      }
    };
    if (table_ == "[applies]") {
      Applies& applies = page_.head.applies;
      if (is("vendor")) list(applies.vendor);
      if (is("arch")) list(applies.arch);
      if (is("language")) list(applies.language);
      if (is("family")) list(applies.family);
      return true;
    }
    if (table_ == "[[trigger]]") {
      if (is("text") || is("when")) append(heading_, ' ');
      return true;
    }
    CardHead& head = page_.head;
    if (is("id")) return into(head.id);
    if (is("kind")) return into(head.kind);
    if (is("title")) return into(head.title);
    if (is("category")) return into(head.category);
    if (is("against")) list(head.against);
    if (is("signature")) append(heading_, ' ');
    if (is("effect") || is("bound") || is("cost") || is("risks") || is("lost"))
      append(page_.words.text, '\n');
    return true;
  }

  Page& page_;
  std::string_view table_;
  std::string heading_;
  Values values_;
};

}  // namespace

Result<Page> read_page(std::string text, const std::string& file) {
  constexpr std::string_view kFence = "+++";
  Page page;
  Reader reader(page);
  const std::string_view whole = text;
  bool understood = whole.starts_with("+++\n");
  std::size_t at = 4;
  while (understood && at < whole.size()) {
    const std::size_t end = std::min(whole.find('\n', at), whole.size());
    const std::string_view line = whole.substr(at, end - at);
    at = std::min(end + 1, whole.size());
    if (line == kFence) {
      page.body = at;
      break;
    }
    understood = reader.line(line);
  }
  if (understood && page.body > 0 && reader.finish()) {
    page.words.text += '\n';
    page.words.text += whole.substr(page.body);
  } else {
    BURNISH_TRY_ASSIGN(const Card card, parse_card(text, file));
    page = page_of(card);
    page.body = text.rfind(card.body);
  }
  lower(page.words);
  page.text = std::move(text);
  page.file = file;
  return page;
}

Page page_of(const Card& card) {
  Page page;
  page.head = card;
  page.file = card.file;
  page.origin = card.origin;
  page.text = card.body;
  Words& words = page.words;
  words.id = card.id;
  words.title = card.title;
  words.heading = heading_of(card);
  for (const Trigger& trigger : card.triggers)
    words.heading += " " + trigger.text + " " + trigger.when.text();
  for (const Signature& sign : card.signature)
    words.heading += " " + sign.metric + " " + sign.direction;
  words.text = card.effect + "\n" + card.bound + "\n" + card.cost + "\n" + join(card.risks, "\n") +
               "\n" + card.lost + "\n" + card.body;
  lower(words);
  return page;
}

}  // namespace burnish::knowledge
