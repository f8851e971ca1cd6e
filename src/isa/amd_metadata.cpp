#include "isa/amd_metadata.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace burnish::isa::amd {
namespace {

using MessagePack = nlohmann::json;

/// Real metadata nests five deep.
constexpr std::size_t kMostLevels = 16;

/// Builds the tree of a MessagePack text within bounds, which the library's own builder has not:
/// its parser calls itself for each level, and a hostile note could nest a million.
class Builder : public MessagePack::json_sax_t {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return put(nullptr); }
  bool start_object(std::size_t) override { return open(MessagePack::object()); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(MessagePack::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    if (failure_.empty())
      failure_ = fmt::format("it breaks off or is no MessagePack at byte {}", position);
    return false;
  }

  const MessagePack& root() const { return root_; }
  const std::string& failure() const { return failure_; }

 private:
  MessagePack* place(MessagePack value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    MessagePack& into = *levels_.back();
    if (into.is_array()) return &into.emplace_back(std::move(value));
    MessagePack& slot = into[key_];
    slot = std::move(value);
    return &slot;
  }
  bool put(MessagePack value) {
    place(std::move(value));
    return true;
  }
  bool open(MessagePack value) {
    if (levels_.size() >= kMostLevels) {
      failure_ = fmt::format("it nests more than {} levels", kMostLevels);
      return false;
    }
    levels_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  MessagePack root_;
  std::vector<MessagePack*> levels_;
  std::string key_;
  std::string failure_;
};

/// A count that is missing, negative or no integer is absent.
std::optional<std::int64_t> count_in(const MessagePack& map, const char* key) {
  const auto found = map.find(key);
  if (found == map.end() || !found->is_number_integer()) return {};
  if (found->is_number_unsigned()) {
    const auto value = found->get<std::uint64_t>();
    if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return {};
    return static_cast<std::int64_t>(value);
  }
  const auto value = found->get<std::int64_t>();
  return value < 0 ? std::nullopt : std::optional(value);
}

std::string text_in(const MessagePack& map, const char* key) {
  const auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : std::string();
}

KernelMetadata kernel_from(const MessagePack& map) {
  KernelMetadata kernel;
  kernel.name = text_in(map, ".name");
  kernel.symbol = text_in(map, ".symbol");
  kernel.vgprs = count_in(map, ".vgpr_count");
  kernel.agprs = count_in(map, ".agpr_count");
  kernel.sgprs = count_in(map, ".sgpr_count");
  kernel.vgpr_spills = count_in(map, ".vgpr_spill_count");
  kernel.sgpr_spills = count_in(map, ".sgpr_spill_count");
  kernel.shared_bytes = count_in(map, ".group_segment_fixed_size");
  kernel.scratch_bytes = count_in(map, ".private_segment_fixed_size");
  kernel.kernarg_bytes = count_in(map, ".kernarg_segment_size");
  kernel.workgroup_limit = count_in(map, ".max_flat_workgroup_size");
  kernel.wave_size = count_in(map, ".wavefront_size");
  if (const auto sizes = map.find(".reqd_workgroup_size");
      sizes != map.end() && sizes->is_array()) {
    for (const MessagePack& size : *sizes) {
      if (size.is_number_integer()) kernel.required_workgroup.push_back(size.get<std::int64_t>());
    }
  }
  if (const auto arguments = map.find(".args"); arguments != map.end() && arguments->is_array()) {
    for (const MessagePack& each : *arguments) {
      if (!each.is_object()) continue;
      KernelArgument argument;
      argument.name = text_in(each, ".name");
      argument.kind = text_in(each, ".value_kind");
      argument.offset = count_in(each, ".offset").value_or(0);
      argument.size = count_in(each, ".size").value_or(0);
      kernel.arguments.push_back(std::move(argument));
    }
  }
  return kernel;
}

std::string_view unquoted(std::string_view value) {
  value = trim(value);
  if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"') &&
      value.back() == value.front()) {
    return value.substr(1, value.size() - 2);
  }
  return value;
}

/// One line of the block YAML that compilers and people write for this metadata.
struct YamlLine {
  std::size_t indent = 0;                     ///< of the key or of the item's value, dashes counted
  std::size_t dash = std::string_view::npos;  ///< column of the last dash
  std::string_view key;                       ///< without its colon; empty for a plain list item
  std::string_view value;
};

YamlLine yaml_line(std::string_view line) {
  YamlLine result;
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == ' ' || line[at] == '\t') {
      ++at;
    } else if (line[at] == '-' && (at + 1 == line.size() || line[at + 1] == ' ')) {
      result.dash = at++;
    } else {
      break;
    }
  }
  result.indent = at;
  const std::string_view rest = line.substr(at);
  const std::size_t colon = rest.find(':');
  const bool is_key =
      colon != std::string_view::npos &&
      (colon + 1 == rest.size() || rest[colon + 1] == ' ' || rest[colon + 1] == '\t');
  if (is_key) {
    result.key = unquoted(rest.substr(0, colon));
    result.value = unquoted(rest.substr(colon + 1));
  } else {
    result.value = unquoted(rest);
  }
  return result;
}

std::optional<std::int64_t> whole(std::string_view value) {
  const auto number = parse_integer(value);
  return number && *number >= 0 ? number : std::nullopt;
}

void set_kernel_field(KernelMetadata& kernel, std::string_view key, std::string_view value) {
  struct Field {
    std::string_view key;
    std::optional<std::int64_t> KernelMetadata::* count;
  };
  static constexpr Field kFields[] = {
      {".vgpr_count", &KernelMetadata::vgprs},
      {".agpr_count", &KernelMetadata::agprs},
      {".sgpr_count", &KernelMetadata::sgprs},
      {".vgpr_spill_count", &KernelMetadata::vgpr_spills},
      {".sgpr_spill_count", &KernelMetadata::sgpr_spills},
      {".group_segment_fixed_size", &KernelMetadata::shared_bytes},
      {".private_segment_fixed_size", &KernelMetadata::scratch_bytes},
      {".kernarg_segment_size", &KernelMetadata::kernarg_bytes},
      {".max_flat_workgroup_size", &KernelMetadata::workgroup_limit},
      {".wavefront_size", &KernelMetadata::wave_size},
  };
  if (key == ".name") kernel.name = value;
  if (key == ".symbol") kernel.symbol = value;
  for (const Field& field : kFields) {
    if (field.key == key) kernel.*field.count = whole(value);
  }
  if (key == ".reqd_workgroup_size" && value.starts_with('[') && value.ends_with(']')) {
    for (std::string_view size : split(value.substr(1, value.size() - 2), ',')) {
      if (const auto number = whole(trim(size))) kernel.required_workgroup.push_back(*number);
    }
  }
}

}  // namespace

std::string processor_of(std::string_view target) {
  const std::size_t at = target.rfind("gfx");
  if (at == std::string_view::npos) return {};
  target.remove_prefix(at);
  return std::string(target.substr(0, target.find(':')));
}

Result<Metadata> metadata_from_msgpack(std::string_view bytes, const std::string& file) {
  Builder builder;
  const bool whole_text = MessagePack::sax_parse(bytes.begin(), bytes.end(), &builder,
                                                 MessagePack::input_format_t::msgpack, false);
  const MessagePack& root = builder.root();
  if (!whole_text || !root.is_object()) {
    const std::string why = whole_text ? std::string("it is no map") : builder.failure();
    return bad_input("the metadata note cannot be read: " + why).at({file, 0, 0});
  }
  Metadata metadata;
  metadata.target = text_in(root, "amdhsa.target");
  if (const auto version = root.find("amdhsa.version");
      version != root.end() && version->is_array()) {
    for (const MessagePack& part : *version) {
      if (part.is_number_integer()) metadata.version.push_back(part.get<std::int64_t>());
    }
  }
  if (const auto kernels = root.find("amdhsa.kernels");
      kernels != root.end() && kernels->is_array()) {
    for (const MessagePack& kernel : *kernels) {
      if (kernel.is_object()) metadata.kernels.push_back(kernel_from(kernel));
    }
  }
  return metadata;
}

Result<Metadata> metadata_from_yaml(std::string_view text, const std::string& file,
                                    int first_line) {
  constexpr std::size_t kNowhere = std::string_view::npos;
  Metadata metadata;
  enum class Section { none, kernels, version } section = Section::none;
  std::size_t kernel_dash = kNowhere;  // column of the dashes that start kernels
  std::string_view list;               // the kernel's key whose items follow
  int line_number = first_line - 1;
  for (std::string_view raw : split_lines(text)) {
    ++line_number;
    if (trim(raw).empty() || trim(raw) == "---" || trim(raw) == "..." || trim(raw).front() == '#') {
      continue;
    }
    const YamlLine line = yaml_line(raw);
    if (line.indent == 0 || (line.dash == kNowhere && line.key.starts_with("amdhsa."))) {
      section = line.key == "amdhsa.kernels"   ? Section::kernels
                : line.key == "amdhsa.version" ? Section::version
                                               : Section::none;
      if (line.key == "amdhsa.target") metadata.target = line.value;
      if (section == Section::kernels && !line.value.empty() && line.value != "[]") {
        return bad_input("amdhsa.kernels must be a list, one kernel an item")
            .at({file, line_number, 1});
      }
      continue;
    }
    if (section == Section::version) {
      if (const auto part = whole(line.value)) metadata.version.push_back(*part);
      continue;
    }
    if (section != Section::kernels) continue;
    if (line.dash != kNowhere && (kernel_dash == kNowhere || line.dash == kernel_dash)) {
      kernel_dash = line.dash;
      metadata.kernels.emplace_back();
      list = {};
    } else if (metadata.kernels.empty()) {
      return bad_input("a kernel of amdhsa.kernels must start with a dash")
          .at({file, line_number, static_cast<int>(line.indent) + 1});
    }
    KernelMetadata& kernel = metadata.kernels.back();
    // A kernel's own keys stand where its dash and one blank put them; items of its lists are
    // deeper.
    const bool deeper = line.indent > kernel_dash + 2;
    if (!deeper || (line.dash == kernel_dash)) {
      list = line.value.empty() ? line.key : std::string_view();
      set_kernel_field(kernel, line.key, line.value);
    } else if (list == ".args") {
      if (line.dash != kNowhere) kernel.arguments.emplace_back();
      if (kernel.arguments.empty()) continue;
      KernelArgument& argument = kernel.arguments.back();
      if (line.key == ".name") argument.name = line.value;
      if (line.key == ".value_kind") argument.kind = line.value;
      if (line.key == ".offset") argument.offset = whole(line.value).value_or(0);
      if (line.key == ".size") argument.size = whole(line.value).value_or(0);
    } else if (list == ".reqd_workgroup_size") {
      if (const auto size = whole(line.value)) kernel.required_workgroup.push_back(*size);
    }
  }
  return metadata;
}

}  // namespace burnish::isa::amd
