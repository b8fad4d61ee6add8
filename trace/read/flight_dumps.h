// Dumps of torch's own flight recorder, written as JSON, in the form of the ranks' own tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
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

/// One of the "entries"; nullopt for a transfer between two ranks, and for anything else.
[[nodiscard]] std::optional<EnteredCollective> collective_of_torch(const nlohmann::json& entry);

/// Gloo's lists do not name the ranks of a group. All ranks are in the first group, "0", and in one
/// that is the only one; of another one those are known that have entered a collective of it.
void add_unknown_groups(std::vector<HangTable>& tables);

}  // namespace redline::trace
