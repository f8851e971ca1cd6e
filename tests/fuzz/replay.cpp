// Feeds a fuzz target the files of some folders: each as it is, cut short, and with a few bytes
// changed, always in the same ways. A reader that crashes or hangs ends the program or its time.
//
// usage: burnish_fuzz_replay TARGET FOLDER...

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"

extern "C" {
int fuzz_isa_amd(const std::uint8_t* data, std::size_t size);
int fuzz_isa_nvidia(const std::uint8_t* data, std::size_t size);
int fuzz_profile_amd(const std::uint8_t* data, std::size_t size);
int fuzz_profile_csv(const std::uint8_t* data, std::size_t size);
int fuzz_profile_json(const std::uint8_t* data, std::size_t size);
int fuzz_profile_ncu(const std::uint8_t* data, std::size_t size);
}

namespace {

using Target = int (*)(const std::uint8_t*, std::size_t);
const std::map<std::string, Target> kTargets{
    {"isa_amd", fuzz_isa_amd},           {"isa_nvidia", fuzz_isa_nvidia},
    {"profile_amd", fuzz_profile_amd},   {"profile_csv", fuzz_profile_csv},
    {"profile_json", fuzz_profile_json}, {"profile_ncu", fuzz_profile_ncu}};

constexpr std::size_t kLargest = 20'000;  // bytes; larger files say the same again
constexpr int kCuts = 16, kChanges = 48;

void run(Target target, const std::string& bytes) {
  // A copy of exactly this size: the sanitizers see what reads past its end.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  target(copy.data(), copy.size());
}

void run_damaged(Target target, const std::string& bytes) {
  run(target, bytes);
  if (bytes.empty()) return;
  std::mt19937 generator(static_cast<std::uint32_t>(bytes.size()));
  const auto below = [&](std::size_t limit) { return generator() % limit; };
  for (int i = 0; i < kCuts; ++i) run(target, bytes.substr(0, below(bytes.size())));
  constexpr unsigned char kTelling[] = {0x00, 0x7f, 0x80, 0xff, '"', '\n', '0', '9', ',', '{'};
  for (int i = 0; i < kChanges; ++i) {
    std::string changed = bytes;
    for (std::size_t n = 1 + below(4); n > 0; --n) {
      char& at = changed[below(changed.size())];
      at = static_cast<char>(below(2) == 0 ? at ^ (1 << below(8)) : kTelling[below(10)]);
    }
    run(target, changed);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto target = count > 2 ? kTargets.find(arguments[1]) : kTargets.end();
  if (target == kTargets.end()) {
    std::fprintf(stderr, "usage: burnish_fuzz_replay TARGET FOLDER...\n");
    return 2;
  }
  auto& files = burnish::real_file_system();
  int inputs = 0;
  for (int i = 2; i < count; ++i) {
    const std::vector<std::string> names = files.list(arguments[i]);
    if (names.empty()) {
      std::fprintf(stderr, "%s is empty or missing\n", arguments[i]);
      return 1;
    }
    for (const std::string& name : names) {
      const auto bytes = files.read(burnish::fs::path(arguments[i]) / name, kLargest);
      if (!bytes) continue;
      std::fprintf(stderr, "%s/%s\n", arguments[i], name.c_str());
      run_damaged(target->second, *bytes);
      ++inputs;
    }
  }
  std::printf("%d files\n", inputs);
  return inputs > 0 ? 0 : 1;
}
