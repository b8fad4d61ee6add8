#include "trace/analysis/module_calls.h"

#include <algorithm>

#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr std::string_view kModule = "nn.Module: ";
constexpr std::string_view kCompiledRegion = "Torch-Compiled Region: ";
enum FrameKind : uint8_t { kNoCall, kModuleFrame, kCompiled, kAutograd };

FrameKind frame_kind_of(std::string_view name) {
  if (is_module_name(name)) return kModuleFrame;
  if (name.starts_with(kCompiledRegion)) return kCompiled;
  return name.starts_with(kAutogradNodeName) ? kAutograd : kNoCall;
}

bool is_call(Category category, uint8_t kind) {
  if (kind == kModuleFrame) return category == Category::kPythonFunction;
  return kind != kNoCall && is_host_node(category);
}

}  // namespace

bool is_module_name(std::string_view frame_name) { return frame_name.starts_with(kModule); }

bool has_modules(const Trace& trace) {
  for (uint32_t i = 0; i < trace.string_count(); ++i) {
    if (is_module_name(trace.string(StringId{i}))) return true;
  }
  return false;
}

ModuleCalls::ModuleCalls(const Trace& trace) : trace_(trace) {
  std::vector<uint8_t> kinds(trace.string_count());
  for (uint32_t i = 0; i < kinds.size(); ++i) kinds[i] = frame_kind_of(trace.string(StringId{i}));
  bounds_.resize(trace.tracks().size());
  for (uint32_t i = 0; i < bounds_.size(); ++i) {
    bounds_[i].first = changes_.size();
    add_track(trace.tracks()[i], kinds);
    bounds_[i].end = changes_.size();
  }
  find_forward();
}

void ModuleCalls::add_track(const Track& track, const std::vector<uint8_t>& kinds) {
  const size_t first_call = calls_.size();
  const Slices& slices = trace_.slices();
  for (const Lane& lane : lanes_of(trace_, track)) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      const uint8_t kind = slices.name[i] ? kinds[slices.name[i].value] : uint8_t{kNoCall};
      if (!is_call(slices.category[i], kind)) continue;
      ModuleCall call;
      call.slice = SliceId{i};
      call.is_autograd = kind == kAutograd;
      calls_.push_back(call);
    }
  }
  // What is around a slice stands in a lane further up, so it was added before.
  std::stable_sort(calls_.begin() + static_cast<ptrdiff_t>(first_call), calls_.end(),
                   [&](const ModuleCall& left, const ModuleCall& right) {
                     return slices.begin_ns[left.slice.value] < slices.begin_ns[right.slice.value];
                   });
  add_changes(first_call);
}

void ModuleCalls::add_changes(size_t first_call) {
  std::vector<uint32_t> open;
  const auto end_of = [&](uint32_t call) { return interval_of(trace_, calls_[call].slice).end_ns; };
  const auto close_until = [&](int64_t time_ns) {
    while (!open.empty() && end_of(open.back()) <= time_ns) {
      const int64_t end_ns = end_of(open.back());
      open.pop_back();
      changes_.push_back({end_ns, open.empty() ? ModuleCall::kNone : open.back()});
    }
  };
  for (size_t i = first_call; i < calls_.size(); ++i) {
    ModuleCall& call = calls_[i];
    const Interval interval = interval_of(trace_, call.slice);
    close_until(interval.begin_ns);
    call.self_ns += interval.length_ns();
    // Slices that only overlap are siblings.
    const auto around = std::find_if(open.rbegin(), open.rend(), [&](uint32_t outer) {
      return end_of(outer) >= interval.end_ns;
    });
    if (around != open.rend()) {
      ModuleCall& outer = calls_[*around];
      call.parent = *around;
      call.is_within_autograd = outer.is_autograd || outer.is_within_autograd;
      outer.self_ns -= interval.length_ns();
    }
    open.erase(around.base(), open.end());
    open.push_back(static_cast<uint32_t>(i));
    changes_.push_back({interval.begin_ns, open.back()});
  }
  close_until(INT64_MAX);
}

uint32_t ModuleCalls::at(TrackId track, int64_t time_ns) const {
  const auto begin = changes_.begin() + static_cast<ptrdiff_t>(bounds_[track.value].first);
  const auto end = changes_.begin() + static_cast<ptrdiff_t>(bounds_[track.value].end);
  const auto after = std::upper_bound(begin, end, time_ns, [](int64_t time, const Change& change) {
    return time < change.time_ns;
  });
  return after == begin ? ModuleCall::kNone : std::prev(after)->call;
}

uint32_t ModuleCalls::around(SliceId slice) const {
  const Lane& lane = trace_.lanes()[trace_.slices().lane[slice.value].value];
  return at(lane.track, trace_.slices().begin_ns[slice.value]);
}

void ModuleCalls::find_forward() {
  for (const Flow& flow : trace_.flows()) {
    if (flow.kind != FlowKind::kForwardBackward) continue;
    // Kineto's arrow leads to a slice of the same node within that of the engine.
    const uint32_t node = around(flow.to);
    if (node != ModuleCall::kNone && calls_[node].is_autograd) calls_[node].forward = flow.from;
  }
  const ModuleCall* before = nullptr;
  for (ModuleCall& call : calls_) {
    if (!call.is_autograd) continue;
    if (!call.forward && before != nullptr &&
        name_of(trace_, call.slice).ends_with("::AccumulateGrad") &&
        &track_of(trace_, call.slice) == &track_of(trace_, before->slice)) {
      call.forward = before->forward;
    }
    before = &call;
  }
}

}  // namespace redline::trace
