// Gives the recorder the collectives that torch's own flight recorder lists.
#pragma once

namespace redline::profiler {

/// May be called again.
void attach_flight_recorder_list();

}  // namespace redline::profiler
