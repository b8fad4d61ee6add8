#include "trace/read/event_parser.h"

#include <array>

namespace redline::trace {
namespace {

#ifdef __x86_64__
constexpr std::array kParsers = {
    SoundParser{"avx512", parse_sound_events_avx512},
    SoundParser{"avx2", parse_sound_events_avx2},
    SoundParser{"baseline", parse_sound_events_baseline},
};

size_t fastest() {
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
                        __builtin_cpu_supports("pclmul") != 0;
  if (!has_avx2) return 2;
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 ? 0 : 1;
}
#else
constexpr std::array kParsers = {SoundParser{"baseline", parse_sound_events_baseline}};

size_t fastest() { return 0; }
#endif

// Blocks are read whole, so this much must be readable behind the last event.
constexpr size_t kReadAhead = EventShape::kMaxFixedBytes + EventShape::kBlockBytes;

}  // namespace

std::span<const SoundParser> sound_parsers() {
  static const size_t first = fastest();
  return std::span(kParsers).subspan(first);
}

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
