#include "viewer/models/slice_class.h"

#include <array>

namespace redline::viewer {

using trace::Category;

std::vector<uint8_t> slice_classes(const trace::Trace& trace) {
  constexpr uint8_t kUnknown = 0xff;
  constexpr size_t kCategories = static_cast<size_t>(Category::kOther) + 1;
  // Each name is judged only once for a category, because ten million events share some hundred
  // names.
  std::vector<std::array<uint8_t, kCategories>> known(trace.string_count());
  for (auto& entry : known) entry.fill(kUnknown);

  const trace::Slices& slices = trace.slices();
  std::vector<uint8_t> classes(trace.slice_count());
  for (size_t i = 0; i < classes.size(); ++i) {
    const Category category = slices.category[i];
    if (!slices.name[i]) {
      classes[i] = static_cast<uint8_t>(classify(category, {}));
      continue;
    }
    uint8_t& entry = known[slices.name[i].value][static_cast<size_t>(category)];
    if (entry == kUnknown) {
      entry = static_cast<uint8_t>(classify(category, trace.string(slices.name[i])));
    }
    classes[i] = entry;
  }
  return classes;
}

}  // namespace redline::viewer
