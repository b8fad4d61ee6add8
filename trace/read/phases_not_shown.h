// The phases ("ph") of Chrome's trace format that we count but do not show.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::trace {

/// The name under which events of a legal phase are counted, "phase_unknown" for what is none.
[[nodiscard]] inline std::string_view not_shown_as(uint8_t phase) {
  switch (phase) {
    case 'N':
    case 'O':
    case 'D':
      return "object_not_shown";
    case 'P':
      return "sample_not_shown";
    case 'v':
    case 'V':
      return "memory_dump_not_shown";
    case 'c':
      return "clock_sync_not_shown";
    case '(':
    case ')':
      return "context_not_shown";
    case '=':
      return "linked_id_not_shown";
    default:
      return "phase_unknown";
  }
}

}  // namespace redline::trace
