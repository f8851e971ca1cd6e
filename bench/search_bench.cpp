// `burnish wiki search` over a thousand cards: the whole command, from its start to its end, and
// the parts of it. Cards beyond the compiled-in ones are copies of them in a folder, as a team's
// own would be. Prints the times; fails when the fastest command takes more than 20 ms.
//
// bench_search_bench BURNISH

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/process.h"
#include "base/text.h"
#include "knowledge/knowledge.h"

namespace burnish::knowledge {
namespace {

constexpr std::size_t kCards = 1000;
constexpr int kRuns = 30;

void write_copies(const fs::path& folder) {
  const Catalogue own = Catalogue::load().value();
  for (std::size_t i = 0; own.pages().size() + i < kCards; ++i) {
    const Page& page = own.pages()[i % own.pages().size()];
    const std::string id = fmt::format("{}-copy-{}", page.head.id, i);
    const std::string text = replace_all(page.text, fmt::format("id = \"{}\"", page.head.id),
                                         fmt::format("id = \"{}\"", id));
    if (!real_file_system().write(folder / (id + ".md"), text)) std::exit(1);
  }
}

template <class Work>
double print(const std::string& name, const Work& work) {
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(times.begin(), times.end());
  std::printf("%-58s %7.2f ms fastest, %7.2f ms median\n", name.c_str(), times.front(),
              times[times.size() / 2]);
  return times.front();
}

int run(const std::string& program) {
  const auto folder = TemporaryFolder::make().value();
  write_copies(folder.path());
  const std::vector<fs::path> folders = {folder.path()};
  print("read the heads of 1,000 cards", [&] { (void)Catalogue::load(folders).value(); });
  print("parse 1,000 cards, triggers and all", [&] { (void)CardBase::load(folders).value(); });
  const Catalogue cards = Catalogue::load(folders).value();
  bool quick = true;
  for (const std::string question : {"bank conflicts", "ds_read_b128", "swizle"}) {
    print("a question in the program: " + question,
          [&] { (void)cards.search(question, {}).value(); });
    ProcessSpec spec;
    spec.argv = {program, "--cards", folder.path().string(), "wiki", "search", question};
    quick = print("the whole command: " + question,
                  [&] {
                    const auto done = real_process_runner().run(spec);
                    if (!done || !done->ok()) std::exit(1);
                  }) < 20 &&
            quick;
  }
  return quick ? 0 : 1;
}

}  // namespace
}  // namespace burnish::knowledge

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_search_bench BURNISH\n");
    return 2;
  }
  return burnish::knowledge::run(argv[1]);
}
