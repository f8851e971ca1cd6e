#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"

namespace burnish::device {

struct WorkerReply {
  Json json;
  std::string attachment;
};

}  // namespace burnish::device
