// All that the file says of one slice, for the Details pane. Parsed when asked for.
#pragma once

#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

struct DetailField {
  std::string name;
  std::string value;
};

struct SliceDetails {
  std::string name;
  std::vector<DetailField> fields;     ///< category, start, duration, where
  std::vector<DetailField> arguments;  ///< "args" as in the file, nested ones as "a.b"
};

[[nodiscard]] SliceDetails slice_details(const Session& session, SliceRef ref);

/// The "args" of an event's JSON text. Text that is not JSON comes back whole as one argument.
[[nodiscard]] std::vector<DetailField> event_arguments(std::string_view event_text);

}  // namespace redline::viewer
