// A job of two ranks that hangs, for tests.
#pragma once

#include <string>

#include "trace/report/report.h"

namespace redline::viewer {

inline trace::HangTable rank_table(int rank, int64_t entered, bool is_done) {
  trace::HangTable table;
  table.rank = rank;
  table.world_size = 2;
  table.host = "node" + std::to_string(rank);
  table.groups = {{"0", {0, 1}, entered}};
  table.collectives = {{"0", entered, "all_reduce", "[[8]]", "Float", is_done, 1}};
  table.stack = {"train.py:31 sync", "train.py:60 <module>"};
  return table;
}

inline trace::Report hung_report() {
  trace::Report report;
  report.hang_tables = {rank_table(0, 121, false), rank_table(1, 120, true)};
  report.hang_tables[1].inner = "connection.py:9 poll";
  report.hang_tables[1].state = trace::ThreadState::kInputOutput;
  report.hang = trace::find_hang(report.hang_tables);
  return report;
}

}  // namespace redline::viewer
