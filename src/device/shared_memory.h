#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"

namespace burnish::device {

/// Memory that the judge shares with the process that runs a candidate. It is read once and never
/// through a mapping, so that the process can neither change it under the judge's eyes nor make the
/// judge fault. Its pages come into being as they are written. Its size is sealed: a process that
/// shrinks it would make the judge read nothing, and one that grows it would fill the machine's
/// memory.
class SharedMemory {
 public:
  /// `bytes` 0: a quarter of the machine's memory. Errors: environment.
  static Result<SharedMemory> make(std::uint64_t bytes);
  SharedMemory() = default;  ///< none
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  Result<void> put(std::uint64_t at, std::span<const std::byte> bytes);
  Result<void> get(std::uint64_t at, std::span<std::byte> bytes) const;
  /// Takes these bytes out of the processors' caches; `at` is a multiple of the page's size.
  Result<void> evict(std::uint64_t at, std::uint64_t bytes) const;
  std::uint64_t bytes() const { return bytes_; }
  /// To be handed to the process; stays this object's.
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace burnish::device
