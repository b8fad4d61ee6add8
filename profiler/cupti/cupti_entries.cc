// Writes what is known of the GPU activity into the trace, and warns the user where some is
// missing.
#include <cstdio>

#include "profiler/cupti/cupti_source.h"
#include "trace/emit/text_buffer.h"

namespace redline::cupti {

std::string CuptiSource::counts_json(bool is_over) const {
  const BufferPool& pool = shared_state().pool;
  std::string json = "{\"dropped\": " + std::to_string(dropped_);
  const auto add = [&json](const char* name, uint64_t number) {
    json += std::string(", \"") + name + "\": " + std::to_string(number);
  };
  add("buffers_refused", pool.refused() - refused_before_);
  add("foreign_buffers", pool.foreign() - foreign_before_);
  add("incomplete", reader_->progress().incomplete);
  add("incomplete_surges", surges_);
  if (is_over) {
    const Activities& activities = reader_->activities();
    const ActivityCounts& counts = activities.counts();
    add("records", counts.decoded.records);
    add("unknown", counts.decoded.unknown);
    add("truncated", counts.decoded.truncated);
    add("other_clock", counts.other_clock);
    add("without_call", counts.without_call);
    add("begun_before_call", counts.begun_before_call);
    add("graph_launches", activities.graph_launches().count());
    add("graph_launches_without_work", activities.graph_launches().without_work());
    add("spooled_bytes", reader_->spooled_bytes());
    json += ", \"streams\": " + activities.streams_json();
  }
  const auto add_text = [&json](const char* name, const std::string& text) {
    if (!text.empty()) json += std::string(", \"") + name + "\": " + trace::json_string(text);
  };
  add_text("off_before", off_before_);
  add_text("off_after", off_after_);
  if (is_unanswered_) {
    add_text("failed_flush", "CUPTI or the driver did not answer when the process ended");
  } else if (failed_flush_ != kSuccess) {
    add_text("failed_flush", explain(*library_, failed_flush_));
  }
  if (!has_system_thread_ids_) json += R"(, "thread_ids": "not the system's")";
  return json + "}";
}

/// Without what is right only at the end, unless it `is_over`.
void CuptiSource::add_counts(bool is_over) {
  profiler::add_entry("redline", "{\"gpu\": " + counts_json(is_over) + "}");
}

/// A trace may be written when the GPU or the driver hangs, or CUDA has ended: by a flight
/// recorder, which goes on, or when the process ends. It has what was known at the last flush.
void CuptiSource::add_known_entries() {
  if (has_ring_) add_counts(false);
  if (DeviceTable::count() > 0) add_device_entries(told_devices_);
}

void CuptiSource::add_device_entries(DeviceTable& devices) {
  profiler::add_entry("deviceProperties", devices.to_json());
  profiler::add_entry("cupti_version", std::to_string(library_->version));
  if (const auto version = cuda_runtime_version()) {
    profiler::add_entry("cuda_runtime_version", std::to_string(*version));
  }
  if (const auto version = cuda_driver_version()) {
    profiler::add_entry("cuda_driver_version", std::to_string(*version));
  }
}

void CuptiSource::say_off(const std::string& why) {
  profiler::add_entry("redline", "{\"gpu\": {\"off\": " + trace::json_string(why) + "}}");
}

void CuptiSource::refuse(const std::string& why) {
  say_off(why);
  warn(kOff, "no GPU activity in the trace: " + why);
}

void CuptiSource::warn(Topic topic, const std::string& why) {
  if ((said_ & topic) == 0) std::fprintf(stderr, "redline: %s\n", why.c_str());
  said_ |= topic;
}

}  // namespace redline::cupti
