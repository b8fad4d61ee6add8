#include "trace/read/flight_dumps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/json_values.h"
#include "base/parallel.h"
#include "base/text_search.h"
#include "trace/emit/json_scan.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

enum class FileKind : uint8_t { kOther, kDump, kPickle };

FileKind kind_of_file(const std::string& path) {
  if (path.ends_with(kHangTableSuffix)) return FileKind::kOther;  // it has such entries, too
  constexpr size_t kHead = 256;
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kHead);
  head.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  // Protocol 2 and later begin so.
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    return FileKind::kPickle;
  if (head.empty() || head.find_first_not_of(" \t\r\n") != head.find('{')) return FileKind::kOther;
  return contains_any(head, {"\"comm_lib_version\"", "\"nccl_version\"", "\"entries\""})
             ? FileKind::kDump
             : FileKind::kOther;
}

// The last number in the name without its extensions: 3 of "nccl_trace_rank_3.json".
std::optional<int> rank_of_name(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  const auto end = std::find_if(name.rbegin(), name.rend(), is_digit).base();
  auto begin = end;
  while (begin != name.begin() && is_digit(static_cast<unsigned char>(*(begin - 1)))) --begin;
  if (begin == end || end - begin > 7) return std::nullopt;
  return std::stoi(std::string(begin, end));
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

// "ranks" is a list, or the text of one.
void read_groups(const json& dump, HangTable& table) {
  const json groups = dump.value("pg_config", json::object());
  if (!groups.is_object()) return;
  for (const auto& [key, group] : groups.items()) {
    if (!group.is_object()) continue;
    const json listed = group.value("ranks", json());
    const std::string text = text_of(listed);
    if (is_too_deep(text)) continue;  // seen from outside, it was flat
    const json ranks = listed.is_string() ? json::parse(text, nullptr, false) : listed;
    CollectiveGroup known{text_in(group, "name"), {}, 0};
    if (known.name.empty()) known.name = key;
    for (const json& rank : ranks.is_array() ? ranks : json::array()) {
      if (rank.is_number_integer()) known.ranks.push_back(rank.get<int>());
    }
    if (!known.ranks.empty()) table.groups.push_back(std::move(known));
  }
}

ReadError refusal(const std::string& path) {
  return {fmt::format("{}: a pickle, which could run code when it is read. Let torch write JSON: "
                      "docs/hangs.md says how",
                      path),
          path};
}

// Takes out of the folder what is a dump. Its other files, such as traces, stay.
tl::expected<std::vector<std::string>, ReadError> dumps_in(const std::string& folder,
                                                           bool& has_others) {
  std::vector<std::string> dumps;
  std::optional<std::string> pickle;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string path = file->path().string();
    const std::string name = file->path().filename().string();
    if (!file->is_regular_file(error) || contains(name, ".pt.trace.json")) {
      has_others = true;
      continue;
    }
    if (name.ends_with(".partial")) continue;  // it is being written
    const FileKind kind = kind_of_file(path);
    if (kind == FileKind::kDump) dumps.push_back(path);
    if (kind == FileKind::kPickle) pickle = path;
    if (kind == FileKind::kOther) has_others = true;
  }
  if (dumps.empty() && !has_others && pickle) return tl::unexpected(refusal(*pickle));
  return dumps;
}

}  // namespace

std::optional<EnteredCollective> collective_of_torch(const json& entry) {
  if (!entry.is_object() || flag_in(entry, "is_p2p")) return std::nullopt;
  const json group = entry.value("process_group", json::array());
  const std::string name = text_in(entry, "profiling_name");
  if (!group.is_array() || group.empty() || name.empty()) return std::nullopt;
  EnteredCollective collective;
  collective.group = text_of(group.front());
  if (collective.group.empty()) {  // one that a program in C++ made
    collective.group = std::to_string(whole_in(entry, "pg_id"));
  }
  collective.sequence = whole_in(entry, "collective_seq_id");
  collective.operation = name.substr(name.find(':') + 1);  // "gloo:all_reduce"
  collective.sizes = entry.value("input_sizes", json::array()).dump();
  for (const json& type : entry.value("input_dtypes", json::array())) {
    collective.types += (collective.types.empty() ? "" : ", ") + text_of(type);
  }
  collective.is_done = flag_in(entry, "retired") || text_in(entry, "state") == "completed";
  collective.entered_ns = whole_in(entry, "time_created_ns");
  return collective;
}

void add_unknown_groups(std::vector<HangTable>& tables) {
  std::set<std::string> known;
  std::map<std::string, std::vector<int>> members;
  std::vector<int> all;
  for (const HangTable& table : tables) {
    all.push_back(table.rank);
    for (const CollectiveGroup& group : table.groups) {
      if (!group.ranks.empty()) known.insert(group.name);
    }
    std::set<std::string> entered;
    for (const EnteredCollective& entry : table.collectives) entered.insert(entry.group);
    for (const std::string& group : entered) members[group].push_back(table.rank);
  }
  for (const auto& [name, ranks] : members) {
    if (known.contains(name)) continue;
    const bool is_of_all = name == "0" || (members.size() == 1 && known.empty());
    tables.front().groups.push_back({name, is_of_all ? all : ranks, 0});
  }
}

tl::expected<HangTable, ReadError> parse_flight_dump(const std::string& path,
                                                     std::string_view text) {
  const auto rank = rank_of_name(path);
  if (!rank) {
    return tl::unexpected(ReadError{
        fmt::format("{}: a dump does not say its rank, so its name must: rank3.json", path), path});
  }
  const json dump = json::parse(text, nullptr, false);
  if (is_too_deep(text)) {
    return tl::unexpected(ReadError{fmt::format("{}: its values are nested too deep", path), path});
  }
  // A rank that has entered nothing has no entries.
  const json entries = dump.is_object() ? dump.value("entries", json::array()) : json();
  const bool is_dump = entries.is_array() && dump.contains("pg_config");
  if (!is_dump) {
    return tl::unexpected(
        ReadError{fmt::format("{}: no dump of torch's flight recorder", path), path});
  }
  HangTable table;
  table.rank = *rank;
  table.is_overdue = true;
  for (const json& entry : entries) {
    auto collective = collective_of_torch(entry);
    if (!collective) continue;
    table.written_ns = std::max(table.written_ns, collective->entered_ns);
    table.collectives.push_back(*std::move(collective));
  }
  read_groups(dump, table);
  return table;
}

tl::expected<std::vector<HangTable>, ReadError> take_flight_dumps(std::vector<std::string>& paths) {
  std::vector<std::string> dumps;
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    std::error_code ignored;
    bool has_others = false;
    if (fs::is_directory(path, ignored)) {
      const auto found = dumps_in(path, has_others);
      if (!found) return tl::unexpected(found.error());
      dumps.insert(dumps.end(), found->begin(), found->end());
      has_others = has_others || found->empty();
    } else if (!fs::is_regular_file(path, ignored)) {
      has_others = true;  // to open a pipe would wait for its writer
    } else {
      const FileKind kind = kind_of_file(path);
      if (kind == FileKind::kPickle) return tl::unexpected(refusal(path));
      if (kind == FileKind::kDump) dumps.push_back(path);
      has_others = kind == FileKind::kOther;
    }
    if (has_others) others.push_back(path);
  }
  paths = std::move(others);
  std::vector<tl::expected<HangTable, ReadError>> read(dumps.size());
  for_each_index(thread_count(0), dumps.size(), [&](size_t index, unsigned) {
    read[index] = parse_flight_dump(dumps[index], read_file(dumps[index]));
  });
  std::vector<HangTable> tables;
  for (auto& table : read) {
    if (!table) return tl::unexpected(table.error());
    tables.push_back(*std::move(table));
  }
  std::ranges::sort(tables, {}, &HangTable::rank);
  for (HangTable& table : tables) table.world_size = static_cast<int>(tables.size());
  if (!tables.empty()) add_unknown_groups(tables);
  return tables;
}

}  // namespace redline::trace
