#define REDLINE_SIMD avx512

#include "trace/read/sound_events_impl.h"

namespace redline::trace {

ParseStop parse_sound_events_avx512(SoundText text, EventShapes& shapes, EventSink& sink) {
  return avx512::SoundEvents(text, shapes, sink).parse();
}

}  // namespace redline::trace
