#pragma once

// For tests: the outside world, dying by kill -9 at a chosen change of it.

#include <csignal>

#include "base/file.h"
#include "base/process.h"

namespace burnish::loop {

/// Counts what changes the world, and dies at a chosen step.
struct Fuse {
  int step = 0;
  int fatal = -1;  ///< dies before this step; -1: never
  void burn() {
    if (step++ == fatal) raise(SIGKILL);
  }
};

class FusedFiles : public FileSystem {
 public:
  explicit FusedFiles(Fuse& fuse) : fuse_(fuse) {}
  Result<std::string> read(const fs::path& path, std::uint64_t limit) const override {
    return real_file_system().read(path, limit);
  }
  Result<void> write(const fs::path& path, std::string_view content) override {
    fuse_.burn();
    auto written = real_file_system().write(path, content);
    fuse_.burn();
    return written;
  }
  Result<void> append(const fs::path& path, std::string_view content) override {
    fuse_.burn();
    if (fuse_.fatal == fuse_.step) {
      // A torn line: the disk took half of it.
      (void)real_file_system().append(path, content.substr(0, content.size() / 2));
    }
    fuse_.burn();
    auto appended = real_file_system().append(path, content);
    fuse_.burn();
    return appended;
  }
  bool exists(const fs::path& path) const override { return real_file_system().exists(path); }
  std::vector<std::string> list(const fs::path& folder) const override {
    return real_file_system().list(folder);
  }
  Result<void> remove_all(const fs::path& path) override {
    fuse_.burn();
    return real_file_system().remove_all(path);
  }
  Result<void> make_folder(const fs::path& path) override {
    return real_file_system().make_folder(path);
  }

 private:
  Fuse& fuse_;
};

class FusedProcesses : public ProcessRunner {
 public:
  explicit FusedProcesses(Fuse& fuse) : fuse_(fuse) {}
  Result<ProcessResult> run(const ProcessSpec& spec) override {
    fuse_.burn();
    auto result = real_process_runner().run(spec);
    fuse_.burn();
    return result;
  }

 private:
  Fuse& fuse_;
};

}  // namespace burnish::loop
