// A folder may hold the traces of several recordings, as where a command was recorded twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/model/model.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// Leaves the traces of the latest recording, and gives the number of those that it removed. Other
/// recordings stay if their ranks may be other ranks of the same job: on two nodes, two commands
/// record one job. So do traces that do not name their recording.
int64_t keep_latest_recording(std::vector<std::shared_ptr<const Trace>>& traces);

/// A flight recorder writes its last seconds at a hang, and again when the process ends. Of traces
/// of one process that hold the same time it leaves the last, and gives the number of those that it
/// removed.
int64_t keep_latest_of_each_ring(std::vector<std::shared_ptr<const Trace>>& traces);

/// A sentence for each of `paths` that is a folder with more readable files than `traces` has of
/// it.
[[nodiscard]] std::vector<std::string> notes_on_left_out(
    const std::vector<std::string>& paths, const std::vector<std::shared_ptr<const Trace>>& traces,
    const std::vector<ReadError>& unreadable = {});

}  // namespace redline::trace
