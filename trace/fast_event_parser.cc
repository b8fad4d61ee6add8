#include <cstring>
#include <vector>

#include "trace/event_parser.h"
#include "trace/event_scanner.h"
#include "trace/event_shapes.h"

namespace redline::trace {
namespace {

// Blocks are read whole, so this much must be readable behind the last event.
constexpr size_t kPadding = EventShape::kMaxFixedBytes + Block64::kBytes;

}  // namespace

ParseStop FastEventParser::parse(std::string_view text, size_t from, size_t to, EventSink& sink) {
  const char* begin = text.data() + from;
  if (to + kPadding > text.size()) {
    padded_.assign(begin, begin + (to - from));
    padded_.resize(to - from + kPadding, '\0');
    begin = padded_.data();
  }
  SoundEventScanner scanner(begin, begin + (to - from));
  const auto position = [&] { return from + static_cast<size_t>(scanner.at() - begin); };

  ParseStop stop{from, false, false};
  scanner.skip_space();
  bool comma = scanner.skip(',');
  bool may_go_on = true;
  scanner.skip_space();
  while (!scanner.ended()) {
    if (scanner.skip(']')) {
      if (comma) return stop;
      return {position(), true, true};
    }
    RawEvent event;
    event.offset = position();
    if (!may_go_on) return stop;
    if (!shapes_.match(scanner, event)) {
      const char* const opening = scanner.at();
      if (!scanner.event(event)) return stop;
      shapes_.learn(event, {opening, static_cast<size_t>(scanner.at() - opening)});
    }
    sink.add(event);
    stop.at = position();
    scanner.skip_space();
    comma = may_go_on = scanner.skip(',');
    scanner.skip_space();
  }
  return {to, false, true};
}

}  // namespace redline::trace
