#include "profile/ncu_container.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "profile/wire.h"

namespace burnish::profile::nvidia {
namespace {

constexpr std::uint64_t kKnownVersion = 7;

std::string text(std::string_view bytes) { return to_valid_utf8(bytes); }

/// Key and value of a VersionInfo, an executable, a setting: string fields by number.
std::string string_field(std::string_view message, std::uint32_t field) {
  WireReader at(message);
  while (at.next()) {
    if (at.is_message(field)) return text(at.bytes());
  }
  return {};
}

void add_session(std::string_view message, Container& container) {
  auto& session = container.session;
  const auto set = [&](const char* key, std::string value) {
    if (!value.empty()) session.emplace(key, std::move(value));
  };
  WireReader at(message);
  while (at.next()) {
    if (at.is_number(2)) {
      set("created", iso_time(std::chrono::system_clock::time_point(
                         std::chrono::seconds(at.number() % (std::uint64_t{1} << 40)))));
    } else if (at.is_message(4)) {
      set("system", string_field(at.bytes(), 1));
      // Older ones hold all of /proc/cpuinfo behind the name.
      const std::string processor = string_field(at.bytes(), 3);
      set("processor", processor.substr(0, processor.find('\n')));
    } else if (at.is_message(7)) {
      set("comments", text(at.bytes()));
    } else if (at.is_message(8)) {
      const std::string provider = string_field(at.bytes(), 1);
      const std::string version = string_field(at.bytes(), 2);
      if (provider == "CUDA Version") {
        set("cuda", version);
      } else if (provider == "Display Driver Version") {
        set("driver", version);
      } else if (provider == "Nsight Compute Target") {
        set("profiler", version);
        if (container.tool_version.empty()) {
          container.tool_version = version.substr(0, version.find(' '));
        }
      }
    } else if (at.is_message(9)) {
      set("executable", string_field(at.bytes(), 1));
    } else if (at.is_message(10)) {
      set("clock_control", to_lower(string_field(at.bytes(), 8)));
      set("replay_mode", to_lower(string_field(at.bytes(), 11)));
    } else if (at.is_message(11)) {
      set("command_line", std::string(trim(text(at.bytes()))));
    }
  }
}

/// The value of an option on the profiler's command line, absent when it is not there.
std::optional<std::string> option(std::string_view command, std::string_view name) {
  const auto words = split(command, ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name && i + 1 < words.size()) return std::string(words[i + 1]);
    if (words[i].size() > name.size() && words[i].substr(0, name.size()) == name &&
        words[i][name.size()] == '=') {
      return std::string(words[i].substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

struct Block {
  std::uint64_t sources = 0, kernels = 0, ranges = 0, command_lists = 0, graphs = 0;
  std::uint64_t payload = 0;
  std::string process;
};

class Opener {
 public:
  Opener(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Result<Container> run() {
    if (bytes_.substr(0, 4) != std::string_view("NVR\0", 4)) {
      return broken_here("the mark of a report is missing");
    }
    at_ = 4;
    BURNISH_TRY_ASSIGN(const std::string_view header, sized("the file header"));
    WireReader version(header);
    while (version.next()) {
      if (version.is_number(1) && version.number() != kKnownVersion) {
        container_.warnings.push_back(
            fmt::format("{}: container version {}; versions other than {} are not known", file_,
                        version.number(), kKnownVersion));
      }
    }
    while (at_ < bytes_.size()) BURNISH_TRY(block());
    const auto command = container_.session.find("command_line");
    if (command != container_.session.end()) {
      for (const auto& [key, name] : {std::pair{"clock_control", "--clock-control"},
                                      std::pair{"replay_mode", "--replay-mode"},
                                      std::pair{"cache_control", "--cache-control"}}) {
        if (const auto value = option(command->second, name)) {
          container_.session.emplace(key, *value);
        }
      }
    }
    return std::move(container_);
  }

 private:
  Error broken_here(const std::string& what) const {
    return broken(file_, bytes_, bytes_.data() + at_, what);
  }

  /// A u32 size and as many bytes.
  Result<std::string_view> sized(const char* what, std::size_t end) {
    if (end - at_ < 4) {
      return broken_here(fmt::format("the size of {} is cut off", what));
    }
    std::uint32_t size = 0;
    std::memcpy(&size, bytes_.data() + at_, 4);
    if (size > end - at_ - 4) {
      return broken_here(
          fmt::format("{} is said to have {} bytes, but {} are left", what, size, end - at_ - 4));
    }
    const std::string_view result = bytes_.substr(at_ + 4, size);
    at_ += 4 + size;
    return result;
  }
  Result<std::string_view> sized(const char* what) { return sized(what, bytes_.size()); }

  Result<void> block() {
    BURNISH_TRY_ASSIGN(const std::string_view header, sized("a block header"));
    Block block;
    WireReader at(header);
    while (at.next()) {
      if (at.is_number(1)) {
        block.sources = at.number();
      } else if (at.is_number(2)) {
        block.kernels = at.number();
      } else if (at.is_message(3)) {
        add_session(at.bytes(), container_);
      } else if (at.is_message(4)) {
        WireReader string(at.bytes());
        while (string.next()) {
          if (string.is_message(1)) container_.strings.push_back(string.bytes());
        }
        if (!string.ok()) {
          return broken(file_, bytes_, string.position(), "a table of names is broken");
        }
      } else if (at.is_number(5)) {
        block.payload = at.number();
      } else if (at.is_message(6)) {
        block.process = process(at.bytes());
      } else if (at.is_number(7)) {
        block.ranges = at.number();
      } else if (at.is_number(8)) {
        block.command_lists = at.number();
      } else if (at.is_number(9)) {
        block.graphs = at.number();
      }
    }
    if (!at.ok()) return broken(file_, bytes_, at.position(), "a block header is broken");
    if (block.payload > bytes_.size() - at_) {
      return broken_here(fmt::format("a block is said to have {} bytes, but {} are left",
                                     block.payload, bytes_.size() - at_));
    }
    const std::size_t end = at_ + static_cast<std::size_t>(block.payload);
    for (std::uint64_t i = 0; i < block.sources; ++i) {
      BURNISH_TRY_ASSIGN(const std::string_view source, sized("a code object", end));
      container_.sources.push_back(source);
    }
    using Kind = Container::Kind;
    for (const auto& [kind, count] :
         {std::pair{Kind::kernel, block.kernels}, std::pair{Kind::range, block.ranges},
          std::pair{Kind::command_list, block.command_lists},
          std::pair{Kind::graph, block.graphs}}) {
      for (std::uint64_t i = 0; i < count; ++i) {
        BURNISH_TRY_ASSIGN(const std::string_view result, sized("a result", end));
        container_.results.push_back({kind, result, block.process});
      }
    }
    at_ = end;
    return {};
  }

  static std::string process(std::string_view message) {
    std::uint64_t pid = 0;
    std::string name;
    WireReader at(message);
    while (at.next()) {
      if (at.is_number(1)) pid = at.number();
      if (at.is_message(3)) name = text(at.bytes());
    }
    return pid == 0 ? name : fmt::format("{} (pid {})", name, pid);
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
  Container container_;
};

}  // namespace

Error broken(const std::string& file, std::string_view bytes, const char* position,
             const std::string& what) {
  return bad_input(fmt::format("not a whole Nsight Compute report: {} at byte {} of {}", what,
                               position - bytes.data(), bytes.size()))
      .at({file})
      .with_hint("copy the report again, or profile again; a run that was killed leaves a part");
}

Result<Container> open_container(std::string_view bytes, const std::string& file) {
  return Opener(bytes, file).run();
}

}  // namespace burnish::profile::nvidia
