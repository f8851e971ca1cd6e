#include "cli/front.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "loop/situation.h"
#include "report/table.h"

namespace burnish::cli {
namespace {

bool colored(const Common& common, int fd) {
  if (common.color == "always") return true;
  if (common.color == "never") return false;
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(fd) != 0 && (no_color == nullptr || *no_color == '\0') && term != nullptr &&
         std::string(term) != "dumb";
}

class TerminalObserver : public loop::Observer {
 public:
  explicit TerminalObserver(const Common& common)
      : quiet_(common.quiet), color_(colored(common, STDERR_FILENO)) {
    const char* term = std::getenv("TERM");
    live_ =
        isatty(STDERR_FILENO) != 0 && !quiet_ && !(term != nullptr && std::string(term) == "dumb");
  }
  ~TerminalObserver() override { clear(); }

  void stage(loop::Stage stage, int version) override {
    const std::string name = loop::to_string(stage);
    line(color_ ? fmt::format("\033[1mv{} {}\033[0m", version, name)
                : fmt::format("v{} {}", version, name));
  }
  void note(const std::string& text) override { line("  " + text); }
  void progress(const std::string& text) override {
    if (!live_) return;
    winsize size{};
    const int columns =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    std::string shown = "  " + text;
    while (display_width(shown) >= columns && !shown.empty()) {
      shown.pop_back();
      while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0) == 0x80)
        shown.pop_back();
    }
    std::fprintf(stderr, "\r\033[K%s", shown.c_str());
    std::fflush(stderr);
    dirty_ = true;
  }

 private:
  void clear() {
    if (dirty_) std::fputs("\r\033[K", stderr);
    dirty_ = false;
  }
  void line(const std::string& text) {
    if (quiet_) return;
    clear();
    std::fprintf(stderr, "%s\n", text.c_str());
    std::fflush(stderr);
  }
  bool quiet_, color_, live_ = false, dirty_ = false;
};

}  // namespace

void print_json(const Json& json) { std::fputs(dump_json(json).c_str(), stdout); }
void print(const std::string& text) { std::fputs(text.c_str(), stdout); }
void say(const Common& common, const std::string& text) {
  if (!common.quiet) std::fprintf(stderr, "%s\n", text.c_str());
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::strchr("/._-+,:@%=", c) != nullptr;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

int terminal_columns() {
  winsize size{};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
                                                                                    : 0;
}

std::unique_ptr<loop::Observer> make_observer(const Common& common) {
  return std::make_unique<TerminalObserver>(common);
}

loop::Tools Bench::tools() {
  return {*device,   cards,
          rules,     real_random(),
          *observer, [this] {
            return measure::open_sanitizers(device->info(), {binaries, {}}); }};
}

std::vector<fs::path> card_folders(const Common& common, const workspace::Workspace* workspace) {
  std::vector<fs::path> folders;
  if (workspace != nullptr) folders = loop::card_folders(*workspace);
  folders.insert(folders.end(), common.cards.begin(), common.cards.end());
  return folders;
}

Result<Bench> open_bench(const Common& common, const workspace::Workspace& workspace) {
  // Judging takes and drops tensors by the second: to fault their pages in anew each time would
  // cost more than what is done with most of them.
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  const std::string& language = workspace.task().language;
  BURNISH_TRY_ASSIGN(const auto info,
                     device::choose_device(common.device == "auto" ? language : common.device));
  if (info.backend != language) {
    return bad_input(fmt::format("{} runs kernels in {}, and this workspace's is in {}", info.id,
                                 info.backend, language))
        .with_hint("leave --device out, or choose a device of " + language);
  }
  const fs::path binaries = workspace.cache_folder() / "binaries";
  BURNISH_TRY_ASSIGN(auto device, device::open_device(info, {binaries, {}}));
  BURNISH_TRY_ASSIGN(auto cards, knowledge::CardBase::load(card_folders(common, &workspace)));
  BURNISH_TRY_ASSIGN(auto rules, evidence::Rules::load());
  return Bench{std::move(device), std::move(cards), std::move(rules), make_observer(common),
               binaries};
}

Result<std::unique_ptr<loop::Loop>> open_loop(const Common& common, const fs::path& folder) {
  std::string report;
  BURNISH_TRY_ASSIGN(auto loop, loop::Loop::open(folder, {}, report));
  if (!report.empty()) say(common, "recovered: " + report);
  return loop;
}

Result<workspace::Workspace> open_to_read(const fs::path& folder) {
  return workspace::Workspace::open(folder, workspace::Workspace::Access::read, {});
}

void print_summary(const Common& common, const loop::Summary& summary) {
  if (common.json) {
    print_json(loop::to_json(summary));
    return;
  }
  report::TextTable table({"version", "category", "gate", "times faster", "interval", "why"});
  for (const auto& iteration : summary.iterations) {
    const bool timed = !iteration.verdict.empty();
    table.row(
        {fmt::format("v{}", iteration.version), iteration.category, iteration.gate,
         timed ? fmt::format("{:.3f}", iteration.ratio) : "",
         timed ? fmt::format("[{:.3f}, {:.3f}]", iteration.interval.low, iteration.interval.high)
               : "",
         iteration.reason.empty() ? join(iteration.findings, ", ") : iteration.reason});
  }
  if (!summary.iterations.empty()) print("\n" + table.text(terminal_columns()) + "\n");
  if (summary.baseline_seconds)
    print(fmt::format("baseline     {}\n", with_prefix(*summary.baseline_seconds, "s")));
  if (summary.best_seconds && summary.speedup)
    print(fmt::format("best         v{}, {}: {:.2f} times faster [{:.2f}, {:.2f}]\n",
                      summary.best_version, with_prefix(*summary.best_seconds, "s"),
                      *summary.speedup, summary.speedup_interval.low,
                      summary.speedup_interval.high));
  if (summary.utilization)
    print(fmt::format("utilization  {:.1f} % of the ceiling\n", *summary.utilization * 100));
  if (!summary.stop_reason.empty()) print("stopped      " + summary.stop_reason + "\n");
}

}  // namespace burnish::cli
