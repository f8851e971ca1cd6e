#include "workspace/plan.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"
#include "evidence/evidence.h"

namespace burnish::workspace {
namespace {

constexpr std::string_view kFence = "+++";

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const auto& text : texts) parts.push_back(toml_string(text));
  return "[" + join(parts, ", ") + "]";
}

}  // namespace

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  const auto lines = split_lines(text);
  std::size_t end = 0;
  if (!lines.empty() && trim(lines[0]) == kFence) {
    for (std::size_t i = 1; i < lines.size() && end == 0; ++i)
      if (trim(lines[i]) == kFence) end = i;
  }
  if (end == 0)
    return bad_input("a plan begins with TOML front matter between two lines of +++")
        .at({file, 1, 1})
        .with_hint("`burnish plan --template` prints one to fill in");
  std::string front;
  for (std::size_t i = 1; i < end; ++i) front += std::string(lines[i]) + "\n";
  BURNISH_TRY_ASSIGN(TomlFields fields, TomlFields::parse(front, file, 2));

  Plan plan;
  plan.version = static_cast<int>(fields.integer("version"));
  plan.parent = static_cast<int>(fields.integer("parent"));
  plan.parent_hash = fields.string("parent_hash", "");
  plan.agent = fields.string("agent", "person");
  plan.category = fields.one_of("category", evidence::categories());
  plan.action = fields.string("action");
  plan.findings = fields.strings("findings");
  plan.bound = fields.number("bound", 1);
  plan.expected = fields.string("expected");
  plan.risks = fields.strings("risks");
  plan.rollback = fields.string("rollback", "");
  plan.enabler = fields.boolean("enabler", false);
  for (auto& item : fields.tables("signature"))
    plan.signature.push_back(
        {item.string("metric"), item.one_of("direction", {"up", "down", "zero", "appears"})});
  TomlFields parameters = fields.table("parameters");
  for (const auto& key : parameters.keys()) plan.parameters[key] = parameters.strings(key);
  for (auto& item : fields.tables("search")) {
    Record::Search search;
    search.source = item.string("source");
    search.layer = item.one_of("layer", {"L1", "L2", "L3"}, "L1");
    search.query = item.string("query");
    search.finding = item.string("finding");
    search.actionability = item.string("actionability", "");
    search.is_new = item.boolean("new", false);
    plan.search_log.push_back(std::move(search));
  }
  if (plan.version < 1) fields.fail("version", "a plan makes v1 or a later version");
  if (trim(plan.action).empty()) fields.fail("action", "the action is empty");
  if (plan.findings.empty())
    fields.fail("findings", "a plan cites at least one finding of its version's profile");
  BURNISH_TRY(fields.finish());
  for (std::size_t i = end + 1; i < lines.size(); ++i) plan.notes += std::string(lines[i]) + "\n";
  return plan;
}

std::string to_markdown(const Plan& plan) {
  std::string out =
      fmt::format("+++\nversion = {}\nparent = {}\nparent_hash = {}\nagent = {}\n", plan.version,
                  plan.parent, toml_string(plan.parent_hash), toml_string(plan.agent));
  out += fmt::format("category = {}\naction = {}\nfindings = {}\nbound = {}\nexpected = {}\n",
                     toml_string(plan.category), toml_string(plan.action), toml_list(plan.findings),
                     number_text(plan.bound), toml_string(plan.expected));
  out += fmt::format("risks = {}\nrollback = {}\nenabler = {}\n", toml_list(plan.risks),
                     toml_string(plan.rollback), plan.enabler);
  if (!plan.parameters.empty()) {
    out += "\n[parameters]\n";
    for (const auto& [name, values] : plan.parameters)
      out += fmt::format("{} = {}\n", toml_string(name), toml_list(values));
  }
  for (const auto& item : plan.signature)
    out += fmt::format("\n[[signature]]\nmetric = {}\ndirection = {}\n", toml_string(item.metric),
                       toml_string(item.direction));
  for (const auto& item : plan.search_log)
    out += fmt::format(
        "\n[[search]]\nsource = {}\nlayer = {}\nquery = {}\nfinding = {}\nactionability = {}\n"
        "new = {}\n",
        toml_string(item.source), toml_string(item.layer), toml_string(item.query),
        toml_string(item.finding), toml_string(item.actionability), item.is_new);
  return out + "+++\n" + plan.notes;
}

}  // namespace burnish::workspace
