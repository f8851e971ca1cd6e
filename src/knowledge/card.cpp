#include "knowledge/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "base/toml.h"

namespace burnish::knowledge {
namespace {

constexpr std::string_view kFence = "+++";

Result<std::vector<Trigger>> triggers_of(TomlFields& fields) {
  std::vector<Trigger> triggers;
  for (TomlFields& table : fields.tables("trigger")) {
    const auto expression = [&](const std::string& key) -> Result<Expression> {
      const std::string text = table.expression(key);
      return Expression::parse(text, table.place(key));
    };
    Trigger trigger;
    trigger.text = table.string("text", "");
    if (!table.has("when")) {
      table.fail("when", "a trigger needs `when`");
      break;
    }
    BURNISH_TRY_ASSIGN(trigger.when, expression("when"));
    if (table.has("strength")) {
      BURNISH_TRY_ASSIGN(trigger.strength, expression("strength"));
    }
    if (table.has("headroom")) {
      BURNISH_TRY_ASSIGN(trigger.headroom, expression("headroom"));
    }
    triggers.push_back(std::move(trigger));
  }
  return triggers;
}

std::vector<Signature> signature_of(TomlFields& fields) {
  std::vector<Signature> out;
  static const std::vector<std::string> directions = {"up", "down", "zero", "appears"};
  for (const std::string& text : fields.strings("signature")) {
    const std::vector<std::string_view> parts = split(text, ' ');
    if (parts.size() != 2 ||
        std::find(directions.begin(), directions.end(), parts[1]) == directions.end()) {
      fields.fail("signature", fmt::format("'{}' is no signature", text),
                  "write \"metric direction\" with up, down, zero or appears");
      continue;
    }
    out.push_back({std::string(parts[0]), std::string(parts[1])});
  }
  return out;
}

/// 90 of "sm_90a"; -1 when it is no NVIDIA target.
int compute_capability(std::string_view arch) {
  if (!arch.starts_with("sm_")) return -1;
  arch.remove_prefix(3);
  std::size_t digits = 0;
  while (digits < arch.size() && std::isdigit(static_cast<unsigned char>(arch[digits]))) ++digits;
  const auto number = parse_integer(arch.substr(0, digits));
  return number ? static_cast<int>(*number) : -1;
}

}  // namespace

std::string first_paragraph(std::string_view body) {
  std::string out;
  for (const std::string_view raw : split_lines(body)) {
    const std::string_view line = trim(raw);
    if (line.starts_with('#') && out.empty()) continue;
    if (line.empty()) {
      if (!out.empty()) break;
      continue;
    }
    if (!out.empty()) out += ' ';
    out += line;
  }
  return out;
}

const std::vector<std::string>& card_kinds() {
  static const std::vector<std::string> kinds = {"technique", "pitfall", "reference",
                                                 "architecture"};
  return kinds;
}

Result<Card> parse_card(std::string_view text, const std::string& file) {
  const auto no_front_matter = [&](int line, std::string why) {
    return bad_input(std::move(why))
        .at({file, line, 1})
        .with_hint("a card is TOML between two lines of +++, then Markdown");
  };
  std::size_t begin = text.find('\n');
  if (begin == std::string_view::npos || trim(text.substr(0, begin)) != kFence) {
    return no_front_matter(1, "the card does not begin with +++");
  }
  ++begin;
  std::size_t position = begin;
  int line = 2;
  std::size_t end = std::string_view::npos;
  while (position < text.size()) {
    std::size_t stop = text.find('\n', position);
    if (stop == std::string_view::npos) stop = text.size();
    if (trim(text.substr(position, stop - position)) == kFence) {
      end = position;
      position = std::min(stop + 1, text.size());
      ++line;
      break;
    }
    position = stop + 1;
    ++line;
  }
  if (end == std::string_view::npos) {
    return no_front_matter(1, "the front matter is never closed with +++");
  }

  BURNISH_TRY_ASSIGN(TomlFields fields,
                     TomlFields::parse(text.substr(begin, end - begin), file, 2));
  Card card;
  card.file = file;
  card.body_line = line;
  card.body = std::string(trim(text.substr(position)));
  card.id = fields.string("id");
  card.kind = fields.one_of("kind", card_kinds());
  card.title = fields.string("title");
  card.category = fields.string("category", "");
  card.effect = fields.string("effect", "");
  card.bound = fields.string("bound", "");
  card.cost = fields.string("cost", "");
  card.risks = fields.strings("risks");
  card.links = fields.strings("links");
  card.against = fields.strings("against");
  card.lost = fields.string("lost", "");
  card.retract = fields.string("retract", "");
  card.sources = fields.strings("sources");
  TomlFields applies = fields.table("applies");
  card.applies = {applies.strings("vendor"), applies.strings("arch"), applies.strings("language"),
                  applies.strings("family")};
  card.signature = signature_of(fields);
  BURNISH_TRY_ASSIGN(card.triggers, triggers_of(fields));
  BURNISH_TRY(fields.finish());
  return card;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> out;
    const auto add = [&](const char* vendor, const char* family,
                         std::initializer_list<const char*> archs) {
      for (const char* arch : archs) out.push_back({arch, family, vendor});
    };
    add("nvidia", "pascal", {"sm_60", "sm_61"});
    add("nvidia", "volta", {"sm_70", "sm_72"});
    add("nvidia", "turing", {"sm_75"});
    add("nvidia", "ampere", {"sm_80", "sm_86", "sm_87"});
    add("nvidia", "ada", {"sm_89"});
    add("nvidia", "hopper", {"sm_90", "sm_90a"});
    add("nvidia", "blackwell",
        {"sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a",
         "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"});
    add("amd", "vega", {"gfx900", "gfx906"});
    add("amd", "cdna1", {"gfx908"});
    add("amd", "cdna2", {"gfx90a"});
    add("amd", "cdna3", {"gfx942"});
    add("amd", "cdna4", {"gfx950"});
    add("amd", "rdna2", {"gfx1030", "gfx1031", "gfx1032", "gfx1034", "gfx1035", "gfx1036"});
    add("amd", "rdna3",
        {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"});
    add("amd", "rdna4", {"gfx1200", "gfx1201"});
    add("amd", "gfx1250", {"gfx1250"});
    add("cpu", "cpu", {"cpu"});
    return out;
  }();
  return all;
}

Result<Target> find_target(const std::string& arch) {
  const std::string wanted = to_lower(arch);
  std::vector<std::string> names;
  std::vector<std::string> near;
  for (const Target& target : targets()) {
    if (target.arch == wanted) return target;
    names.push_back(target.arch);
    // "sm_93" has no edit that is a slip for certain, so the neighbours by prefix are offered.
    if (wanted.size() >= 4 && target.arch.starts_with(wanted.substr(0, wanted.size() - 1))) {
      near.push_back(target.arch);
    }
  }
  if (near.empty()) {
    if (const auto slip = nearest(wanted, names)) near.push_back(*slip);
  }
  return bad_input(fmt::format("'{}' is an unknown target", arch))
      .with_hint(near.empty() ? "known: " + join(names, ", ") : "near ones: " + join(near, ", "));
}

Result<bool> covers(const std::string& entry, const Target& target) {
  if (entry == target.arch || entry == target.family) return true;
  if (entry.starts_with("sm_")) {
    const bool range = entry.ends_with('+');
    const std::string base = range ? entry.substr(0, entry.size() - 1) : entry;
    BURNISH_TRY(find_target(base));
    const int wanted = compute_capability(base);
    const int has = compute_capability(target.arch);
    if (has < 0) return false;
    const bool plain = std::isdigit(static_cast<unsigned char>(base.back())) != 0;
    return plain && (range ? has >= wanted : has == wanted);
  }
  for (const Target& known : targets()) {
    if (entry == known.arch || entry == known.family) return false;
    // "cdna" and "rdna" stand for every generation of theirs.
    if ((entry == "cdna" || entry == "rdna") && known.family.starts_with(entry)) {
      return target.family.starts_with(entry);
    }
  }
  return bad_input(fmt::format("'{}' is an unknown target, range or family", entry))
      .with_hint("targets look like gfx942 or sm_90a, ranges like sm_80+, families like cdna3");
}

}  // namespace burnish::knowledge
