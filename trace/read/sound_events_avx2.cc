#define REDLINE_SIMD avx2

#include "trace/read/sound_events_impl.h"

namespace redline::trace {

ParseStop parse_sound_events_avx2(SoundText text, EventShapes& shapes, EventSink& sink) {
  return avx2::SoundEvents(text, shapes, sink).parse();
}

}  // namespace redline::trace
