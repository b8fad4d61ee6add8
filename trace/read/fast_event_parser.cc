#include "trace/read/event_parser.h"
#include "trace/read/sound_events.h"

namespace redline::trace {
namespace {

// Blocks are read whole, so this much must be readable behind the last event.
constexpr size_t kReadAhead = EventShape::kMaxFixedBytes + EventShape::kBlockBytes;

}  // namespace

ParseStop FastEventParser::parse(std::string_view text, size_t from, size_t to, EventSink& sink) {
  const char* begin = text.data() + from;
  if (to + kReadAhead > text.size()) {
    padded_.assign(begin, begin + (to - from));
    padded_.resize(to - from + kReadAhead, '\0');
    begin = padded_.data();
  }
  return sound_parsers().front().parse({begin, begin + (to - from), from}, shapes_, sink);
}

}  // namespace redline::trace
