#include "tuner/command/traces.h"

#include <algorithm>

#include "trace/read/reader.h"
#include "trace/report/report.h"
#include "tuner/space/hook_knobs.h"

namespace redline::tuner {

tl::expected<std::vector<std::string>, std::string> advised_knobs(const std::string& path) {
  const auto traces = trace::read_traces({path});
  if (!traces) return tl::unexpected(traces.error().message);
  std::vector<std::string> knobs;
  for (const trace::Finding& finding : trace::make_report(*traces).findings) {
    const bool known = std::ranges::find(knobs, finding.knob) != knobs.end();
    if (!finding.knob.empty() && !known) knobs.push_back(finding.knob);
  }
  return knobs;
}

void put_advised_first(Space& space, const std::vector<std::string>& advised, bool may_add,
                       const Machine& machine) {
  auto place = space.knobs.begin();
  for (const std::string& text : advised) {
    const auto knob = parse_knob(text);
    if (!knob) continue;
    space.advised.push_back(knob->name);
    const auto found = std::find_if(place, space.knobs.end(),
                                    [&](const Knob& own) { return own.name == knob->name; });
    if (found != space.knobs.end()) {
      std::rotate(place, found, found + 1);
      ++place;
      continue;
    }
    const HookKnob* hook = find_hook_knob(knob->name);
    if (space.find(knob->name) || (hook && hook->needs_gpu && !machine.gpu)) continue;
    if (may_add) {
      place = space.knobs.insert(place, *knob) + 1;
    } else {
      space.left_out.push_back(knob->name +
                               " left out: the report advises it, but no --knob names it");
    }
  }
}

}  // namespace redline::tuner
