#include "trace/analysis/run_tables.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "trace/analysis/waiting_calls.h"
#include "trace/emit/collective_names.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

// Adds the steps of one recording. Step i becomes sample i + `shift`; steps below 0 count for means
// only.
class Sampler {
 public:
  struct Weights {
    double rank;  ///< of the rank, in a sample
    double step;  ///< of one step, in a mean
  };
  Sampler(const Analysis& analysis, std::ptrdiff_t shift, Weights weights, RunSamples& samples)
      : analysis_(analysis),
        trace_(*analysis.trace),
        shift_(shift),
        weights_(weights),
        samples_(samples) {}

  void add_all() {
    for (size_t i = 0; i < analysis_.steps.size(); ++i) {
      const auto sample = sample_of(i);
      if (sample < 0) continue;
      samples_.step_ns[static_cast<size_t>(sample)] +=
          weights_.rank * static_cast<double>(analysis_.steps[i].window.length_ns());
    }
    add_device_work();
    add_operators();
    add_collectives();
  }

 private:
  [[nodiscard]] std::ptrdiff_t sample_of(size_t step) const {
    return static_cast<std::ptrdiff_t>(step) + shift_;
  }

  // The step in whose window `time_ns` lies.
  [[nodiscard]] std::optional<size_t> step_at(int64_t time_ns) const {
    const std::vector<Step>& steps = analysis_.steps;
    const Step* step = trace::step_at(steps, &Step::window, time_ns);
    return step ? std::optional(static_cast<size_t>(step - steps.data())) : std::nullopt;
  }

  NameSamples& samples_of(SamplesByName& table, std::string_view name) {
    return table.try_emplace(std::string(name), samples_.step_ns.size()).first->second;
  }

  void add(NameSamples& samples, size_t step, int64_t length_ns) const {
    samples.mean_ns += weights_.step * static_cast<double>(length_ns);
    samples.mean_count += weights_.step;
    samples.shortest_ns = std::min(samples.shortest_ns, static_cast<double>(length_ns));
    const auto sample = sample_of(step);
    if (sample < 0) return;
    samples.ns[static_cast<size_t>(sample)] += weights_.rank * static_cast<double>(length_ns);
    samples.counts[static_cast<size_t>(sample)] += weights_.rank;
  }

  void add_device_work() {
    std::array<std::vector<NameSamples*>, 2> known;  // by StringId
    for (auto& table : known) table.resize(trace_.string_count());
    for (const DeviceWork& work : analysis_.device_work.rows) {
      const auto step = step_at(work.interval.begin_ns);
      if (!step) continue;
      NameSamples*& samples = known[work.is_kernel() ? 0 : 1][work.name.value];
      if (samples == nullptr) {
        samples = &samples_of(work.is_kernel() ? samples_.kernels : samples_.copies,
                              trace_.string(work.name));
      }
      add(*samples, *step, work.interval.length_ns());
    }
  }

  // For every operator, its own time in calls that return when GPU work is done.
  [[nodiscard]] std::vector<int64_t> waiting_times_ns() const {
    const std::vector<SliceId>& parents = analysis_.host_tree.parent;
    const std::vector<WaitingCall> kinds = waiting_calls_of(trace_);
    std::vector<int64_t> waiting_ns(parents.size()), done_ns(parents.size(), INT64_MIN);
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      const SliceId caller = parents[slice.value];
      if (!caller || !is_launch(category)) return;
      const StringId name = trace_.slices().name[slice.value];
      if (kinds[name.value] == WaitingCall::kNone) return;
      // A driver call in a runtime call waits with it.
      const Interval call = interval_of(trace_, slice);
      int64_t& done = done_ns[caller.value];
      waiting_ns[caller.value] += std::max<int64_t>(0, call.end_ns - std::max(done, call.begin_ns));
      done = std::max(done, call.end_ns);
    });
    return waiting_ns;
  }

  void add_operators() {
    std::vector<NameSamples*> known(trace_.string_count());
    const std::vector<int64_t> self_ns = self_times_ns(trace_, analysis_.host_tree);
    const std::vector<int64_t> waiting_ns = waiting_times_ns();
    const auto& names = trace_.slices().name;
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      if (!is_host_node(category)) return;
      const auto step = step_at(interval_of(trace_, slice).begin_ns);
      if (!step) return;
      NameSamples*& samples = known[names[slice.value].value];
      if (samples == nullptr) {
        const std::string_view name = name_of(trace_, slice);
        if ((name_kinds(name) & (kStepName | kCommunicationOpName)) != 0) return;
        samples = &samples_of(samples_.operators, name);
      }
      add(*samples, *step, self_ns[slice.value]);
      samples->mean_waiting_ns += weights_.step * static_cast<double>(waiting_ns[slice.value]);
    });
  }

  void add_collectives() {
    for (const CollectiveCall& call : analysis_.communication.collectives.calls) {
      const Interval interval = interval_of(trace_, call.slice);
      const auto step = step_at(interval.begin_ns);
      if (!step || !call.is_timed) continue;
      add(samples_of(samples_.collectives, kind_name(call.kind)), *step, interval.length_ns());
    }
  }

  const Analysis& analysis_;
  const Trace& trace_;
  const std::ptrdiff_t shift_;
  const Weights weights_;
  RunSamples& samples_;
};

}  // namespace

RunSamples sample_steps(const std::vector<Analysis>& traces) {
  RunSamples samples;
  const auto ranks = recordings_of_ranks(pointers_to(traces));
  if (ranks.empty()) return samples;
  std::vector<size_t> rank_steps;
  for (const std::vector<size_t>& recordings : ranks) {
    rank_steps.push_back(0);
    for (const size_t i : recordings) rank_steps.back() += traces[i].steps.size();
  }
  const size_t steps = *std::ranges::min_element(rank_steps);
  samples.step_ns.resize(steps);
  const double weight = 1 / static_cast<double>(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Sampler::Weights weights{weight, weight / static_cast<double>(rank_steps[rank])};
    auto shift = static_cast<std::ptrdiff_t>(steps) - static_cast<std::ptrdiff_t>(rank_steps[rank]);
    for (const size_t i : ranks[rank]) {
      Sampler(traces[i], shift, weights, samples).add_all();
      shift += static_cast<std::ptrdiff_t>(traces[i].steps.size());
    }
  }
  return samples;
}

}  // namespace redline::trace
