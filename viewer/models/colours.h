// Which colour a slice has by its name, and what the colours on the screen mean.
//
// The names that take the most time get the colours in turn, so that they differ from one another.
// There are more names than colours: all others get theirs by a hash of their letters, so that a
// name looks the same in every trace.
#pragma once

#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/lane_pixels.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {

struct LegendEntry {
  std::string words;
  uint8_t colour = 0;  ///< index of a theme's colour
};

class Colours {
 public:
  Colours() = default;
  Colours(const Session& session, const trace::Report& report, const DerivedTracks& derived);

  /// The classes that occur in the session.
  [[nodiscard]] const std::vector<LegendEntry>& classes() const { return classes_; }
  /// The names that take the most time: a kernel, an operator, and so on in turn.
  [[nodiscard]] const std::vector<LegendEntry>& names() const { return names_; }

  /// Recolours what was drawn of a lane: by name instead of by class.
  void colour_by_name(LanePixels& pixels, uint32_t trace, const trace::Trace& source,
                      const trace::Lane& lane) const;

 private:
  [[nodiscard]] uint8_t of(uint32_t trace, const trace::Trace& source, uint32_t slice) const;

  std::vector<LegendEntry> classes_;
  std::vector<LegendEntry> names_;
  std::vector<std::vector<uint8_t>> traces_;  ///< by StringId
};

}  // namespace redline::viewer
