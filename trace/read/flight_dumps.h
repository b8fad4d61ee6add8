// Dumps of torch's own flight recorder, written as JSON, in the form of the ranks' own tables.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "trace/read/hang_tables.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Takes the dumps out of `paths`, which are files or folders, and reads them. A folder that holds
/// nothing else is taken out, too. Sorted by rank. Fails for a dump that cannot be read, and for a
/// pickle, which is what torch writes by itself: reading one runs what is in it.
[[nodiscard]] tl::expected<std::vector<HangTable>, ReadError> take_flight_dumps(
    std::vector<std::string>& paths);

/// One dump. Its rank is the last number in the file's name, because the dump does not say it.
[[nodiscard]] tl::expected<HangTable, ReadError> parse_flight_dump(const std::string& path,
                                                                   std::string_view text);

}  // namespace redline::trace
