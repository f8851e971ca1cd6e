#include "profile/ptxas.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "profile/nvidia_model.h"

namespace burnish::profile::nvidia {
namespace {

constexpr std::string_view kInfo = "ptxas info    : ";

std::string_view line_at(std::string_view bytes, std::size_t at) {
  std::string_view line = bytes.substr(at, std::min(bytes.find('\n', at), bytes.size()) - at);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

/// The text between two quotation marks, from `at` on.
std::string_view quoted(std::string_view line, std::size_t at) {
  const std::size_t open = line.find('\'', at);
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find('\'', open + 1);
  return close == std::string_view::npos ? std::string_view{}
                                         : line.substr(open + 1, close - open - 1);
}

/// The number in front of a word: "Used 12 registers", "256 bytes stack frame".
std::optional<double> before(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t start = end;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  return parse_number(line.substr(start, end - start));
}

class Collector {
 public:
  Collector(std::string_view bytes, std::string file)
      : bytes_(bytes), file_(std::move(file)), hash_(content_hash(bytes)) {}

  Result<Reading> run() {
    int number = 0;
    for (std::size_t at = 0; at < bytes_.size();) {
      const std::string_view line = line_at(bytes_, at);
      at += std::min(bytes_.find('\n', at), bytes_.size()) - at + 1;
      ++number;
      if (is_ptxas_) {
        ptxas(line, number);
      }
      cuobjdump(line, number);
      if (line.substr(0, kInfo.size()) == kInfo && !is_ptxas_) {
        is_ptxas_ = true;
        ptxas(line, number);
      }
    }
    flush();
    if (reading_.kernels.empty() && !failure_) {
      return bad_input("no function in it, although it looks like the compiler's resource usage")
          .at({file_});
    }
    if (failure_) return std::move(*failure_);
    const char* kind = is_ptxas_ ? "ptxas" : "cuobjdump-resource-usage";
    reading_.artefacts.push_back(
        {fs::path(file_), kind, is_ptxas_ ? "ptxas" : "cuobjdump", "", hash_});
    return std::move(reading_);
  }

 private:
  void start(std::string_view symbol, std::string_view arch, int number) {
    flush();
    current_.emplace();
    current_->profile.symbol = to_valid_utf8(symbol);
    current_->profile.name = current_->profile.symbol;
    current_->profile.id = fmt::format("line {}", number);
    current_->profile.device.arch = to_valid_utf8(arch);
  }

  void add(const char* name, double value, const char* unit, int number, std::string raw_name) {
    if (!current_) return;
    Metric metric;
    metric.name = name;
    metric.value = value;
    metric.unit = unit;
    metric.where = {file_, hash_, fmt::format("line {}", number), std::move(raw_name), ""};
    current_->profile.metrics.add(std::move(metric));
  }

  /// A log may hold several architectures and device functions; a function's properties come before
  /// its registers, after the line that names it.
  void ptxas(std::string_view line, int number) {
    const bool is_info = line.substr(0, kInfo.size()) == kInfo;
    const std::string_view text = is_info ? line.substr(kInfo.size()) : trim(line);
    if (is_info && text.substr(0, 24) == "Compiling entry function") {
      const std::string_view symbol = quoted(text, 0);
      const std::size_t target = text.find("' for '");
      start(symbol, target == std::string_view::npos ? "" : quoted(text, target + 1), number);
      in_device_function_ = false;
    } else if (is_info && text.substr(0, 24) == "Function properties for ") {
      const std::string_view symbol = trim(text.substr(24));
      // The properties of the device functions that were not inlined follow the kernel's.
      in_device_function_ = current_ && symbol != current_->profile.symbol;
      if (!current_) start(symbol, "", number);
    } else if (!is_info && contains(text, "bytes stack frame") && !in_device_function_) {
      if (const auto bytes = before(text, "bytes stack frame")) {
        add("ptxas__stack_frame_bytes", *bytes, "B", number, "stack frame");
      }
      if (const auto bytes = before(text, "bytes spill stores")) {
        add("ptxas__spill_store_bytes", *bytes, "B", number, "spill stores");
      }
      if (const auto bytes = before(text, "bytes spill loads")) {
        add("ptxas__spill_load_bytes", *bytes, "B", number, "spill loads");
      }
    } else if (is_info && text.substr(0, 5) == "Used ") {
      if (const auto count = before(text, "registers")) {
        add("ptxas__registers", *count, "1", number, "registers");
      }
      if (const auto count = before(text, "barriers")) {
        add("ptxas__barriers", *count, "1", number, "barriers");
      }
      const auto shared = before(text, "bytes smem");
      // Nothing is printed for none.
      add("ptxas__shared_bytes", shared.value_or(0), "B", number, "smem");
      if (const auto bytes = before(text, "bytes cumulative stack size")) {
        add("ptxas__cumulative_stack_bytes", *bytes, "B", number, "cumulative stack size");
      }
    } else if (is_info && contains(text, "Potential Performance Loss")) {
      reading_.warnings.push_back(to_valid_utf8(fmt::format("{}:{}: {}", file_, number, text)));
    }
  }

  void cuobjdump(std::string_view line, int number) {
    const std::string_view text = trim(line);
    if (text.substr(0, 7) == "arch = ") {
      arch_ = text.substr(7);
    } else if (text.substr(0, 9) == "Function " && text.back() == ':' && line.front() == ' ') {
      start(text.substr(9, text.size() - 10), arch_, number);
    } else if (text.substr(0, 4) == "REG:") {
      for (std::string_view part : split(text, ' ')) {
        const std::size_t colon = part.rfind(':');
        if (colon == std::string_view::npos) continue;
        const auto value = parse_integer(part.substr(colon + 1));
        if (!value) continue;
        const std::string_view key = part.substr(0, colon);
        const auto number_of = static_cast<double>(*value);
        if (key == "REG") add("resource_usage__registers", number_of, "1", number, "REG");
        if (key == "STACK") add("resource_usage__stack_bytes", number_of, "B", number, "STACK");
        if (key == "LOCAL") add("resource_usage__local_bytes", number_of, "B", number, "LOCAL");
        if (key == "SHARED") add("resource_usage__shared_bytes", number_of, "B", number, "SHARED");
      }
    }
  }

  void flush() {
    if (!current_) return;
    auto finished = finish(std::move(*current_), "");
    current_.reset();
    if (finished) {
      reading_.kernels.push_back(std::move(*finished));
    } else if (!failure_) {
      failure_ = finished.error();
    }
  }

  std::string_view bytes_;
  std::string file_, hash_;
  Reading reading_;
  std::optional<RawKernel> current_;
  std::optional<Error> failure_;
  std::string arch_;
  bool is_ptxas_ = false;
  bool in_device_function_ = false;
};

}  // namespace

bool is_resource_usage(std::string_view bytes) {
  std::size_t at = 0;
  bool function = false;
  while (at < bytes.size() && at < (std::size_t{1} << 20)) {
    const std::string_view line = line_at(bytes, at);
    at += std::min(bytes.find('\n', at), bytes.size()) - at + 1;
    if (line.substr(0, kInfo.size()) == kInfo) return true;
    const std::string_view text = trim(line);
    if (text.substr(0, 9) == "Function " && text.back() == ':') function = true;
    if (function && text.substr(0, 4) == "REG:") return true;
  }
  return false;
}

Result<Reading> read_resource_usage(std::string_view bytes, const fs::path& name) {
  return Collector(bytes, name.string()).run();
}

}  // namespace burnish::profile::nvidia
