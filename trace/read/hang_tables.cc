#include "trace/read/hang_tables.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"

namespace redline::trace {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

int64_t integer_in(const json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_number_integer() ? value->get<int64_t>() : 0;
}

bool flag_in(const json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_boolean() && value->get<bool>();
}

const json& list_in(const json& object, const char* key) {
  static const json none = json::array();
  const auto value = object.find(key);
  return value != object.end() && value->is_array() ? *value : none;
}

ThreadState state_of(const std::string& word) {
  if (word == "runs") return ThreadState::kRuns;
  if (word == "sleeps") return ThreadState::kSleeps;
  if (word == "lock") return ThreadState::kLock;
  if (word == "io") return ThreadState::kInputOutput;
  if (word == "stopped") return ThreadState::kStopped;
  if (word == "gone") return ThreadState::kGone;
  return ThreadState::kUnknown;
}

void read_lists(const json& object, HangTable& table) {
  for (const json& row : list_in(object, "groups")) {
    if (!row.is_object()) continue;
    CollectiveGroup group{text_in(row, "name"), {}};
    for (const json& rank : list_in(row, "ranks")) {
      if (rank.is_number_integer()) group.ranks.push_back(rank.get<int>());
    }
    table.groups.push_back(std::move(group));
  }
  for (const json& row : list_in(object, "collectives")) {
    if (!row.is_object()) continue;
    table.collectives.push_back({text_in(row, "group"), integer_in(row, "sequence"),
                                 text_in(row, "operation"), text_in(row, "sizes"),
                                 text_in(row, "types"), flag_in(row, "done"),
                                 integer_in(row, "entered_ns")});
  }
  for (const json& frame : list_in(object, "stack")) {
    if (frame.is_string()) table.stack.push_back(frame.get<std::string>());
  }
}

}  // namespace

std::optional<HangTable> parse_hang_table(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || text_in(object, "schema") != "redline.hang/1") return std::nullopt;
  HangTable table;
  table.run = text_in(object, "run");
  table.rank = static_cast<int>(integer_in(object, "rank"));
  table.world_size = static_cast<int>(integer_in(object, "world_size"));
  table.host = text_in(object, "host");
  table.process = integer_in(object, "process");
  table.written_ns = integer_in(object, "written_ns");
  if (object.contains("step") && object["step"].is_number_integer()) {
    table.step = object["step"].get<int64_t>();
  }
  table.step_began_ns = integer_in(object, "step_began_ns");
  table.usual_step_ns = integer_in(object, "usual_step_ns");
  table.phase = text_in(object, "phase");
  table.is_moving = flag_in(object, "moving");
  table.state = state_of(text_in(object, "state"));
  table.inner = text_in(object, "inner");
  read_lists(object, table);
  return table;
}

std::vector<std::string> find_hang_tables(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    if (files->path().native().ends_with(kHangTableSuffix)) paths.push_back(files->path());
  }
  return paths;
}

std::vector<HangTable> read_hang_tables(const std::string& folder) {
  std::vector<HangTable> tables;
  for (const std::string& path : find_hang_tables(folder)) {
    if (auto table = parse_hang_table(read_file(path))) tables.push_back(*std::move(table));
  }
  std::string latest;
  for (const HangTable& table : tables) latest = std::max(latest, table.run);
  std::erase_if(tables, [&](const HangTable& table) { return table.run != latest; });
  std::sort(tables.begin(), tables.end(),
            [](const HangTable& left, const HangTable& right) { return left.rank < right.rank; });
  return tables;
}

}  // namespace redline::trace
