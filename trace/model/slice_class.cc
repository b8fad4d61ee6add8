#include "trace/model/slice_class.h"

namespace redline::trace {
namespace {

SliceClass class_of_host_name(std::string_view name, SliceClass otherwise) {
  const uint8_t kinds = name_kinds(name);
  if ((kinds & kDataLoaderName) != 0) return SliceClass::kDataLoader;
  const bool communicates = (kinds & (kCommunicationOpName | kCommunicationCallName)) != 0;
  return communicates ? SliceClass::kCommunication : otherwise;
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
      return is_communication_kernel(name) ? SliceClass::kCommunication : SliceClass::kCompute;
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

NameKinds::NameKinds(const Trace& trace) : kinds_(trace.string_count()) {
  for (uint32_t i = 0; i < kinds_.size(); ++i) kinds_[i] = name_kinds(trace.string(StringId{i}));
}

}  // namespace redline::trace
