#pragma once

#include <string>
#include <string_view>

#include "knowledge/card.h"
#include "knowledge/search_index.h"

namespace burnish::knowledge {

/// A card as search sees it: its head, and its words by field. Reading one costs a hundredth of
/// parse_card(), so that a thousand can be read for one question.
struct Page {
  CardHead head;
  Words words;
  std::string text;  ///< the whole file
  std::size_t body = 0;
  std::string file;
  std::string origin = "burnish";  ///< or the folder that the card was read from

  /// The paragraph that stands alone.
  std::string first_paragraph() const {
    return knowledge::first_paragraph(std::string_view(text).substr(body));
  }
};

/// Front matter of one key and one plain value a line, as cards have it, is read as it stands;
/// anything else TOML allows goes through parse_card(), with the same outcome. Triggers are not
/// compiled and unknown keys not refused: that is for parse_card(). Errors are bad_input at
/// file:line:column.
Result<Page> read_page(std::string text, const std::string& file);

/// The page of a card that was parsed.
Page page_of(const Card& card);

}  // namespace burnish::knowledge
