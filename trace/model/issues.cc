#include "trace/model/issues.h"

#include <algorithm>
#include <array>

namespace redline::trace {
namespace {

constexpr bool kLost = true;
constexpr bool kRepaired = false;

constexpr std::string_view kCopyAgain = "Copy the file again; of a killed job it is all there is.";
constexpr std::string_view kWriter = "Look at what wrote or changed the file.";
constexpr std::string_view kNotShown = "Open the file in Perfetto or chrome://tracing to see them.";
constexpr std::string_view kNothingToDo = "Nothing: the times are as they were recorded.";

constexpr auto kIssues = std::to_array<IssueInfo>({
    {Issue::kTextTooLarge, "text_too_large", kLost,
     "The text is larger than the memory and disk space that are free.",
     "Free disk space, or open the trace on a larger machine."},
    {Issue::kValueTooLong, "value_too_long", kLost,
     "An event or value exceeds 64 MB: it, or all behind it, is left out.",
     "Look where the file comes from: no profiler writes it."},
    {Issue::kGzipCut, "gzip_cut", kLost,
     "The compressed data is cut off; what came before the cut is read.", kCopyAgain},
    {Issue::kGzipDamaged, "gzip_damaged", kLost,
     "The compressed data is damaged; what came before is read.", kCopyAgain},
    {Issue::kGzipTrailingGarbage, "gzip_trailing_garbage", kLost,
     "Bytes that are not gzip follow the last member.", kCopyAgain},
    {Issue::kGzipChecksumWrong, "gzip_checksum_wrong", kRepaired,
     "The checksum is wrong; what was inflated is kept.", kCopyAgain},
    {Issue::kZstdCut, "zstd_cut", kLost,
     "The compressed data is cut off; what came before the cut is read.", kCopyAgain},
    {Issue::kZstdDamaged, "zstd_damaged", kLost,
     "The compressed data is damaged; what came before is read.", kCopyAgain},
    {Issue::kObjectWithoutEnd, "object_without_end", kRepaired,
     "The outermost object ends with the text.", kCopyAgain},
    {Issue::kArrayWithoutEnd, "array_without_end", kRepaired,
     "The list of events ends with the text: a job or a copy was cut off.", kCopyAgain},
    {Issue::kArrayEndedEarly, "array_ended_early", kRepaired,
     "Events follow the list's \"]\"; they are read as well.", kWriter},
    {Issue::kTopLevelMalformed, "top_level_malformed", kLost,
     "Something in the outermost object is not a member of it.", kWriter},
    {Issue::kTopLevelValueMalformed, "top_level_value_malformed", kLost,
     "A top-level value is not JSON.", kWriter},
    {Issue::kTextBehindEnd, "text_behind_end", kLost, "Other text follows the end of the trace.",
     kWriter},
    {Issue::kBaseTimeOutOfRange, "base_time_out_of_range", kRepaired,
     "baseTimeNanoseconds is no number within 73 years of 0: 0 is taken.", kWriter},
    {Issue::kEventCut, "event_cut", kLost, "The text ends within an event.", kCopyAgain},
    {Issue::kEventMalformed, "event_malformed", kLost,
     "It cannot be told where an event's members begin and end.", kWriter},
    {Issue::kNotAnEvent, "not_an_event", kLost,
     "The list of events holds something that is not an object.", kWriter},
    {Issue::kEventWithoutClosingBrace, "event_without_closing_brace", kRepaired,
     "An event has no \"}\"; the next event ends it.", kWriter},
    {Issue::kMissingComma, "missing_comma", kRepaired, "A comma is missing; it is taken as there.",
     kNothingToDo},
    {Issue::kExtraComma, "extra_comma", kRepaired, "There is a comma too many; it is passed over.",
     kNothingToDo},
    {Issue::kTrailingComma, "trailing_comma", kRepaired,
     "A comma stands before the end of the list; it is passed over.", kNothingToDo},
    {Issue::kUnescapedQuote, "unescaped_quote", kRepaired,
     "A name holds a quote without a backslash (torch 2.11 writes them so).", kNothingToDo},
    {Issue::kUnmatchedBracket, "unmatched_bracket", kRepaired,
     "Brackets in a value do not match; the outermost ones count.", kWriter},
    {Issue::kControlCharacter, "control_character", kRepaired,
     "A text holds a control character; it is kept.", kNothingToDo},
    {Issue::kInvalidUtf8, "invalid_utf8", kRepaired,
     "A text holds bytes that are not Unicode; they become U+FFFD.", kNothingToDo},
    {Issue::kEventWithoutPhase, "event_without_phase", kLost,
     "An event has no \"ph\", so its kind is unknown.", kWriter},
    {Issue::kEventWithoutName, "event_without_name", kRepaired,
     "An event has no name; its name is empty.", kWriter},
    {Issue::kEventWithoutTs, "event_without_ts", kLost,
     "An event has no \"ts\", so it has no place in time.", kWriter},
    {Issue::kTimeNotANumber, "time_not_a_number", kLost,
     "\"ts\" or \"dur\" is not a number, or over 73 years from 0.", kWriter},
    {Issue::kTimeAsString, "time_as_string", kRepaired,
     "A time is written as a text; the number in it is taken.", kNothingToDo},
    {Issue::kSliceWithoutDur, "slice_without_dur", kRepaired,
     "A slice has no \"dur\"; it lasts 0 ns.", kWriter},
    {Issue::kNegativeDur, "negative_dur", kRepaired,
     "A slice has a negative \"dur\"; it lasts 0 ns.", kWriter},
    {Issue::kBeginWithoutEnd, "begin_without_end", kRepaired,
     "A \"B\" event is never closed; it lasts as long as its thread.", kCopyAgain},
    {Issue::kEndWithoutBegin, "end_without_begin", kLost, "An \"E\" event closes nothing.",
     kWriter},
    {Issue::kAsyncBeginWithoutEnd, "async_begin_without_end", kRepaired,
     "A \"b\" or \"S\" event is never closed; it lasts as long as its row.", kCopyAgain},
    {Issue::kAsyncEndWithoutBegin, "async_end_without_begin", kLost,
     "An \"e\" or \"F\" event closes nothing.", kWriter},
    {Issue::kCounterNotANumber, "counter_not_a_number", kLost,
     "A value of a counter is not a number.", kWriter},
    {Issue::kObjectNotShown, "object_not_shown", kLost,
     "Object events (\"N\", \"O\", \"D\") are counted, not shown.", kNotShown},
    {Issue::kSampleNotShown, "sample_not_shown", kLost,
     "Samples (\"P\" events, the list \"samples\") are counted, not shown.", kNotShown},
    {Issue::kMemoryDumpNotShown, "memory_dump_not_shown", kLost,
     "Memory dumps (\"v\", \"V\") are counted, not shown.", kNotShown},
    {Issue::kClockSyncNotShown, "clock_sync_not_shown", kLost,
     "Clock synchronisations (\"c\") are counted, not shown.", kNotShown},
    {Issue::kContextNotShown, "context_not_shown", kLost,
     "Contexts (\"(\", \")\") are counted, not shown.", kNotShown},
    {Issue::kLinkedIdNotShown, "linked_id_not_shown", kLost,
     "Linked ids (\"=\") are counted, not shown.", kNotShown},
    {Issue::kPhaseUnknown, "phase_unknown", kLost,
     "An event's \"ph\" is one that no version of the format has.", kWriter},
});

static_assert([] {
  for (size_t i = 0; i < kIssues.size(); ++i) {
    if (static_cast<size_t>(kIssues[i].issue) != i) return false;
  }
  return static_cast<size_t>(Issue::kPhaseUnknown) + 1 == kIssues.size();
}());

}  // namespace

std::span<const IssueInfo> issue_table() { return kIssues; }

void IssueLog::add(Issue issue, uint64_t offset, uint64_t count) {
  const auto found = std::ranges::find(issues_, issue, &LoadIssue::issue);
  if (found == issues_.end()) {
    issues_.push_back({issue, count, offset});
    return;
  }
  found->count += count;
  found->first_offset = std::min(found->first_offset, offset);
}

void IssueLog::add(const IssueLog& other) {
  for (const LoadIssue& issue : other.issues_) add(issue.issue, issue.first_offset, issue.count);
}

uint64_t IssueLog::count(Issue issue) const {
  const auto found = std::ranges::find(issues_, issue, &LoadIssue::issue);
  return found == issues_.end() ? 0 : found->count;
}

}  // namespace redline::trace
