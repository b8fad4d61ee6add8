#include "tuner/study.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

namespace redline::tuner {
namespace {

using Json = nlohmann::json;

constexpr int64_t kVersion = 1;
constexpr int64_t kApplicationId = 0x52444c4e;  // "RDLN"

constexpr const char* kSchema = R"(
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('started', 'finished', 'interrupted')),
  config TEXT NOT NULL,
  why TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  finish_order INTEGER UNIQUE,
  outcome TEXT,
  samples_per_s REAL,
  samples_per_s_low REAL,
  samples_per_s_high REAL,
  peak_memory_bytes INTEGER,
  wall_ns INTEGER,
  steps INTEGER,
  message TEXT,
  result TEXT
);
)";

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <typename T>
std::optional<T> optional_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? std::nullopt
                                                 : std::optional<T>(found->template get<T>());
}

/// What has no column of its own: read back by finished(), of little use in a query.
Json result_json(const TrialResult& result) {
  return {{"memory_capacity_bytes", optional_json(result.memory_capacity_bytes)},
          {"data_wait_share", optional_json(result.data_wait_share)},
          {"ranks", result.ranks},
          {"observed", result.observed},
          {"failed_rank", result.failed_rank},
          {"start_up_ns", result.start_up.count()},
          {"stderr_tail", result.stderr_tail},
          {"notes", result.notes}};
}

void read_result_json(const Json& json, TrialResult& result) {
  result.memory_capacity_bytes = optional_of<uint64_t>(json, "memory_capacity_bytes");
  result.data_wait_share = optional_of<double>(json, "data_wait_share");
  result.ranks = json.value("ranks", 0);
  result.observed = json.value("observed", Config{});
  result.failed_rank = json.value("failed_rank", -1);
  result.start_up = std::chrono::nanoseconds(json.value("start_up_ns", int64_t{0}));
  result.stderr_tail = json.value("stderr_tail", std::string());
  result.notes = json.value("notes", std::vector<std::string>());
}

struct IdentityPart {
  const char* key;
  const char* name;
  std::string value;
};

std::vector<IdentityPart> parts_of(const StudyIdentity& identity) {
  return {
      {"command", "command", dump(identity.command)},
      {"space", "search space", identity.space},
      {"memory_limit_bytes", "--memory-limit", dump(optional_json(identity.memory_limit_bytes))},
      {"metric", "--metric", identity.metric_regex},
      {"memory_metric", "--memory-metric", identity.memory_metric_regex}};
}

}  // namespace

Study::FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<Study::FileLock> Study::lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return tl::unexpected(fmt::format("{}: {}. Give --study a file in a folder that can be written",
                                      path, std::strerror(errno)));
  }
  FileLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(fmt::format(
        "{}: another autotune is using it. Wait for it, or give --study another file", path));
  }
  return lock;
}

Result<Study> Study::open(const std::string& path, const StudyIdentity& identity, bool resume) {
  Result<FileLock> file_lock = lock(path);
  if (!file_lock) return tl::unexpected(file_lock.error());
  Result<Database> database = Database::open(path);
  if (!database) {
    return tl::unexpected(fmt::format("{}: {}. Give --study another file", path, database.error()));
  }
  Study study(*std::move(file_lock), *std::move(database), path);
  if (auto ready = study.prepare(identity, resume); !ready) {
    return tl::unexpected(fmt::format("{}: {}", path, ready.error()));
  }
  return study;
}

Result<Study> Study::open_to_read(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return tl::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  Result<Database> database = Database::open(path);
  if (!database) return tl::unexpected(fmt::format("{}: {}", path, database.error()));
  Study study(FileLock(-1), *std::move(database), path);
  bool empty = false;
  if (auto known = study.check_version(empty); !known) {
    return tl::unexpected(fmt::format("{}: {}", path, known.error()));
  }
  if (empty) return tl::unexpected(path + ": it is empty, no study");
  return study;
}

Result<StudyIdentity> Study::identity() const {
  std::map<std::string, std::string> values;
  Statement row = database_.prepare("SELECT key, value FROM study");
  for (;;) {
    const Result<bool> more = row.step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    values[row.text(0)] = row.text(1);
  }
  const Json command = Json::parse(values["command"], nullptr, false);
  const Json limit = Json::parse(values["memory_limit_bytes"], nullptr, false);
  if (!command.is_array()) return tl::unexpected(std::string("its command cannot be read"));
  StudyIdentity identity{.command = {},
                         .space = values["space"],
                         .memory_limit_bytes = {},
                         .metric_regex = values["metric"],
                         .memory_metric_regex = values["memory_metric"]};
  for (const Json& word : command) {
    identity.command.push_back(word.is_string() ? word.get<std::string>() : word.dump());
  }
  if (limit.is_number_unsigned()) identity.memory_limit_bytes = limit.get<uint64_t>();
  return identity;
}

Result<void> Study::check_version(bool& empty) const {
  Statement version = database_.prepare(
      "SELECT user_version, application_id, "
      "(SELECT count(*) FROM sqlite_master) "
      "FROM pragma_user_version, pragma_application_id");
  if (const auto row = version.step(); !row) return tl::unexpected(row.error());
  empty = version.integer(2) == 0;
  if (!empty && version.integer(1) != kApplicationId) {
    return tl::unexpected(std::string("a database, but no study. Give --study another file"));
  }
  if (!empty && version.integer(0) != kVersion) {
    return tl::unexpected(fmt::format(
        "a study of version {}, this autotune reads version {}. Give --study another file",
        version.integer(0), kVersion));
  }
  return {};
}

Result<void> Study::prepare(const StudyIdentity& identity, bool resume) {
  bool empty = false;
  if (auto known = check_version(empty); !known) return known;
  if (empty) {
    // One transaction: killed in the middle of it, the file is empty again.
    std::string sql = "BEGIN IMMEDIATE;";
    sql += kSchema;
    sql += fmt::format("PRAGMA user_version={}; PRAGMA application_id={}; COMMIT", kVersion,
                       kApplicationId);
    if (auto made = database_.execute(sql); !made) return made;
  }

  const Result<int64_t> trials = count("1");
  const Result<int64_t> successes = count("outcome='ok'");
  if (!trials || !successes) return tl::unexpected(trials ? successes.error() : trials.error());
  if (*trials > 0 && !resume && *successes == 0) {
    if (auto dropped = database_.execute("DELETE FROM trials"); !dropped) return dropped;
    dropped_failures_ = *trials;
  } else if (*trials > 0) {
    if (!resume) {
      return tl::unexpected(
          fmt::format("has {} trial{} already. --resume goes on with them; "
                      "--study takes another file",
                      *trials, *trials == 1 ? "" : "s"));
    }
    if (auto same = check_identity(identity); !same) return same;
    return database_.execute("UPDATE trials SET state='interrupted' WHERE state='started'");
  }
  return write_identity(identity);
}

Result<void> Study::write_identity(const StudyIdentity& identity) {
  for (const IdentityPart& part : parts_of(identity)) {
    auto written = database_.prepare("INSERT OR REPLACE INTO study VALUES (?, ?)")
                       .bind(1, std::string(part.key))
                       .bind(2, part.value)
                       .run();
    if (!written) return written;
  }
  return {};
}

Result<void> Study::check_identity(const StudyIdentity& identity) const {
  for (const IdentityPart& part : parts_of(identity)) {
    Statement stored = database_.prepare("SELECT value FROM study WHERE key=?");
    const Result<bool> row = stored.bind(1, std::string(part.key)).step();
    if (!row) return tl::unexpected(row.error());
    if (*row && stored.text(0) == part.value) continue;
    return tl::unexpected(
        fmt::format("its trials had another {} ({}), so they say nothing about this one. Give the "
                    "same again, or --study another file",
                    part.name, *row ? stored.text(0) : "none"));
  }
  return {};
}

Result<int64_t> Study::count(const std::string& condition) const {
  Statement statement = database_.prepare("SELECT count(*) FROM trials WHERE " + condition);
  if (const auto row = statement.step(); !row) return tl::unexpected(row.error());
  return statement.integer(0);
}

Result<int64_t> Study::interrupted_count() const { return count("state='interrupted'"); }

Result<std::vector<FinishedTrial>> Study::finished() const {
  std::vector<FinishedTrial> trials;
  Statement row = database_.prepare(
      "SELECT id, config, why, outcome, samples_per_s, samples_per_s_low, samples_per_s_high, "
      "peak_memory_bytes, wall_ns, steps, message, result FROM trials "
      "WHERE state='finished' ORDER BY finish_order");
  for (;;) {
    const Result<bool> more = row.step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return trials;
    FinishedTrial trial{.id = row.integer(0), .config = {}, .why = row.text(2), .result = {}};
    const Json config = Json::parse(row.text(1), nullptr, false);
    const Json rest = Json::parse(row.text(11), nullptr, false);
    const std::optional<Outcome> outcome = outcome_from_string(row.text(3));
    if (!config.is_object() || !rest.is_object() || !outcome) {
      return tl::unexpected(
          fmt::format("trial {} cannot be read. Give --study another file", trial.id));
    }
    trial.config = config.get<Config>();
    read_result_json(rest, trial.result);
    trial.result.outcome = *outcome;
    if (!row.is_null(4)) {
      trial.result.throughput =
          Throughput{.samples_per_s = row.real(4), .low = row.real(5), .high = row.real(6)};
    }
    if (!row.is_null(7)) trial.result.peak_memory_bytes = static_cast<uint64_t>(row.integer(7));
    trial.result.wall = std::chrono::nanoseconds(row.integer(8));
    trial.result.steps = row.integer(9);
    trial.result.message = row.text(10);
    trials.push_back(std::move(trial));
  }
}

Result<int64_t> Study::start(const Proposal& proposal) {
  auto written =
      database_.prepare("INSERT INTO trials (state, config, why) VALUES ('started', ?, ?)")
          .bind(1, dump(proposal.config))
          .bind(2, proposal.why)
          .run();
  if (!written) return tl::unexpected(fmt::format("{}: {}", path_, written.error()));
  return database_.last_id();
}

Result<void> Study::finish(int64_t id, const TrialResult& result) {
  Statement update = database_.prepare(
      "UPDATE trials SET state='finished', "
      "finish_order=(SELECT 1 + coalesce(max(finish_order), 0) FROM trials), outcome=?2, "
      "samples_per_s=?3, samples_per_s_low=?4, samples_per_s_high=?5, peak_memory_bytes=?6, "
      "wall_ns=?7, steps=?8, message=?9, result=?10 WHERE id=?1");
  update.bind(1, id).bind(2, std::string(to_string(result.outcome)));
  if (const auto& rate = result.throughput) {
    update.bind(3, rate->samples_per_s).bind(4, rate->low).bind(5, rate->high);
  }
  if (const auto& peak = result.peak_memory_bytes) update.bind(6, static_cast<int64_t>(*peak));
  auto written = update.bind(7, int64_t{result.wall.count()})
                     .bind(8, result.steps)
                     .bind(9, result.message)
                     .bind(10, dump(result_json(result)))
                     .run();
  if (!written) return tl::unexpected(fmt::format("{}: {}", path_, written.error()));
  return {};
}

Result<void> Study::interrupt(int64_t id) {
  return database_.prepare("UPDATE trials SET state='interrupted' WHERE id=?").bind(1, id).run();
}

std::string Study::trial_directory(int64_t id) const {
  const std::filesystem::path path(path_);
  const std::filesystem::path stem = path.extension() == ".db" ? path.stem() : path.filename();
  return (path.parent_path() / (stem.string() + ".trials") / std::to_string(id)).string();
}

}  // namespace redline::tuner
