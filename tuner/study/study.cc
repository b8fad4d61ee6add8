#include "tuner/study/study.h"

#include <fmt/format.h>

#include <filesystem>

#include "tuner/study/study_rows.h"

namespace redline::tuner {
namespace {

/// The folder in which the study at `path` keeps the output of its trials.
std::string trials_directory(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path stem = file.extension() == ".db" ? file.stem() : file.filename();
  return (file.parent_path() / (stem.string() + ".trials")).string();
}

}  // namespace

Result<int64_t> Study::count(const std::string& condition) const {
  Statement statement = database_.prepare("SELECT count(*) FROM trials WHERE " + condition);
  if (const auto row = statement.step(); !row) return tl::unexpected(row.error());
  return statement.integer(0);
}

Result<int64_t> Study::interrupted_count() const { return count("state='interrupted'"); }

Result<std::vector<FinishedTrial>> Study::finished(size_t known) const {
  std::vector<FinishedTrial> trials;
  Statement row = database_.prepare(fmt::format(
      "SELECT {} FROM trials WHERE state='finished' AND finish_order > ? ORDER BY finish_order",
      kTrialColumns));
  row.bind(1, static_cast<int64_t>(known));
  const auto keep = [&](FinishedTrial&& trial) { trials.push_back(std::move(trial)); };
  return row.each([&] { return read_trial(row).map(keep); }).map([&] { return std::move(trials); });
}

Result<void> Study::free_orphans(const Transaction& transaction) {
  const Result<std::vector<int64_t>> orphans = claims_.orphans(transaction);
  if (!orphans) return tl::unexpected(orphans.error());
  for (const int64_t trial : *orphans) {
    if (auto marked = mark_interrupted(transaction, trial); !marked) return marked;
  }
  return {};
}

Result<std::vector<RunningTrial>> Study::running() const {
  std::vector<RunningTrial> trials;
  Statement row =
      database_.prepare("SELECT id, config, why FROM trials WHERE state='started' ORDER BY id");
  const auto keep = [&] {
    if (auto config = read_config_column(row.text(1))) {
      trials.push_back({row.integer(0), {*std::move(config), row.text(2)}});
    }
  };
  return row.each(keep).map([&] { return std::move(trials); });
}

Result<int64_t> Study::insert_started(const Transaction& transaction, const Proposal& proposal) {
  auto written = transaction.database()
                     .prepare("INSERT INTO trials (state, config, why) VALUES ('started', ?, ?)")
                     .bind(1, config_column(proposal.config))
                     .bind(2, proposal.why)
                     .run();
  if (!written) return tl::unexpected(written.error());
  const int64_t id = database_.last_id();
  if (auto claimed = claims_.add(transaction, id); !claimed) return tl::unexpected(claimed.error());
  return id;
}

Result<Study::Claim> Study::claim(
    size_t known, const std::function<void(FinishedTrial)>& add,
    const std::function<std::optional<Proposal>(const std::vector<Proposal>& running)>& ask) {
  const auto error = [this](const std::string& what) {
    return tl::unexpected(fmt::format("{}: {}", path_, what));
  };
  auto transaction = Transaction::begin(database_);
  if (!transaction) return error(transaction.error());
  if (auto freed = free_orphans(*transaction); !freed) return error(freed.error());
  auto news = finished(known);
  auto runs = running();
  if (!news || !runs) return error(news ? runs.error() : news.error());
  for (FinishedTrial& trial : *news) add(std::move(trial));

  Claim claim{.mine = {}, .running = *std::move(runs)};
  std::vector<Proposal> proposals;
  for (const RunningTrial& trial : claim.running) proposals.push_back(trial.proposal);
  if (const std::optional<Proposal> proposal = ask(proposals)) {
    const Result<int64_t> id = insert_started(*transaction, *proposal);
    if (!id) return error(id.error());
    claim.mine = {*id, *proposal};
    claim.running.push_back(*claim.mine);
  }
  if (auto committed = transaction->commit(); !committed) return error(committed.error());
  return claim;
}

Result<void> Study::beat() {
  auto beaten = claims_.beat(database_);
  if (!beaten) return tl::unexpected(fmt::format("{}: {}", path_, beaten.error()));
  return beaten;
}

Result<int64_t> Study::start(const Proposal& proposal) {
  auto transaction = Transaction::begin(database_);
  if (!transaction) return tl::unexpected(transaction.error());
  const Result<int64_t> id = insert_started(*transaction, proposal);
  if (!id) return tl::unexpected(fmt::format("{}: {}", path_, id.error()));
  if (auto committed = transaction->commit(); !committed) return tl::unexpected(committed.error());
  return id;
}

Result<void> Study::finish(int64_t id, const TrialResult& result) {
  const auto error = [this](const std::string& what) {
    return tl::unexpected(fmt::format("{}: {}", path_, what));
  };
  auto transaction = Transaction::begin(database_);
  if (!transaction) return error(transaction.error());
  const Result<bool> mine = claims_.holds(*transaction, id);
  if (!mine) return error(mine.error());
  if (!*mine) return {};
  if (auto written = write_result(*transaction, id, result); !written)
    return error(written.error());
  if (auto freed = claims_.remove(*transaction, id); !freed) return error(freed.error());
  if (auto committed = transaction->commit(); !committed) return error(committed.error());
  return {};
}

Result<void> Study::write_result(const Transaction& transaction, int64_t id,
                                 const TrialResult& result) {
  Statement update = transaction.database().prepare(
      "UPDATE trials SET state='finished', "
      "finish_order=(SELECT 1 + coalesce(max(finish_order), 0) FROM trials), outcome=?2, "
      "samples_per_s=?3, samples_per_s_low=?4, samples_per_s_high=?5, peak_memory_bytes=?6, "
      "wall_ns=?7, steps=?8, message=?9, result=?10 WHERE id=?1");
  bind_result(update.bind(1, id), result);
  return update.run();
}

Result<void> Study::interrupt(int64_t id) {
  auto transaction = Transaction::begin(database_);
  if (!transaction) return tl::unexpected(transaction.error());
  const Result<bool> mine = claims_.holds(*transaction, id);
  if (!mine) return tl::unexpected(mine.error());
  if (!*mine) return {};
  if (auto marked = mark_interrupted(*transaction, id); !marked) return marked;
  return transaction->commit();
}

Result<void> Study::keep_why_ended(const std::string& sentence) {
  auto kept = database_.prepare("INSERT OR REPLACE INTO study (key, value) VALUES ('why_ended', ?)")
                  .bind(1, sentence)
                  .run();
  if (!kept) return tl::unexpected(fmt::format("{}: {}", path_, kept.error()));
  return kept;
}

Result<std::string> Study::why_ended() const {
  Statement row = database_.prepare("SELECT value FROM study WHERE key='why_ended'");
  const Result<bool> found = row.step();
  if (!found) return tl::unexpected(found.error());
  return *found ? row.text(0) : std::string();
}

Result<void> Study::mark_interrupted(const Transaction& transaction, int64_t id) {
  auto marked = transaction.database()
                    .prepare("UPDATE trials SET state='interrupted' WHERE id=? AND state='started'")
                    .bind(1, id)
                    .run();
  return marked ? claims_.remove(transaction, id) : marked;
}

std::string Study::trials_directory() const { return tuner::trials_directory(path_); }

std::string Study::trial_directory(int64_t id) const {
  return (std::filesystem::path(trials_directory()) / std::to_string(id)).string();
}

History StudyContent::history() const {
  History history(space, identity.searched_for());
  for (const FinishedTrial& trial : trials) history.add(trial);
  return history;
}

Result<StudyContent> read_study(const std::string& path) {
  Result<Study> study = Study::open_to_read(path);
  if (!study) return tl::unexpected(study.error());
  Result<StudyIdentity> identity = study->identity();
  if (!identity) return tl::unexpected(path + ": " + identity.error());
  auto space = parse_signature(identity->space);
  if (!space) return tl::unexpected(path + ": " + space.error());
  Result<std::vector<FinishedTrial>> trials = study->finished();
  if (!trials) return tl::unexpected(path + ": " + trials.error());
  Result<std::string> why_ended = study->why_ended();
  if (!why_ended) return tl::unexpected(path + ": " + why_ended.error());
  const Result<int64_t> interrupted = study->interrupted_count();
  if (!interrupted) return tl::unexpected(path + ": " + interrupted.error());
  for (const FinishedTrial& trial : *trials) learn_from(trial, *space);
  return StudyContent{.path = path,
                      .identity = *std::move(identity),
                      .space = *std::move(space),
                      .trials = *std::move(trials),
                      .interrupted = *interrupted,
                      .why_ended = *std::move(why_ended),
                      .trials_directory = trials_directory(path)};
}

}  // namespace redline::tuner
