#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace burnish {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int open_file(const fs::path& path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// `what` reads on: "cannot read x: No such file or directory".
Error failure(std::string_view what, const fs::path& path, int number) {
  std::string message = fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(number));
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return bad_input(std::move(message));
    case ENOSPC:
    case EDQUOT:
      return environment_error(std::move(message))
          .with_hint("free some space there and give the command again");
    case EROFS:
    case EACCES:
    case EPERM:
      return environment_error(std::move(message))
          .with_hint("work in a copy in a folder of your own, or change who may do that");
    default:
      return environment_error(std::move(message));
  }
}

/// A regular file of at most `limit` bytes, opened for reading.
Result<int> open_regular(const fs::path& path, std::uint64_t limit, struct stat& info) {
  // Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
  Descriptor file(open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return failure("read", path, errno);
  if (S_ISDIR(info.st_mode)) return failure("read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return bad_input(fmt::format("cannot read {}: it is not a regular file", path.string()));
  }
  if (static_cast<std::uint64_t>(info.st_size) > limit) {
    return bad_input(fmt::format(
        "cannot read {}: it has {}, more than the {} allowed", path.string(),
        with_binary_prefix(static_cast<std::uint64_t>(info.st_size)), with_binary_prefix(limit)));
  }
  return file.release();
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

fs::path folder_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

int sync_folder(const fs::path& folder) {
  const Descriptor opened(open_file(folder, O_RDONLY | O_DIRECTORY));
  if (opened.get() < 0) return errno;
  // Some network file systems cannot sync a folder and say EINVAL.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) return errno;
  return 0;
}

Result<void> make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return failure("make the folder", folder, error.value());
  }
  return {};
}

class RealFileSystem : public FileSystem {
 public:
  Result<std::string> read(const fs::path& path, std::uint64_t limit) const override {
    struct stat info{};
    BURNISH_TRY_ASSIGN(const int fd, open_regular(path, limit, info));
    const Descriptor file(fd);
    std::string content;
    // The size is a guess only: files of /proc say 0, and others may grow meanwhile.
    std::uint64_t room = static_cast<std::uint64_t>(info.st_size) + 1;
    while (true) {
      const std::size_t before = content.size();
      content.resize(before + static_cast<std::size_t>(room));
      const ssize_t got = ::read(fd, content.data() + before, static_cast<std::size_t>(room));
      const int number = errno;
      content.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (got == 0) return content;
      if (got < 0 && number != EINTR) return failure("read", path, number);
      if (content.size() > limit) {
        return bad_input(fmt::format("cannot read {}: it has more than the {} allowed",
                                     path.string(), with_binary_prefix(limit)));
      }
      // As long as it said, and nothing came after: the end.
      if (before == 0 && got == info.st_size) return content;
      room = 64 * 1024;
    }
  }

  Result<void> write(const fs::path& path, std::string_view content) override {
    // A link is followed, so that what it points to is replaced and the link stays.
    std::error_code ignored;
    fs::path target = path;
    if (fs::is_symlink(path, ignored)) {
      target = fs::weakly_canonical(path, ignored);
      if (ignored) return failure("write", path, ignored.value());
    }
    const fs::path folder = folder_of(target);
    BURNISH_TRY(make_folders(folder));
    struct stat old{};
    const bool exists = ::stat(target.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
      return bad_input(fmt::format("cannot write {}: it is not a regular file", path.string()));
    }

    std::string temporary;
    int fd = -1;
    for (int tries = 0; fd < 0 && tries < 100; ++tries) {
      static std::atomic<unsigned> counter{0};
      temporary = (folder / fmt::format(".{}.{}.{}.tmp", target.filename().string().substr(0, 200),
                                        ::getpid(), counter++))
                      .string();
      fd = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, exists ? old.st_mode & 07777 : 0666);
      if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) return failure("write", path, errno);
    int number = 0;
    {
      const Descriptor file(fd);
      number = write_all(fd, content);
      if (number == 0 && exists && ::fchmod(fd, old.st_mode & 07777) != 0) number = errno;
      if (number == 0 && ::fsync(fd) != 0) number = errno;
    }
    if (number == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) number = errno;
    if (number != 0) {
      ::unlink(temporary.c_str());
      return failure("write", path, number);
    }
    if ((number = sync_folder(folder)) != 0) return failure("sync the folder of", path, number);
    return {};
  }

  Result<void> append(const fs::path& path, std::string_view content) override {
    const fs::path folder = folder_of(path);
    BURNISH_TRY(make_folders(folder));
    std::error_code ignored;
    const bool is_new = !fs::exists(path, ignored);
    const Descriptor file(open_file(path, O_WRONLY | O_APPEND | O_CREAT, 0666));
    if (file.get() < 0) return failure("append to", path, errno);
    int number = write_all(file.get(), content);
    if (number == 0 && ::fsync(file.get()) != 0) number = errno;
    if (number == 0 && is_new) number = sync_folder(folder);
    if (number != 0) return failure("append to", path, number);
    return {};
  }

  bool exists(const fs::path& path) const override {
    std::error_code ignored;
    return fs::exists(path, ignored);
  }

  std::vector<std::string> list(const fs::path& folder) const override {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator at(folder, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> remove_all(const fs::path& path) override {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return failure("remove", path, error.value());
    return {};
  }

  Result<void> make_folder(const fs::path& path) override { return make_folders(path); }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem system;
  return system;
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  struct stat info{};
  BURNISH_TRY_ASSIGN(const int fd, open_regular(path, INT64_MAX, info));
  const Descriptor file(fd);
  MappedFile mapped;
  if (info.st_size == 0) {
    mapped.data_ = "";
    return mapped;
  }
  const std::size_t size = static_cast<std::size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return failure("map", path, errno);
  mapped.data_ = static_cast<const char*>(data);
  mapped.size_ = size;
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<char*>(data_), size_);
}

namespace {

constexpr const char* kHowToChoose = "set TMPDIR to a folder that can be written to";

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  // A program may have left folders that even their owner may not change.
  for (fs::recursive_directory_iterator
           at(path, fs::directory_options::skip_permission_denied, error),
       end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
  fs::remove_all(path, error);
}

/// Removes the folders whose owner is gone. A folder that cannot be locked at all stays: whether it
/// has an owner cannot be known.
void sweep(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const Descriptor folder(open_file(at->path(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (folder.get() >= 0 && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
      remove_tree(at->path());
    }
  }
}

/// Where this user's temporary folders stand. Nobody else may write there: whoever could put a link
/// there would choose what is written to and removed.
Result<fs::path> temporary_parent() {
  const char* base = std::getenv("TMPDIR");
  const fs::path root = base != nullptr && *base != '\0' ? base : "/tmp";
  const fs::path parent = root / fmt::format("burnish-tmp-{}", ::geteuid());
  struct stat info{};
  if ((::mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) ||
      ::lstat(parent.c_str(), &info) != 0) {
    return environment_error(fmt::format("cannot make a temporary folder in {}: {}", root.string(),
                                         std::strerror(errno)))
        .with_hint(kHowToChoose);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return environment_error(
               fmt::format("{} is no folder that this user alone may write to", parent.string()))
        .with_hint("remove it, or set TMPDIR to a folder of your own");
  }
  return parent;
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(std::string_view prefix) {
  BURNISH_TRY_ASSIGN(const fs::path parent, temporary_parent());
  sweep(parent);
  while (true) {
    std::string pattern = (parent / fmt::format("{}-XXXXXX", prefix)).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      return environment_error(fmt::format("cannot make a temporary folder in {}: {}",
                                           parent.string(), std::strerror(errno)))
          .with_hint(kHowToChoose);
    }
    TemporaryFolder folder;
    folder.path_ = pattern;
    folder.lock_ = open_file(folder.path_, O_RDONLY | O_DIRECTORY);
    // Another process's sweep may have come between: then the folder is gone once the lock is ours.
    while (::flock(folder.lock_, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (fs::exists(folder.path_)) return folder;
  }
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_tree(path_);
  if (lock_ >= 0) ::close(lock_);
}

Result<FileLock> FileLock::try_lock(const fs::path& path) {
  BURNISH_TRY(make_folders(folder_of(path)));
  Descriptor file(open_file(path, O_RDWR | O_CREAT, 0666));
  if (file.get() < 0) return failure("lock", path, errno);
  int got;
  do {
    got = ::flock(file.get(), LOCK_EX | LOCK_NB);
  } while (got != 0 && errno == EINTR);
  if (got != 0) {
    if (errno != EWOULDBLOCK) return failure("lock", path, errno);
    char holder[32] = {};
    const ssize_t size = ::pread(file.get(), holder, sizeof holder - 1, 0);
    const std::string_view pid =
        trim({holder, static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
    return environment_error(fmt::format("{} is locked by {}", path.string(),
                                         parse_integer(pid) ? fmt::format("process {}", pid)
                                                            : std::string("another process")))
        .with_hint("wait for that process to end, or stop it");
  }
  // The file is never removed: a lock on a file that is gone would guard nothing.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return failure("lock", path, errno);
  }
  FileLock lock;
  lock.fd_ = file.release();
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  // Closing alone would not do while a fork that is just starting a program has the descriptor too.
  ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

}  // namespace burnish
