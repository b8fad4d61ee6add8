#include "profiler/cupti/stream_names.h"

#include "profiler/cupti/device_table.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"

namespace redline::cupti {

StreamNames& stream_names() {
  static auto* const names = new StreamNames;  // never destroyed: CUDA may be in use until the end
  return *names;
}

const Library* StreamNames::library() {
  if (!library_) {
    if (auto found = find_library()) library_ = std::move(*found);
  }
  return library_ && library_->stream_id != nullptr && library_->device_id != nullptr ? &*library_
                                                                                      : nullptr;
}

void StreamNames::add(void* stream, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const Library* cupti = library();
  void* context = context_of_stream(stream);
  if (cupti == nullptr || context == nullptr) return;
  uint32_t number = 0;
  uint32_t device = 0;
  if (cupti->stream_id(nullptr, stream, 0, &number) != kSuccess) return;
  if (cupti->device_id(context, &device) != kSuccess) return;
  if (names_.size() < kMost) names_.insert_or_assign({device, number}, name);
}

void StreamNames::deliver_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [place, name] : names_) {
    profiler::Record record;
    record.kind = profiler::RecordKind::kStreamName;
    record.begin_ns = monotonic_ns();
    record.device_index = static_cast<int8_t>(place.first);
    record.name = profiler::intern_name(name);
    profiler::CudaFields fields;
    fields.end_ns = record.begin_ns;
    fields.lane = place.second;
    record.of = fields;
    profiler::deliver(record);
  }
}

}  // namespace redline::cupti

void redline::profiler::name_stream(void* stream, const std::string& name) noexcept {
  try {
    cupti::stream_names().add(stream, name);
  } catch (const std::exception&) {
    // No memory: the trace shows the stream's number instead.
  }
}
