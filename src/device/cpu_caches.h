#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace burnish::device {

/// Bytes of the last-level caches of the processors that this process may use, from sysfs; 0 when
/// that does not say.
std::uint64_t cpu_cache_bytes();

/// Writes `bytes` on every processor that this process may use, its share on each, so that the
/// private caches of all are replaced and the shared one with them. `memory` is what is written;
/// kept between calls, it is allocated once.
void write_over_caches(std::vector<char>& memory, std::uint64_t bytes);

/// Takes the lines of this memory out of the caches of all processors. What is written elsewhere
/// does not do that for certain: a last-level cache may keep what it has and let a long stream of
/// writes pass by. Without effect on processors other than x86-64.
void evict(std::span<const std::byte> bytes);

}  // namespace burnish::device
