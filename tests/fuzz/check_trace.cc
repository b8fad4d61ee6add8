#include "tests/fuzz/check_trace.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "trace/read/args.h"
#include "trace/read/reader.h"
#include "trace/read/text_cursor.h"

namespace redline::fuzz {
namespace {

using trace::SliceId;
using trace::Trace;

std::string broken_columns(const Trace& trace) {
  const auto& slices = trace.slices();
  const size_t count = trace.slice_count();
  for (const size_t size :
       {slices.end_ns.size(), slices.name.size(), slices.category.size(), slices.lane.size(),
        slices.correlation.size(), slices.text_offset.size()}) {
    if (size != count) return "a column of another length";
  }
  for (size_t i = 0; i < count; ++i) {
    if (slices.end_ns[i] < slices.begin_ns[i]) return "a slice that ends before it begins";
    if (slices.begin_ns[i] < trace.begin_ns() || slices.end_ns[i] > trace.end_ns()) {
      return "a slice outside the trace's span";
    }
    if (slices.name[i].value >= trace.string_count()) return "a name without text";
  }
  return "";
}

std::string broken_lanes(const Trace& trace) {
  const auto& slices = trace.slices();
  size_t next = 0;
  for (const trace::Lane& lane : trace.lanes()) {
    if (lane.first.value != next) return "lanes that are not contiguous";
    if (lane.track.value >= trace.tracks().size()) return "a lane without a track";
    for (size_t i = next; i < next + lane.count; ++i) {
      if (i > next && slices.begin_ns[i] < slices.end_ns[i - 1]) return "slices overlap in a lane";
      if (trace.lanes().data() + slices.lane[i].value != &lane) return "a slice in another lane";
    }
    next += lane.count;
  }
  return next == trace.slice_count() ? "" : "slices outside all lanes";
}

std::string broken_text(const Trace& trace) {
  trace::TextCursor cursor(trace);
  for (uint32_t i = 0; i < trace.slice_count(); ++i) {
    const std::string passing(cursor.event_text(trace.slices().text_offset[i]));
    const std::string_view text = event_text(trace, SliceId{i});
    if (text.empty() || text.front() != '{') return "the text of a slice is no event";
    if (text != passing) return "the text of a slice is not the same twice";
    const trace::Args args(trace, SliceId{i});
    (void)trace::to_number(args.raw("bytes"));
    (void)args.text("name");
  }
  for (const trace::Instant& instant : trace.instants()) {
    const std::string_view text = event_text(trace, instant.text_offset);
    if (text.empty() || text.front() != '{') return "the text of an instant is no event";
  }
  return "";
}

std::string broken_links(const Trace& trace) {
  for (const trace::Flow& flow : trace.flows()) {
    if (flow.from.value >= trace.slice_count() || flow.to.value >= trace.slice_count()) {
      return "a flow to no slice";
    }
  }
  for (const trace::Counter& counter : trace.counters()) {
    if (counter.time_ns.size() != counter.value.size()) return "a counter of two lengths";
  }
  return "";
}

}  // namespace

std::string broken_promise(const Trace& trace) {
  for (const auto check : {broken_columns, broken_lanes, broken_text, broken_links}) {
    if (std::string broken = check(trace); !broken.empty()) return broken;
  }
  return "";
}

std::shared_ptr<const Trace> read_bytes(std::string_view bytes) {
  const int file = ::memfd_create("trace", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + at, bytes.size() - at);
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  trace::ReadOptions options;
  // Small blocks, so that even short inflated text is forgotten and inflated again.
  options.text_block_bytes = 4096;
  auto trace = trace::read_trace("/proc/self/fd/" + std::to_string(file), options);
  ::close(file);
  if (trace) return *trace;
  require_none(trace.error().message.empty() ? "a refusal without a sentence" : "");
  return nullptr;
}

void require_none(const std::string& what) {
  if (what.empty()) return;
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

}  // namespace redline::fuzz
