// What somebody meant who typed a name with a slip: the name that is nearest to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redline {

/// The one of `names` that `typed` has up to a slip or two: a letter too much, too few, wrong, or
/// two in wrong order, but no more than one in three letters. Empty if there is none.
[[nodiscard]] std::string nearest_name(std::string_view typed,
                                       const std::vector<std::string>& names);

/// "; did you mean --budget?" behind a message that has said what is wrong; empty if no name is
/// near.
[[nodiscard]] std::string did_you_mean(std::string_view typed,
                                       const std::vector<std::string>& names);

}  // namespace redline
