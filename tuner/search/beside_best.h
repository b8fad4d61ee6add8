// A trial of a value that was so far only tried together with values other than the best's.
// Together they may have done what neither does alone, and no model of parts foresees all of that.
#pragma once

#include <optional>

#include "tuner/search/outlook.h"

namespace redline::tuner {

/// It is tried at the best's batch size, or at the next smaller one that fits. nullopt if every
/// value has been judged beside the best, or if the model is sure that it loses and not
/// `also_hopeless`.
[[nodiscard]] std::optional<Proposal> beside_best(Outlook& outlook, bool also_hopeless = false);

}  // namespace redline::tuner
