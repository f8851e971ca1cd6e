#include "isa/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace burnish::isa {

std::string demangled(const std::string& symbol) {
  // Longer names are no compiler's, and demangling can take time out of proportion.
  if (!symbol.starts_with("_Z") || symbol.size() > 4096) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && name ? std::string(name.get()) : symbol;
}

}  // namespace burnish::isa
