#include "device/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "device/cpu_caches.h"

namespace burnish::device {
namespace {

Error failure(const char* what) {
  return environment_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

Result<SharedMemory> SharedMemory::make(std::uint64_t bytes) {
  SharedMemory memory;
  memory.bytes_ = bytes > 0 ? bytes
                            : static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                  static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 4;
  memory.fd_ = ::memfd_create("burnish", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.fd_ < 0 || ::ftruncate(memory.fd_, static_cast<off_t>(memory.bytes_)) != 0 ||
      ::fcntl(memory.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failure("cannot make memory to share with the worker");
  }
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> SharedMemory::put(std::uint64_t at, std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure("cannot write to the shared memory");
    done += static_cast<std::size_t>(written);
  }
  return {};
}

Result<void> SharedMemory::get(std::uint64_t at, std::span<std::byte> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure("cannot read the shared memory");
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Result<void> SharedMemory::evict(std::uint64_t at, std::uint64_t bytes) const {
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(at));
  if (mapped == MAP_FAILED) return failure("cannot map the shared memory");
  device::evict({static_cast<const std::byte*>(mapped), bytes});
  ::munmap(mapped, bytes);
  return {};
}

}  // namespace burnish::device
