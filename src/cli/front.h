#pragma once

#include <memory>
#include <string>

#include "cli/arguments.h"
#include "loop/loop.h"

namespace burnish::cli {

/// Prints results on stdout, everything else on stderr.
void print_json(const Json& json);
void print(const std::string& text);
void say(const Common& common, const std::string& text);  ///< stderr, unless --quiet
/// As a shell reads it back: quoted where it must be.
std::string shell_word(const std::string& text);
/// Width of the terminal behind stdout, 0 when it is none.
int terminal_columns();

/// The progress of a long work: in a terminal the last line is replaced, elsewhere stages and notes
/// are plain lines and progress is not shown.
std::unique_ptr<loop::Observer> make_observer(const Common& common);

/// What the verbs on a workspace work with, opened together.
struct Bench {
  std::unique_ptr<device::Device> device;
  knowledge::CardBase cards;
  evidence::Rules rules;
  std::unique_ptr<loop::Observer> observer;
  fs::path binaries;  ///< what was compiled, by content
  loop::Tools tools();
};
/// Where a team's own cards are: `knowledge.cards` of burnish.toml, then --cards. The last one goes
/// before all.
std::vector<fs::path> card_folders(const Common& common, const workspace::Workspace* workspace);

/// The device is of the backend that speaks the kernel's language, unless --device says another.
Result<Bench> open_bench(const Common& common, const workspace::Workspace& workspace);

/// The workspace's loop, recovered; a recovery is told on stderr.
Result<std::unique_ptr<loop::Loop>> open_loop(const Common& common, const fs::path& folder);
Result<workspace::Workspace> open_to_read(const fs::path& folder);

void print_summary(const Common& common, const loop::Summary& summary);

}  // namespace burnish::cli
