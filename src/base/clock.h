#pragma once

#include <chrono>
#include <string>

namespace burnish {

/// Time; a seam for tests.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::nanoseconds steady() const = 0;            ///< monotonic
  virtual std::chrono::system_clock::time_point now() const = 0;  ///< calendar
  virtual void sleep(std::chrono::milliseconds duration) = 0;
};

Clock& real_clock();

/// ISO 8601 in UTC: "2026-11-29T20:15:00Z".
std::string iso_time(std::chrono::system_clock::time_point time);

}  // namespace burnish
