#include "trace/analysis/step_samples.h"

#include <algorithm>

#include "trace/analysis/collective_names.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

class Sampler {
 public:
  Sampler(const Analysis& analysis, size_t step_count, double weight, RunSamples& samples)
      : analysis_(analysis),
        trace_(*analysis.trace),
        step_count_(step_count),
        weight_(weight),
        samples_(samples) {}

  void add_all() {
    for (size_t i = 0; i < step_count_; ++i) {
      samples_.step_ns[i] += weight_ * static_cast<double>(analysis_.steps[i].window.length_ns());
    }
    add_device_work();
    add_operators();
    add_collectives();
  }

 private:
  // The step in whose window `time_ns` lies; step_count_ if none.
  [[nodiscard]] size_t step_at(int64_t time_ns) const {
    const auto end = analysis_.steps.begin() + static_cast<std::ptrdiff_t>(step_count_);
    const auto step = std::partition_point(analysis_.steps.begin(), end, [&](const Step& each) {
      return each.window.end_ns <= time_ns;
    });
    if (step == end || step->window.begin_ns > time_ns) return step_count_;
    return static_cast<size_t>(step - analysis_.steps.begin());
  }

  NameSamples& samples_of(SamplesByName& table, std::string_view name) {
    NameSamples& samples = table[std::string(name)];
    samples.ns.resize(samples_.step_ns.size());
    samples.count.resize(samples_.step_ns.size());
    return samples;
  }

  void add(NameSamples& samples, size_t step, int64_t length_ns) const {
    samples.ns[step] += weight_ * static_cast<double>(length_ns);
    samples.count[step] += weight_;
  }

  void add_device_work() {
    std::array<std::vector<NameSamples*>, 2> known;  // by StringId
    for (auto& table : known) table.resize(trace_.string_count());
    for (const DeviceWork& work : analysis_.device_work.rows) {
      const size_t step = step_at(work.interval.begin_ns);
      if (step == step_count_) continue;
      NameSamples*& samples = known[work.is_kernel() ? 0 : 1][work.name.value];
      if (samples == nullptr) {
        samples = &samples_of(work.is_kernel() ? samples_.kernels : samples_.copies,
                              trace_.string(work.name));
      }
      add(*samples, step, work.interval.length_ns());
    }
  }

  void add_operators() {
    std::vector<NameSamples*> known(trace_.string_count());
    const std::vector<int64_t> self_ns = self_times_ns(trace_, analysis_.host_tree);
    const auto& names = trace_.slices().name;
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      if (!is_host_node(category)) return;
      const size_t step = step_at(interval_of(trace_, slice).begin_ns);
      if (step == step_count_) return;
      NameSamples*& samples = known[names[slice.value].value];
      if (samples == nullptr) {
        const std::string_view name = name_of(trace_, slice);
        if (is_step_name(name) || is_communication_op(name)) return;
        samples = &samples_of(samples_.operators, name);
      }
      add(*samples, step, self_ns[slice.value]);
    });
  }

  void add_collectives() {
    for (const CollectiveCall& call : analysis_.communication.collectives.calls) {
      const Interval interval = interval_of(trace_, call.slice);
      const size_t step = step_at(interval.begin_ns);
      if (step == step_count_) continue;
      add(samples_of(samples_.collectives, kind_name(call.kind)), step, interval.length_ns());
    }
  }

  const Analysis& analysis_;
  const Trace& trace_;
  const size_t step_count_;
  const double weight_;
  RunSamples& samples_;
};

}  // namespace

RunSamples sample_steps(const std::vector<Analysis>& traces) {
  RunSamples samples;
  if (traces.empty()) return samples;
  size_t steps = traces.front().steps.size();
  for (const Analysis& analysis : traces) steps = std::min(steps, analysis.steps.size());
  samples.step_ns.resize(steps);
  const double weight = 1 / static_cast<double>(traces.size());
  for (const Analysis& analysis : traces) Sampler(analysis, steps, weight, samples).add_all();
  return samples;
}

}  // namespace redline::trace
