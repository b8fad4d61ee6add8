#include "trace/model.h"

#include <algorithm>

namespace redline::trace {

StringId Trace::find_string(std::string_view text) const {
  const auto found = std::find(strings_.begin(), strings_.end(), text);
  if (found == strings_.end()) return StringId::none();
  return {static_cast<uint32_t>(found - strings_.begin())};
}

}  // namespace redline::trace
