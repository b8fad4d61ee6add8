// Chrome's async events: begins and ends that belong together by category and id, wherever they
// were written ("b"/"n"/"e", before 2016 "S"/"T"/"p"/"F"). Their slices get a row of their own.
#pragma once

#include <string>
#include <string_view>

#include "trace/emit/json_scan.h"
#include "trace/read/event.h"

namespace redline::trace {

/// The row (as a tid) of a category's async events, e.g. "async net".
[[nodiscard]] inline std::string async_row(std::string_view category) {
  return "async " + std::string(category);
}

/// Equal for the events that belong together. An id means the same in all processes, unless it is
/// "id2": {"local": …}.
[[nodiscard]] inline std::string async_key(const RawEvent& event) {
  std::string key(unquote(event.category));
  key.append(1, '\0').append(unquote(event.id));
  if (!event.id.empty() && event.id.front() == '{' && !find_value(event.id, "local").empty()) {
    key.append(1, '\0').append(unquote(event.pid));
  }
  return key;
}

}  // namespace redline::trace
