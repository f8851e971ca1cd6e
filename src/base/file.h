#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish {

namespace fs = std::filesystem;

/// The file system as burnish uses it; a seam that tests replace to fail or to die at a chosen
/// call.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// The whole file. Errors: absent, not a regular file, larger than `limit` bytes.
  virtual Result<std::string> read(const fs::path& path,
                                   std::uint64_t limit = kReadLimit) const = 0;
  /// Replaces the file or leaves it as it was: temporary file beside it, fsync, rename, fsync of
  /// the folder. Creates missing parent folders.
  virtual Result<void> write(const fs::path& path, std::string_view content) = 0;
  /// Appends and fsyncs; one call is one write.
  virtual Result<void> append(const fs::path& path, std::string_view content) = 0;
  virtual bool exists(const fs::path& path) const = 0;
  /// Names in a folder, sorted; a missing folder is empty.
  virtual std::vector<std::string> list(const fs::path& folder) const = 0;
  virtual Result<void> remove_all(const fs::path& path) = 0;
  virtual Result<void> make_folder(const fs::path& path) = 0;

  static constexpr std::uint64_t kReadLimit = 1ull << 30;
};

/// The real one. Thread-safe.
FileSystem& real_file_system();

/// A read-only view of a file's bytes, mapped; an empty file is an empty view. Movable.
/// A file that shrinks while it is mapped raises SIGBUS, so files that a candidate may write to
/// are read with FileSystem::read instead.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path);
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();
  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A folder that is removed with everything in it when this goes. Those of a process that was
/// killed are removed by the next process that makes one: all stand in $TMPDIR/burnish-tmp-UID,
/// each locked by its owner, and what is there and not locked is nobody's.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(std::string_view prefix = "burnish");
  TemporaryFolder(TemporaryFolder&&) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) noexcept;
  ~TemporaryFolder();
  const fs::path& path() const { return path_; }

 private:
  TemporaryFolder() = default;
  fs::path path_;
  int lock_ = -1;
};

/// An advisory lock (flock) on a file that is created when missing; freed with the object or the
/// process. `try_lock` gives an error that names the process that holds it.
class FileLock {
 public:
  static Result<FileLock> try_lock(const fs::path& path);
  FileLock(FileLock&&) noexcept;
  FileLock& operator=(FileLock&&) noexcept;
  ~FileLock();

 private:
  FileLock() = default;
  int fd_ = -1;
};

}  // namespace burnish
