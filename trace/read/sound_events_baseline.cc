#define REDLINE_SIMD baseline

#include "trace/read/sound_events_impl.h"

namespace redline::trace {

ParseStop parse_sound_events_baseline(SoundText text, EventShapes& shapes, EventSink& sink) {
  return baseline::SoundEvents(text, shapes, sink).parse();
}

}  // namespace redline::trace
