// What event_parser.h promises, in the namespace REDLINE_SIMD; only sound_events_*.cc include it.
//
// Nothing here instantiates code of the standard library that other files have, too: the linker
// would take either, and the wrong one does not run on every processor.
#pragma once

#include "trace/read/event_parser.h"
#include "trace/read/event_scanner.h"

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
    EventShape& shape = shapes_[index];
    const SoundEventScanner start = scanner_;
    RawEvent event;
    if (!match_pieces(shape, event) || !scanner_.is_inside()) {
      scanner_ = start;
      return false;
    }
    event.offset = offset;
    event.phase = shape.phase;
    event.category = shape.category;
    event.shape = &shape.facts;
    shapes_.came(index);
    sink_.add(event);
    return true;
  }

  bool match_pieces(EventShape& shape, RawEvent& event) {
    const char* owner_begin = nullptr;  // where pid and tid begin, if they are not the last event's
    if (shape.owner_piece == nullptr) shape.facts.track = ShapeFacts::kUnknown;
    for (const EventShape::Piece* piece = shape.pieces.data();; ++piece) {
      if (scanner_.ended()) return false;
      if (piece == shape.owner_piece) {
        if (match_owner(shape.owner, event)) {
          piece += 2;
          if (piece->value == nullptr) return true;
          if (!match_value(*piece, event)) return false;
          continue;
        }
        owner_begin = scanner_.at();
      }
      if (!scanner_.skip_fixed(shape.fixed.data() + piece->fixed_begin, piece->fixed_bytes)) {
        return false;
      }
      if (owner_begin != nullptr && piece == shape.owner_piece + 2) {
        shape.remember_owner(event,
                             {owner_begin, static_cast<size_t>(scanner_.at() - owner_begin)});
      }
      if (piece->value == nullptr) return true;
      if (!match_value(*piece, event)) return false;
    }
  }

  // Steps over the last event's pid and tid and the fixed text up to the next value, if they stand
  // here.
  bool match_owner(const EventShape::Owner& owner, RawEvent& event) {
    const char* const begin = scanner_.at();
    if (owner.bytes == 0 || !scanner_.skip_fixed(owner.text.data(), owner.bytes)) return false;
    event.pid = {begin + owner.pid_at, owner.pid_bytes};
    event.tid = {begin + owner.tid_at, owner.tid_bytes};
    return true;
  }

  bool match_value(const EventShape::Piece& piece, RawEvent& event) {
    std::string_view& token = event.*piece.value;
    int64_t time_ns = 0;
    if (piece.nanoseconds != nullptr && scanner_.kineto_time(token, time_ns)) {
      event.*piece.nanoseconds = time_ns;
      return true;
    }
    return scanner_.value(token) && (piece.value != &RawEvent::args || token[0] == '{');
  }

  SoundText text_;
  SoundEventScanner scanner_;
  EventShapes& shapes_;
  EventSink& sink_;
};

}  // namespace redline::trace::REDLINE_SIMD
