// What sound_events.h promises, in the namespace REDLINE_SIMD; only sound_events_*.cc include it.
//
// Nothing here instantiates code of the standard library that other files have, too: the linker
// would take either, and the wrong one does not run on every processor.
#pragma once

#include "trace/event_scanner.h"
#include "trace/sound_events.h"

namespace redline::trace::REDLINE_SIMD {

class SoundEvents {
 public:
  SoundEvents(SoundText text, EventShapes& shapes, EventSink& sink)
      : text_(text), scanner_(text.begin, text.end), shapes_(shapes), sink_(sink) {}

  ParseStop parse() {
    ParseStop stop{text_.offset, false, false};
    scanner_.skip_space();
    bool comma = scanner_.skip(',');
    bool may_go_on = true;
    scanner_.skip_space();
    while (!scanner_.ended()) {
      if (scanner_.skip(']')) {
        if (comma) return stop;
        return {position(), true, true};
      }
      if (!may_go_on || !read_event()) return stop;
      stop.at = position();
      scanner_.skip_space();
      comma = may_go_on = scanner_.skip(',');
      scanner_.skip_space();
    }
    stop.at = text_.offset + static_cast<size_t>(text_.end - text_.begin);
    stop.sound = true;
    return stop;
  }

 private:
  [[nodiscard]] size_t position() const {
    return text_.offset + static_cast<size_t>(scanner_.at() - text_.begin);
  }

  bool read_event() {
    const size_t offset = position();
    if (match_a_shape(offset)) return true;
    const char* const opening = scanner_.at();
    RawEvent event;
    event.offset = offset;
    if (!scanner_.event(event)) return false;
    shapes_.learn(event, {opening, static_cast<size_t>(scanner_.at() - opening)});
    sink_.add(event);
    return true;
  }

  bool match_a_shape(size_t offset) {
    if (shapes_.size() == 0) return false;
    const size_t expected = shapes_.expected();
    if (match(expected, offset)) return true;
    for (size_t i = 0; i < shapes_.size(); ++i) {
      if (i != expected && match(i, offset)) return true;
    }
    return false;
  }

  // Takes the event if it has the shape; else the scanner does not move.
  bool match(size_t index, size_t offset) {
    const EventShape& shape = shapes_[index];
    const SoundEventScanner start = scanner_;
    RawEvent event;
    if (!match_pieces(shape, event) || !scanner_.is_inside()) {
      scanner_ = start;
      return false;
    }
    event.offset = offset;
    event.phase = shape.phase;
    event.category = shape.category;
    shapes_.came(index);
    sink_.add(event);
    return true;
  }

  bool match_pieces(const EventShape& shape, RawEvent& event) {
    for (const EventShape::Piece& piece : shape.pieces) {
      if (scanner_.ended() ||
          !scanner_.skip_fixed(shape.fixed.data() + piece.fixed_begin, piece.fixed_bytes)) {
        return false;
      }
      if (piece.value == nullptr) return true;
      std::string_view& token = event.*piece.value;
      if (!scanner_.value(token)) return false;
      if (piece.value == &RawEvent::args && token[0] != '{') return false;
    }
    return true;
  }

  SoundText text_;
  SoundEventScanner scanner_;
  EventShapes& shapes_;
  EventSink& sink_;
};

}  // namespace redline::trace::REDLINE_SIMD
