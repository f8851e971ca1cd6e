// Any bytes as JSON: the walk moves on, stays inside, and agrees with itself about where it ends.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "profile/json_walk.h"

namespace {

void walk_value(burnish::profile::JsonWalk& walk) {
  using Kind = burnish::profile::JsonWalk::Kind;
  switch (walk.peek()) {
    case Kind::object:
      walk.object([&](std::string_view key) {
        if (key.size() % 2 == 0) walk_value(walk);
      });
      break;
    case Kind::array:
      walk.array([&] { walk_value(walk); });
      break;
    case Kind::string:
      (void)walk.string();
      break;
    case Kind::number:
      (void)walk.integer();
      break;
    default:
      walk.skip();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  burnish::profile::JsonWalk taken(text, "input"), skipped(text, "input");
  walk_value(taken);
  taken.finish();
  skipped.skip();
  skipped.finish();
  if (taken.position() > size || skipped.position() > size) abort();
  // What is taken apart without a mistake can be skipped.
  if (!taken.failed() && skipped.failed()) abort();
  if (taken.failed()) (void)taken.error().to_string();
  return 0;
}
