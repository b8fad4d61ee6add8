#include "trace/analysis/analysis.h"

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/free_memory.h"
#include "trace/analysis/stop_watch.h"
#include "trace/model/category.h"

namespace redline::trace {
namespace {

// Reads the args of all items in blocks. Several threads may call it; each takes the next block.
template <typename Item>
void read_in_turn(const Trace& trace, std::span<Item> items, std::atomic<size_t>& next,
                  const std::atomic<bool>* cancel) {
  constexpr size_t kBlock = 2048;
  TextCursor text(trace);
  for (size_t first = 0; (first = next.fetch_add(kBlock)) < items.size();) {
    if (cancel != nullptr && cancel->load()) return;
    read_args(text, items.subspan(first, std::min(kBlock, items.size() - first)));
  }
}

// An analysis that needs no other one of the same list.
struct Task {
  std::string_view name;
  std::function<void()> run;
};

// Runs `beside` on a second thread while `here` runs, or after `here` if there is no second thread.
template <typename Here, typename Beside>
void run_both(unsigned threads, Here here, Beside beside) {
  const auto second =
      threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  auto other = std::async(second, beside);
  here();
  other.get();
}

int64_t count_processes(const Trace& trace) {
  const Slices& slices = trace.slices();
  std::set<StringId> pids;
  for (const Lane& lane : trace.lanes()) {
    const StringId pid = trace.tracks()[lane.track.value].pid;
    if (pids.contains(pid)) continue;
    const auto categories = slices.category.subspan(lane.first.value, lane.count);
    if (std::ranges::any_of(categories, is_launch)) pids.insert(pid);
  }
  return std::ssize(pids);
}

TraceFacts facts_of(const Trace& trace, const RecordedFacts& recorded) {
  const Metadata& metadata = trace.metadata();
  TraceFacts facts;
  facts.path = trace.path();
  facts.recorded = recorded_trace(trace);
  facts.rank = metadata.rank;
  facts.world_size = metadata.world_size;
  facts.backend = metadata.backend;
  facts.host = metadata.host;
  facts.events = trace.event_count();
  facts.slices = trace.slice_count();
  facts.phase_counts.assign(trace.phase_counts().begin(), trace.phase_counts().end());
  facts.issues.assign(trace.issues().begin(), trace.issues().end());
  facts.begin_ns = trace.begin_ns();
  facts.end_ns = trace.end_ns();
  facts.dropped = recorded.dropped_events();
  facts.merged_ranks = recorded.merged_ranks();
  facts.reason = recorded.reason();
  facts.samples_per_step = recorded.samples_per_step();
  facts.tokens_per_step = recorded.tokens_per_step();
  facts.batches_digest = recorded.text("redline", "batches_digest");
  facts.is_inference = recorded.is_inference();
  facts.is_amd = is_amd(trace);
  facts.processes = count_processes(trace);
  if (!recorded.is_of_redline()) {
    facts.unknown_slices = std::ranges::count(trace.slices().category, Category::kOther);
  }
  return facts;
}

// Calls that give a GPU work.
bool launches_work(const Trace& trace) {
  const Slices& slices = trace.slices();
  for (size_t i = 0; i < trace.slice_count(); ++i) {
    if (!is_launch(slices.category[i])) continue;
    const std::string_view name = trace.string(slices.name[i]);
    for (const std::string_view what : {"Launch", "Memcpy", "Memset"}) {
      if (name.find(what) != std::string_view::npos) return true;
    }
  }
  return false;
}

// Whether a name is of an operator or a process group that only works on a GPU. A profile of the
// CPU alone has these and neither launches nor kernels. (aten::cudnn_is_acceptable is asked on
// CPUs, too, and PyTorch 2.1 had flash attention there by the name of the GPUs'.)
bool names_a_gpu(const Trace& trace) {
  constexpr auto kBegins = std::to_array<std::string_view>(
      {"nccl:", "xccl:", "aten::cudnn_convolution", "aten::cudnn_batch_norm", "aten::_cudnn_rnn",
       "aten::miopen_convolution", "aten::miopen_batch_norm", "aten::miopen_rnn",
       "aten::_scaled_dot_product_efficient_attention",
       "aten::_scaled_dot_product_cudnn_attention"});
  for (uint32_t i = 0; i < trace.string_count(); ++i) {
    const std::string_view name = trace.string(StringId{i});
    const auto begins = [name](std::string_view begin) { return name.starts_with(begin); };
    if (std::ranges::any_of(kBegins, begins)) return true;
  }
  return false;
}

// What the comparison with other ranks needs.
void set_rank_figures(Analysis& all) {
  all.collectives = all.communication.table;
  all.exposed_communication_ns = all.communication.is_timed
                                     ? std::optional(mean_exposed_ns(all.communication, all.steps))
                                     : std::nullopt;
  all.own_work =
      own_work(*all.trace, all.device_work, all.host_tree, all.steps, all.communication.exposed);
  all.timed_collectives = rank_collectives(*all.trace, all.communication.collectives);
}

// On AMD's machines the allocator numbers the GPUs that the process sees, and the records of GPU
// work those of the machine: one GPU may be 0 and 2.
void number_memory_like_gpus(Analysis& all) {
  if (!all.facts.is_amd || all.gpus.size() != 1) return;
  if (std::ranges::count_if(all.memory, &MemoryPeak::is_gpu) != 1) return;
  std::ranges::find_if(all.memory, &MemoryPeak::is_gpu)->device = all.gpus.front().device;
}

// What fills the tables, from what is known of the device's and the host's work.
std::vector<Task> tables_of(Analysis& all, const NameKinds& names,
                            const std::vector<MemoryEvent>& memory_events) {
  const Trace& source = *all.trace;
  // The longest first, so that both threads end together.
  return {
      {"breakdown",
       [&] {
         all.breakdown = break_down_steps(source, names, all.device_work, all.host_tree, all.steps);
       }},
      {"gpus",
       [&] {
         all.devices = device_properties(source);
         all.gpus = gpu_use(source, all.device_work, all.host_tree, all.steps, all.devices);
       }},
      {"shapes",
       [&] { all.shapes = operator_shapes(source, all.device_work, all.host_tree, all.steps); }},
      {"phases",
       [&] { all.phases = phase_times(source, all.device_work, all.host_tree, all.steps); }},
      {"sequences", [&] { all.sequences = kernel_sequences(all.device_work); }},
      {"operators",
       [&] { all.operators = operator_table(source, names, all.device_work, all.host_tree); }},
      {"launches", [&] { all.launches = launch_statistics(source, all.device_work); }},
      {"critical_path",
       [&] { all.critical_path = critical_path(source, names, all.device_work, all.steps); }},
      {"communication",
       [&] {
         all.communication = find_communication(source, names, all.device_work, all.host_tree);
       }},
      {"memory", [&] { all.memory = memory_peaks(source, memory_events, all.host_tree); }},
      {"queues", [&] { all.queues = queue_lengths(source, all.device_work); }},
      {"copies", [&] { all.copies = copy_table(source, all.device_work); }},
      {"kernels", [&] { all.kernels = kernel_table(source, all.device_work); }},
      {"idle",
       [&] {
         all.stream_idle = idle_gaps(source, all.device_work);
         all.idle = sum_of(all.stream_idle);
       }},
  };
}

}  // namespace

Analysis analyze(std::shared_ptr<const Trace> trace, const std::atomic<bool>* cancel,
                 unsigned threads) {
  Analysis all;
  const Trace& source = *trace;
  all.names = {trace, &source.strings()};
  const RecordedFacts recorded(source);
  all.facts = facts_of(source, recorded);
  all.trace = std::move(trace);
  StopWatch device(cancel), host(cancel);
  const NameKinds names(source);
  std::vector<MemoryEvent> memory_events;
  run_both(
      threads,
      [&] {
        device.run("device_work", [&] { all.device_work = find_device_work(source, names); });
        device.run("steps", [&] {
          all.steps = find_steps(source, all.device_work);
          all.step_times = step_times(all.steps);
        });
      },
      [&] {
        host.run("host_tree", [&] { all.host_tree = build_host_tree(source, names); });
        host.run("memory_events", [&] { memory_events = find_memory_events(source); });
      });
  std::atomic<size_t> next_row = 0, next_event = 0;
  const auto read_text = [&] {
    read_in_turn(source, std::span(all.device_work.rows), next_row, cancel);
    read_in_turn(source, std::span(memory_events), next_event, cancel);
  };
  run_both(
      threads, [&] { device.run("args", read_text); }, [&] { host.run("args", read_text); });
  const std::vector<Task> tasks = tables_of(all, names, memory_events);
  std::atomic<size_t> next_task = 0;
  const auto take_tasks = [&](StopWatch& watch) {
    for (size_t i = next_task++; i < tasks.size(); i = next_task++) {
      watch.run(tasks[i].name, tasks[i].run);
    }
  };
  run_both(
      threads, [&] { take_tasks(device); }, [&] { take_tasks(host); });
  run_both(
      threads,
      [&] {
        device.run("modules", [&] {
          all.modules = module_tree(source, all.device_work, all.shapes, memory_events);
        });
      },
      [&] { host.run("ranks", [&] { set_rank_figures(all); }); });
  number_memory_like_gpus(all);
  all.has_device_work = !all.device_work.rows.empty();
  all.unrecorded_gpu = unrecorded_gpu(source, recorded, all.device_work, memory_events);
  if (all.has_device_work) all.partial_gpu = recorded.gpu_gap();
  if (!all.unrecorded_gpu) all.peaks = peaks_of(source, recorded, all.devices, all.device_work);
  all.is_cancelled = cancel != nullptr && cancel->load();
  device.append_to(all.times);
  host.append_to(all.times);
  return all;
}

RankSummary detached(RankSummary summary, std::shared_ptr<StringTable> names) {
  const auto move = [&](StringId& id) {
    if (id) id = names->intern(summary.string(id));
  };
  for (OperatorShape& row : summary.shapes.rows) {
    move(row.name);
    for (ShapeKernel& kernel : row.kernels) move(kernel.name);
  }
  for (ModuleNode& node : summary.modules.nodes) {
    for (ShapeKernel& kernel : node.kernels) move(kernel.name);
  }
  if (summary.critical_path) {
    for (PathName& row : summary.critical_path->names) move(row.name);
    for (PathPart& part : summary.critical_path->longest) move(part.name);
  }
  for (KernelSequence& sequence : summary.sequences) {
    for (StringId& name : sequence.names) move(name);
  }
  free_memory(summary.breakdown.of_steps);
  free_memory(summary.shapes.calls);
  free_memory(summary.shapes.row_of_work);
  free_memory(summary.modules.of_call);
  free_memory(summary.modules.of_work);
  for (MemoryPeak& peak : summary.memory) free_memory(peak.points);
  summary.names = std::move(names);
  return summary;
}

std::optional<std::string> unrecorded_gpu(const Trace& trace, const RecordedFacts& recorded,
                                          const DeviceWorkTable& work,
                                          std::span<const MemoryEvent> memory) {
  if (!work.rows.empty()) return std::nullopt;
  if (auto why = recorded.gpu_gap()) return why;
  const bool is_used = launches_work(trace) || std::ranges::any_of(memory, &MemoryEvent::is_gpu) ||
                       names_a_gpu(trace);
  return is_used ? std::optional(std::string()) : std::nullopt;
}

DevicePeaks peaks_of(const Trace& trace, const RecordedFacts& recorded,
                     const std::vector<DeviceProperties>& devices, const DeviceWorkTable& work) {
  if (work.rows.empty()) {
    return measured_cpu_peaks(trace.metadata().host, recorded.usable_cores().value_or(0));
  }
  const std::vector<int32_t> working = working_devices(work);
  if (working.size() != 1) return {};
  const DeviceProperties* device = properties_of(devices, working.front(), is_amd(trace));
  return device == nullptr ? DevicePeaks() : device_peaks(*device);
}

std::optional<Latency> batch_latency(std::span<const RankSummary> ranks) {
  std::vector<int64_t> lengths_ns;
  for (const RankSummary& rank : ranks) {
    if (!rank.facts.is_inference) return std::nullopt;
    for (const Step& step : rank.steps) {
      if (step.number) lengths_ns.push_back(step.window.length_ns());
    }
  }
  return latency_of(lengths_ns);
}

}  // namespace redline::trace
