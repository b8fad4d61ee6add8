// What the reader had to repair or leave out of a file: the one table of names, sentences and
// cures.
//
// A broken file opens, and each kind of damage is counted with the place where it first happened:
// the report (text, JSON, page) and the viewer show these counts, so nothing is lost in silence.
// Names are part of the JSON and never change. A new issue is a row here and in docs/formats.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace redline::trace {

enum class Issue : uint8_t {
  kTextTooLarge,
  kValueTooLong,
  kGzipCut,
  kGzipDamaged,
  kGzipTrailingGarbage,
  kGzipChecksumWrong,
  kZstdCut,
  kZstdDamaged,
  kObjectWithoutEnd,
  kArrayWithoutEnd,
  kArrayEndedEarly,
  kTopLevelMalformed,
  kTopLevelValueMalformed,
  kTextBehindEnd,
  kBaseTimeOutOfRange,
  kEventCut,
  kEventMalformed,
  kNotAnEvent,
  kEventWithoutClosingBrace,
  kMissingComma,
  kExtraComma,
  kTrailingComma,
  kUnescapedQuote,
  kUnmatchedBracket,
  kControlCharacter,
  kInvalidUtf8,
  kEventWithoutPhase,
  kEventWithoutName,
  kEventWithoutTs,
  kTimeNotANumber,
  kTimeAsString,
  kSliceWithoutDur,
  kNegativeDur,
  kBeginWithoutEnd,
  kEndWithoutBegin,
  kAsyncBeginWithoutEnd,
  kAsyncEndWithoutBegin,
  kCounterNotANumber,
  kObjectNotShown,
  kSampleNotShown,
  kMemoryDumpNotShown,
  kClockSyncNotShown,
  kContextNotShown,
  kLinkedIdNotShown,
  kPhaseUnknown,
};

/// What an issue is called and what a user should know of it.
struct IssueInfo {
  Issue issue;
  std::string_view name;  ///< in the JSON: that of the enumerator, "event_cut" for kEventCut
  bool lost_data;  ///< true: an event or a value was left out; false: it was repaired and used
  std::string_view sentence;  ///< what was found, and what was made of it
  std::string_view advice;    ///< what to do
};

/// All issues, in the order of the enumerators.
[[nodiscard]] std::span<const IssueInfo> issue_table();

/// How often an issue was met in one file.
struct LoadIssue {
  Issue issue{};
  uint64_t count = 0;
  uint64_t first_offset = 0;  ///< byte offset in the (inflated) text

  [[nodiscard]] const IssueInfo& info() const { return issue_table()[static_cast<size_t>(issue)]; }
};

/// The issues of a file, in the order in which they were met first.
class IssueLog {
 public:
  void add(Issue issue, uint64_t offset, uint64_t count = 1);
  void add(const IssueLog& other);
  [[nodiscard]] uint64_t count(Issue issue) const;
  [[nodiscard]] std::vector<LoadIssue> take() { return std::move(issues_); }

 private:
  std::vector<LoadIssue> issues_;
};

}  // namespace redline::trace
