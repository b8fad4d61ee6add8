#include "viewer/models/slice_class.h"

#include <array>

namespace redline::viewer {
namespace {

using trace::Category;

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

SliceClass class_of_host_name(std::string_view name, SliceClass otherwise) {
  if (starts_with_any(name, {"enumerate(DataLoader)"})) return SliceClass::kDataLoader;
  if (starts_with_any(name, {"nccl:", "gloo:", "mpi:", "ucc:", "c10d::", "record_param_comms"})) {
    return SliceClass::kCommunication;
  }
  return otherwise;
}

}  // namespace

SliceClass classify(Category category, std::string_view name) {
  switch (category) {
    case Category::kCpuOp:
      return class_of_host_name(name, SliceClass::kOperator);
    case Category::kUserAnnotation:
    case Category::kGpuUserAnnotation:
      return class_of_host_name(name, SliceClass::kAnnotation);
    case Category::kKernel:
      return starts_with_any(name, {"nccl"}) ? SliceClass::kCommunication : SliceClass::kCompute;
    case Category::kMemcpy:
    case Category::kMemset:
      return SliceClass::kCopy;
    case Category::kRuntime:
    case Category::kDriver:
    case Category::kSync:
      return SliceClass::kRuntime;
    case Category::kPythonFunction:
      return SliceClass::kPython;
    case Category::kOverhead:
      return SliceClass::kOverhead;
    case Category::kSpan:
    case Category::kOther:
      break;
  }
  return SliceClass::kOther;
}

std::vector<uint8_t> slice_classes(const trace::Trace& trace) {
  constexpr uint8_t kUnknown = 0xff;
  constexpr size_t kCategories = static_cast<size_t>(Category::kOther) + 1;
  // A name is looked at once a category: ten million events share some hundred names.
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
