// Any bytes as CSV, in both styles of quotes: every record moves on, and views stay inside.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "profile/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using burnish::profile::InnerQuotes;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const InnerQuotes inner : {InnerQuotes::doubled, InnerQuotes::bare}) {
    burnish::profile::CsvReader reader(text, "input", inner);
    for (;;) {
      const std::size_t before = reader.rest().size();
      const auto more = reader.next();
      if (!more) {
        reader.rewind_record();
        reader.skip_line();
        continue;
      }
      if (!*more) break;
      if (reader.rest().size() >= before) abort();
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < reader.fields().size(); ++i) {
        bytes += reader.field(i).size();
        (void)reader.place(i).to_string();
      }
      if (bytes > before) abort();
    }
  }
  return 0;
}
