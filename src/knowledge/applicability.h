#pragma once

#include <string>

#include "knowledge/catalogue.h"

namespace burnish::knowledge {

/// How far a card holds where the question was asked: 0 not at all, 0.5 when it cannot be known.
struct Applicability {
  double weight = 1;
  std::string scope;
};

/// `target` may be a family alone (arch empty), or null when it is not known.
Applicability applicability(const Applies& applies, const std::string& vendor,
                            const Target* target);

/// A hit of the card, not scored yet.
Hit hit_of(const CardHead& card, const std::string& origin);

/// What was found inside the scope or, when that is nothing and may be widened, outside; the first
/// `limit` (0: all).
std::vector<Hit> first_of(std::vector<Hit> inside, std::vector<Hit> outside, int limit,
                          Widen widen);

}  // namespace burnish::knowledge
