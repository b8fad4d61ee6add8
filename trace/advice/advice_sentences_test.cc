// What each rule says in full. Figures are counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string_view>

#include "tests/parsed_trace.h"
#include "tests/repeated_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

TraceText collectives(const std::vector<std::pair<const char*, int64_t>>& kernels) {
  TraceText text = gpu_step(10 * kMs);
  int64_t at_ns = 20 * kMs;
  for (const auto& [name, ns] : kernels) {
    text.kernel(name, at_ns, at_ns + ns, on_stream(20));
    at_ns += ns;
  }
  return text;
}

TraceText reductions(int count, int64_t ns) {
  return collectives(
      std::vector<std::pair<const char*, int64_t>>(static_cast<size_t>(count), {kReduce, ns}));
}

// As of experts, which give each other tokens in every layer.
TraceText exchanges(size_t count) {
  return collectives(
      std::vector<std::pair<const char*, int64_t>>(count, {"ncclDevKernel_SendRecv", 2 * kMs}));
}

TraceText counters(TraceText text, const std::string& worker, const std::string& cores) {
  const auto counter = [](const std::string& track, const std::string& value) {
    return R"({"ph": "C", "cat": "counter", "pid": 1, "tid": 0, "ts": 5, "name": ")" + track +
           R"(", "args": {"busy %": )" + value + "}}";
  };
  return text.event(counter("DataLoader worker 7", worker)).event(counter("CPU", cores));
}

TraceText waits(int count, int64_t long_ns, int long_count = 1) {
  TraceText text = one_step();
  for (int i = 0; i < count; ++i) {
    const int64_t begin_ns = (i < long_count ? 16 * i : 32 + 3 * i) * kMs;
    text.annotation(kMulti, begin_ns, begin_ns + (i < long_count ? long_ns : kMs / 2));
  }
  return text;
}

TraceText out_of_memory(int count) {
  TraceText text = memory(980).top(R"("redline": {"samples_per_step": 32})");
  for (int i = 0; i < count; ++i) {
    text.event(fmt::format(
        R"({{"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": {}, "args": {{}}}})",
        9 + i));
  }
  return text;
}

// Two steps of 100 ms, each with what `fill` adds behind its begin.
TraceText two_steps(const std::function<void(TraceText&, int64_t, int)>& fill) {
  TraceText text;
  text.top(gpu("A100", 8, 0)).rank(0, 2);
  for (int i = 0; i < 2; ++i) {
    text.step(i, i * 100 * kMs, (i + 1) * 100 * kMs);
    fill(text, i * 100 * kMs, i);
  }
  return text;
}

void add_launched(TraceText& text, int64_t at_ns, const char* kernel, int64_t begin_ns,
                  int64_t end_ns, int stream = 7) {
  const auto id = static_cast<uint32_t>(at_ns / 100 + 1);
  text.runtime("cudaLaunchKernel", at_ns, at_ns + 10 * kUs, id);
  text.kernel(kernel, begin_ns, end_ns, on_stream(stream, id));
}

// 60 kernels of 100 us a step, 300 us apart; products in FP32 and in TF32 by turns.
TraceText mixed_precision() {
  return two_steps([](TraceText& text, int64_t at_ns, int) {
    add_launched(text, at_ns, "ampere_sgemm_128x64_tn", at_ns + 20 * kUs, at_ns + 20 * kMs);
    add_launched(text, at_ns + kMs, "cutlass_80_tensorop_s1688gemm_128x64", at_ns + 20 * kMs,
                 at_ns + 50 * kMs);
    add_launched(text, at_ns + 2 * kMs, "elementwise", at_ns + 50 * kMs, at_ns + 98 * kMs);
  });
}

TraceText item_and_copies() {
  return two_steps([](TraceText& text, int64_t at_ns, int step) {
    add_launched(text, at_ns, "k", at_ns + 20 * kUs, at_ns + 40 * kMs);
    text.cpu_op("aten::is_nonzero", at_ns + 2 * kMs, at_ns + 41 * kMs)
        .cpu_op("aten::item", at_ns + 3 * kMs, at_ns + 41 * kMs - 1)
        .runtime("cudaStreamSynchronize", at_ns + 4 * kMs, at_ns + 40 * kMs);
    const auto id = static_cast<uint32_t>(7 + step);
    text.runtime("cudaMemcpyAsync", at_ns + 60 * kMs, at_ns + 65 * kMs, id)
        .slice("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at_ns + 61 * kMs, at_ns + 64 * kMs,
               on_stream(7, id));
    add_launched(text, at_ns + 80 * kMs, "k", at_ns + 81 * kMs, at_ns + 99 * kMs);
  });
}

// Evidence for the waits of half a millisecond that waits() adds, from this millisecond on.
std::string short_waits(int first_ms) {
  std::string text;
  for (int ms = first_ms; ms <= 44; ms += 3) {
    text += fmt::format("{} {}000..{}500 us\n", kMulti, ms, ms);
  }
  return text;
}

// An operator of 50 ms, then 100 kernels of 490 us, one behind the other.
TraceText computing() {
  TraceText text = gpu_step(0).cpu_op("aten::unique_dim", kUs, 50 * kMs);
  for (int i = 0; i < 100; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t at_ns = 50 * kMs + i * 490 * kUs;
    text.cpu_op("aten::relu", at_ns, at_ns + 10 * kUs);
    text.runtime("cudaLaunchKernel", at_ns, at_ns + 5 * kUs, id);
    text.kernel("k", at_ns + 10 * kUs, at_ns + 500 * kUs, on_stream(7, id));
  }
  return text;
}

// Without marked steps; the last operator ends at 100 ms.
TraceText unmarked(int updates) {
  TraceText text = TraceText().top(gpu("A100", 8, 0)).rank(0, 2);
  for (int i = 0; i < updates; ++i) {
    // As accelerate's optimizer calls torch's.
    text.annotation("Optimizer.step#Adam.step", i * kMs + kUs, i * kMs + 800 * kUs);
    text.annotation("Optimizer.step#Adam.step", i * kMs + kUs, i * kMs + 700 * kUs);
  }
  return text.cpu_op("aten::relu", 0, kUs).cpu_op("aten::relu", 99 * kMs, 100 * kMs);
}

struct Sentence {
  const char* rule;
  TraceText trace;
  std::string said;
};

const std::vector<Sentence>& sentences() {
  static const std::vector<Sentence> all = {
      {"dataloader_wait",
       one_step().annotation(kSingle, 0, 12 * kMs).annotation(kSingle, 50 * kMs, 57 * kMs),
       R"(dataloader_wait medium x 1.23457 [num_workers=0..4]
DataLoader: training waits 19.0 ms a step
num_workers is 0:
  batches are made between the steps, 19.0 % of the step
removable_ns 1.9e+07, step_share 0.19
enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0..12000 us
enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 50000..57000 us
)"},
      {"dataloader_wait",
       one_step()
           .cpu_op("aten::mm", 0, 10 * kMs)
           .slice("user_annotation", kSingle, 0, 25 * kMs, {.tid = "3"}),
       R"(dataloader_wait medium x 1.17647 [num_workers=0..4]
DataLoader: training waits 15.0 ms a step
num_workers is 0:
  a thread makes the batches beside the steps, 15.0 % of the step
removable_ns 1.5e+07, step_share 0.15
enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0..25000 us
)"},
      {"dataloader_wait",
       TraceText()
           .top(R"("redline": {"samples_per_step": 20})")
           .step(0, 0, 2 * kMs)
           .annotation(kSingle, 0, 300 * kUs),
       R"(dataloader_wait medium x 1.17647 [batch_size=20..512]
DataLoader: training waits 300.0 us a step
num_workers is 0:
  a batch takes 300.0 us, and handing one over from a worker about as long;
  a larger batch may help, or indexing the tensors if all data are in memory
removable_ns 300000, step_share 0.15
enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0..300 us
)"},
      {"dataloader_wait", counters(one_step().annotation(kMulti, 0, 12 * kMs), "80", "90"),
       R"(dataloader_wait medium x 1.13636 [num_workers=0..4]
DataLoader: training waits 12.0 ms a step
the workers are busy 80.0 % of the time:
  use more workers
removable_ns 1.2e+07, step_share 0.12, workers_busy_share 0.8, cores_busy_share 0.9
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..12000 us
)"},
      {"dataloader_wait", counters(one_step().annotation(kMulti, 0, 12 * kMs), "79", "91"),
       R"(dataloader_wait medium x 1.13636 [num_workers=0..4]
DataLoader: training waits 12.0 ms a step
all cores are busy 91.0 % of the time, and each worker has 79.0 % of one:
  less work for each sample
removable_ns 1.2e+07, step_share 0.12, workers_busy_share 0.79, cores_busy_share 0.91
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..12000 us
)"},
      {"dataloader_wait", counters(one_step().annotation(kMulti, 0, 12 * kMs), "50", "5"),
       R"(dataloader_wait medium x 1.13636 [num_workers=0..4]
DataLoader: training waits 12.0 ms a step
the workers compute 50.0 % of the time and wait for the rest, for instance for the disk:
  use more workers
removable_ns 1.2e+07, step_share 0.12, workers_busy_share 0.5, cores_busy_share 0.05
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..12000 us
)"},
      {"dataloader_wait", counters(one_step().annotation(kMulti, 0, 12 * kMs), "51", "5"),
       R"(dataloader_wait medium x 1.13636 [num_workers=0..4]
DataLoader: training waits 12.0 ms a step
the workers do not keep up, 12.0 % of the step:
  use more workers, or do less work for each sample
removable_ns 1.2e+07, step_share 0.12, workers_busy_share 0.51, cores_busy_share 0.05
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..12000 us
)"},
      {"dataloader_wait", waits(8, 14 * kMs),
       R"(dataloader_wait medium x 1.21212 [persistent_workers=off,on]
DataLoader: training waits 17.5 ms a step
80.0 % of it in 1 of 8 waits, as where an epoch begins:
  persistent_workers=True keeps the workers from one epoch to the next
removable_ns 1.75e+07, step_share 0.175
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..14000 us
)" + short_waits(35)},
      {"dataloader_wait", waits(8, 14 * kMs - 1),
       R"(dataloader_wait medium x 1.21212 [num_workers=0..4]
DataLoader: training waits 17.5 ms a step
the workers do not keep up, 17.5 % of the step:
  use more workers, or do less work for each sample
removable_ns 1.75e+07, step_share 0.175
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..13999 us
)" + short_waits(35)},
      {"dataloader_wait", waits(7, 14 * kMs), R"(dataloader_wait medium x 1.20482 [num_workers=0..4]
DataLoader: training waits 17.0 ms a step
the workers do not keep up, 17.0 % of the step:
  use more workers, or do less work for each sample
removable_ns 1.7e+07, step_share 0.17
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..14000 us
)" + short_waits(35)},
      {"dataloader_wait", waits(17, 15 * kMs, 2),
       R"(dataloader_wait high x 1.6 [persistent_workers=off,on]
DataLoader: training waits 37.5 ms a step
80.0 % of it in 2 of 17 waits, as where an epoch begins:
  persistent_workers=True keeps the workers from one epoch to the next
removable_ns 3.75e+07, step_share 0.375
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0..15000 us
enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 16000..31000 us
)" + short_waits(38)},
      {"pageable_copies", copying(20 * kMs), R"(pageable_copies high x 1.25 []
Pageable host-to-device copies: 20.0 ms a step
the host waits for each, 20.0 ms of copying a step:
  tensor.pin_memory() and non_blocking=True copy beside kernels
removable_ns 2e+07, step_share 0.2, copy_ns 2e+07, copies 1
Memcpy HtoD (Pageable -> Device) 70000..90000 us
)"},
      {"layout_transposes", two_steps([](TraceText& text, int64_t at_ns, int step) {
         for (int i = 0; i <= step; ++i)
           add_launched(text, at_ns + i * kMs, "nhwcToNchwKernel", at_ns + 10 * kMs * (i + 1),
                        at_ns + (10 * i + 14) * kMs);
       }),
       R"(layout_transposes medium x 1.06383 [channels_last=off,on]
Layout changes around convolutions: 6.0 ms
1 kernel a step to turn NCHW into NHWC and back:
  a channels_last model needs none
removable_ns 6e+06, step_share 0.06, kernels 3
nhwcToNchwKernel 10000..14000 us
nhwcToNchwKernel 110000..114000 us
nhwcToNchwKernel 120000..124000 us
)"},
      {"launch_bound", launches(200, 500 * kUs).top(R"("redline": {"samples_per_step": 6})"),
       R"(launch_bound high x 10 [batch_size=6..128]
Host-bound: the GPU waits 90.0 ms a step
for 200 launches a step of 50.0 us each:
  a larger batch, torch.compile or CUDA graphs give the GPU more work a launch
removable_ns 9e+07, step_share 0.9, kernels 200, mean_kernel_ns 50000
GPU idle 60..510 us
GPU idle 560..1010 us
GPU idle 1060..1510 us
GPU idle 1560..2010 us
GPU idle 2060..2510 us
)"},
      {"launch_bound", computing(), R"(launch_bound high x 1.99996 []
Host-bound: the GPU waits 50.0 ms a step
50.0 ms of it in aten::unique_dim, in which no launch was recorded:
  run it less often, on the GPU or on another thread
removable_ns 4.9999e+07, step_share 0.49999
aten::unique_dim 1..50000 us
)"},
      {"synchronizing_calls", item_and_copies(), R"(synchronizing_calls high x 1.63961 []
The host waits for the GPU 41.0 ms a step
2 calls a step, most in aten::is_nonzero and cudaMemcpyAsync:
  torch.where(condition, a, b) in place of an if on a tensor;
  in the Trainer of transformers, logging_nan_inf_filter=False
removable_ns 3.901e+07, step_share 0.3901, waiting_ns 4.1e+07, calls 4
cudaStreamSynchronize 4000..40000 us
cudaStreamSynchronize 104000..140000 us
cudaMemcpyAsync 60000..65000 us
cudaMemcpyAsync 160000..165000 us
)"},
      {"tiny_operators", operators(1500, 15 * kUs),
       R"(tiny_operators high x 1.29032 [batch_size=1..4096]
Small work: 1,500 operators under 20.0 us a step
22.5 % of the step goes into calls;
  a larger batch needs fewer of them
removable_ns 2.25e+07, step_share 0.225, operators 1500
aten::add 0..15 us
aten::add 50..65 us
aten::add 100..115 us
aten::add 150..165 us
aten::add 200..215 us
)"},
      {"page_faults", faulting(100'000, 20, 160), R"(page_faults medium x ? [malloc=default,keep]
Freed memory is taken anew: 10,000 page faults a step
the kernel, which clears each page, takes 12.5 % of the process's CPU time;
  with MALLOC_TRIM_THRESHOLD_=2147483647 MALLOC_MMAP_THRESHOLD_=1073741824 the process keeps what it frees
page_faults 10000, kernel_share 0.125
Page faults 0..100000 us
)"},
      {"cpu_oversubscribed", stalls(3, 4 * kMs),
       R"(cpu_oversubscribed medium x 1.13636 [num_workers=0..4]
Threads that launch kernels lose the CPU: 12.0 ms a step
3 launch calls took over 1.0 ms with the GPU idle:
  fewer DataLoader workers, or OMP_NUM_THREADS
removable_ns 1.2e+07, step_share 0.12, launches 3
cudaLaunchKernel 40000..44000 us
cudaLaunchKernel 60000..64000 us
cudaLaunchKernel 80000..84000 us
)"},
      {"low_gpu_utilization", gpu_step(40 * kMs),
       R"(low_gpu_utilization high x 2.49994 [batch_size=1..4096]
GPU 0 runs kernels 40.0 % of the time
in 60.0 ms a step no operator ran:
  Python between operators, or files (record --stacks shows it)
removable_ns 5.9999e+07, step_share 0.59999, utilization_share 0.4, device 0
GPU idle 40001..100000 us
GPU idle 0..1 us
)"},
      {"range_without_operators", two_steps([](TraceText& text, int64_t at_ns, int) {
         text.annotation("load batch", at_ns, at_ns + 70 * kMs)
             .cpu_op("aten::relu", at_ns + 70 * kMs, at_ns + 100 * kMs);
       }),
       R"(range_without_operators high x 3.33333 []
A range without operators: 70.0 ms a step
70.0 % of the step in "load batch", whose code waits or computes without operators:
  narrower ranges, or record --stacks, show which
removable_ns 7e+07, step_share 0.7, calls 2
load batch 0..70000 us
load batch 100000..170000 us
)"},
      {"optimizer_per_parameter", optimizer(100, 10 * kMs).annotation("mine", 54 * kMs, 55 * kMs),
       R"(optimizer_per_parameter medium x 1.11111 [optimizer=default,fused]
Optimizer: 10.0 ms a step, one tensor at a time
100 operators a step, 10.0 % of it:
  give the optimizer fused=True
removable_ns 1e+07, step_share 0.1, operators 100
Optimizer.step#SGD.step 50000..60000 us
)"},
      {"data_parallel", two_steps([](TraceText& text, int64_t at_ns, int) {
         text.annotation("DataParallel.forward", at_ns + 10 * kMs, at_ns + 90 * kMs)
             .cpu_op("Broadcast", at_ns + 11 * kMs, at_ns + 16 * kMs)
             .cpu_op("Gather", at_ns + 50 * kMs, at_ns + 52 * kMs);
       }),
       R"(data_parallel medium x 1.07527 []
DataParallel copies the model: 7.0 ms a step
7.0 % of the step, in one process for all GPUs:
  DistributedDataParallel under torchrun has a process a GPU and copies nothing
removable_ns 7e+06, step_share 0.07, calls 4
Broadcast 11000..16000 us
Broadcast 111000..116000 us
Gather 50000..52000 us
Gather 150000..152000 us
)"},
      {"gpus_take_turns", second_gpu(30 * kMs, 28 * kMs + kUs, 70 * kMs),
       R"(gpus_take_turns high x 1.38889 []
2 GPUs work in turn, not together
two of them work at once for 2.9 % of their time:
  cut the batch into micro-batches (torch.distributed.pipelining), or have each GPU run the whole model on its own samples (in training DDP, FSDP)
removable_ns 2.8e+07, step_share 0.28, gpus 2, together_share 0.0285718
GPU idle 70000..100000 us
GPU idle 0..1 us
)"},
      {"gpus_take_turns",
       TraceText()
           .top(gpu("V100", 7, 0))
           .step(0, 0, 50 * kMs)
           .runtime("cudaLaunchKernel", 0, 10, 1)
           .runtime("cudaLaunchKernel", 20, 30, 2)
           .kernel("k", 0, 50 * kMs, on_stream(7, 1))
           .kernel("k", 50 * kMs, 80 * kMs, {.pid = "1", .tid = "9", .correlation = 2}),
       R"(gpus_take_turns high x 1.6 []
2 GPUs work in turn, not together
two of them work at once for 0.0 % of their time:
  cut the batch into micro-batches (torch.distributed.pipelining), or have each GPU run the whole model on its own samples (in training DDP, FSDP)
removable_ns 3e+07, step_share 0.375, gpus 2, together_share 0
GPU 0 alone 0..50000 us
)"},
      {"gpu_throttled", throttled(40 * kMs), R"(gpu_throttled medium x ? []
GPU 3 is slowed by heat
for 40.0 % of the steps its clocks were lowered:
  cool it (nvidia-smi -q -d TEMPERATURE);
  autotune --objective energy finds what does more per joule
throttled_share 0.4
GPU 3 throttled: heat 0..0 us
)"},
      {"gpu_throttled", throttled(40 * kMs, "power cap"), R"(gpu_throttled medium x ? []
GPU 3 is slowed by power cap
for 40.0 % of the steps its clocks were lowered:
  nvidia-smi -q -d POWER shows its limit, -i ID -pl WATTS raises it;
  autotune --objective energy finds what does more per joule
throttled_share 0.4
GPU 3 throttled: power cap 0..0 us
)"},
      {"gpu_throttled", throttled(40 * kMs, "a brake"), R"(gpu_throttled medium x ? []
GPU 3 is slowed by a brake
for 40.0 % of the steps its clocks were lowered:
  nvidia-smi -q -d PERFORMANCE tells more;
  autotune --objective energy finds what does more per joule
throttled_share 0.4
GPU 3 throttled: a brake 0..0 us
)"},
      {"device_memory_full", memory(950), R"(device_memory_full medium x ? [amp=off,bf16,fp16]
GPU 0 memory is 95.0 % full
950 B of 1000 B at the peak:
  AMP or checkpointing makes room for a larger batch
reserved_bytes 950, memory_share 0.95, allocated_bytes 950
[memory] 7..7 us
)"},
      {"device_memory_full", gpu_step(60 * kMs).event(holding(950, 300)),
       R"(device_memory_full medium x ? []
GPU 0 memory: 95.0 % held, 30.0 % in use
950 B of 1000 B held at the peak, of which at most 300 B were in use:
  the rest is cached, or in fragments, which PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True avoids
reserved_bytes 950, memory_share 0.95, allocated_bytes 300
[memory] 7..7 us
)"},
      {"memory_unused", memory(300).top(R"("redline": {"samples_per_step": 5})"),
       R"(memory_unused high x 1.66667 [batch_size=5..32]
70.0 % of GPU 0's memory is never used
300 B of 1000 B held at the peak, and 60.0 % of the multiprocessors' time used:
  a larger batch fills both
reserved_bytes 300, memory_share 0.3, sm_efficiency_share 0.6
[memory] 7..7 us
)"},
      {"allocator_retries", allocating(4, 3, 30 * kMs),
       R"(allocator_retries high x 1.29032 [batch_size=1..4096]
Memory calls to the driver: 22.5 ms a step
3 calls in 3 of 4 steps:
  no torch.cuda.empty_cache() in the loop, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or a smaller batch
removable_ns 2.25e+07, step_share 0.225, calls 3, out_of_memory 0
cudaFree 60000..90000 us
cudaFree 160000..190000 us
cudaFree 260000..290000 us
)"},
      {"allocator_retries", out_of_memory(6), R"(allocator_retries medium x ? [batch_size=1..32]
Out of memory: allocations failed 6 times
PyTorch had emptied its cache in vain, so the program got an error, and may have lost a batch:
  a smaller batch, AMP or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
removable_ns 0, step_share 0, calls 0, out_of_memory 6
[OutOfMemory] 9..9 us
[OutOfMemory] 10..10 us
[OutOfMemory] 11..11 us
[OutOfMemory] 12..12 us
[OutOfMemory] 13..13 us
)"},
      {"communication", reductions(100, 500 * kUs - 1),
       R"(communication high x 2 [batch_size=1..4096]
Exposed communication: 50.0 ms a step
100 small calls a step:
  gather gradients in buckets (DDP's bucket_cap_mb), or a larger batch
removable_ns 4.99999e+07, step_share 0.499999, communication_ns 4.99999e+07, calls 100
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000..20499 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20499..20999 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20999..21499 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21499..21999 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21999..22499 us
)"},
      {"communication", reductions(100, 500 * kUs), R"(communication high x 2 [batch_size=1..4096]
Exposed communication: 50.0 ms a step
larger batches, or accumulation under no_sync(), make it rarer
removable_ns 5e+07, step_share 0.5, communication_ns 5e+07, calls 100
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000..20500 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20500..21000 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21000..21500 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21500..22000 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 22000..22500 us
)"},
      {"communication",
       reductions(99, 500 * kUs - 1).annotation("DistributedDataParallel.forward", 0, 10),
       R"(communication high x 1.98019 [batch_size=1..4096]
Exposed communication: 49.5 ms a step
larger batches, or accumulation under no_sync(), make it rarer
removable_ns 4.94999e+07, step_share 0.494999, communication_ns 4.94999e+07, calls 99
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000..20499 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20499..20999 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20999..21499 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21499..21999 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21999..22499 us
)"},
      {"communication",
       reductions(120, 400 * kUs).annotation("DistributedDataParallel.forward", 0, 10),
       R"(communication high x 1.92308 [bucket_cap_mb=5,25,100]
Exposed communication: 48.0 ms a step
120 small calls a step:
  gather gradients in buckets (DDP's bucket_cap_mb), or a larger batch
removable_ns 4.8e+07, step_share 0.48, communication_ns 4.8e+07, calls 120
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000..20400 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20400..20800 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20800..21200 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21200..21600 us
ncclDevKernel_AllReduce_Sum_f32_RING_LL 21600..22000 us
)"},
      {"communication", collectives({{"ncclDevKernel_SendRecv", 12 * kMs}, {kReduce, 5 * kMs}}),
       R"(communication medium x 1.20482 [batch_size=1..4096]
Exposed communication: 17.0 ms a step
exchange the next batch's data while this one is computed
removable_ns 1.7e+07, step_share 0.17, communication_ns 1.7e+07, calls 2
ncclDevKernel_SendRecv 20000..32000 us
)"},
      {"communication", exchanges(8), R"(communication medium x 1.19048 [batch_size=1..4096]
Exposed communication: 16.0 ms a step
exchange the next batch's data while this one is computed
removable_ns 1.6e+07, step_share 0.16, communication_ns 1.6e+07, calls 8
ncclDevKernel_SendRecv 20000..22000 us
ncclDevKernel_SendRecv 22000..24000 us
ncclDevKernel_SendRecv 24000..26000 us
ncclDevKernel_SendRecv 26000..28000 us
ncclDevKernel_SendRecv 28000..30000 us
)"},
      {"communication", exchanges(9), R"(communication medium x 1.21951 []
Exposed communication: 18.0 ms a step
9 exchanges a step, as of tokens between experts:
  compute something else beside them (shared experts, another microbatch), or spread the experts over fewer ranks
removable_ns 1.8e+07, step_share 0.18, communication_ns 1.8e+07, calls 9
ncclDevKernel_SendRecv 20000..22000 us
ncclDevKernel_SendRecv 22000..24000 us
ncclDevKernel_SendRecv 24000..26000 us
ncclDevKernel_SendRecv 26000..28000 us
ncclDevKernel_SendRecv 28000..30000 us
)"},
      {"communication",
       collectives({{"ncclDevKernel_SendRecv", 12 * kMs}, {kReduce, 11 * kMs}})
           .cpu_op("c10d::send", 0, 10),
       R"(communication high x 1.2987 []
Exposed communication: 23.0 ms a step
most in send and receive:
  between stages of a pipeline, more microbatches a step, a schedule with smaller bubbles, or stages of equal length;
  in a ring, compute on one block while the next one is sent
removable_ns 2.3e+07, step_share 0.23, communication_ns 2.3e+07, calls 2
ncclDevKernel_SendRecv 20000..32000 us
)"},
      {"communication",
       collectives({{kReduce, 12 * kMs}, {"ncclDevKernel_SendRecv", 12 * kMs}})
           .cpu_op("c10d::recv_", 0, 10),
       R"(communication high x 1.31579 [batch_size=1..4096]
Exposed communication: 24.0 ms a step
larger batches, or accumulation under no_sync(), make it rarer
removable_ns 2.4e+07, step_share 0.24, communication_ns 2.4e+07, calls 2
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000..32000 us
)"},
      {"communication",
       collectives({{"ncclDevKernel_AllGather_RING_LL", 15 * kMs},
                    {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", 5 * kMs},
                    {kReduce, 12 * kMs},
                    {"ncclDevKernel_Broadcast_RING_LL", 8 * kMs}}),
       R"(communication high x 1.66667 [batch_size=1..4096]
Exposed communication: 40.0 ms a step
most in all_gather, of no sharded model:
  gather metrics and counts less often than each step, or keep ranks equally busy (who comes first waits here)
removable_ns 4e+07, step_share 0.4, communication_ns 4e+07, calls 4
ncclDevKernel_AllGather_RING_LL 20000..35000 us
)"},
      {"communication",
       collectives({{"ncclDevKernel_AllGather_RING_LL", 15 * kMs},
                    {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", 5 * kMs + 1},
                    {kReduce, 12 * kMs},
                    {"ncclDevKernel_Broadcast_RING_LL", 8 * kMs}}),
       R"(communication high x 1.66667 [batch_size=1..4096]
Exposed communication: 40.0 ms a step
prefetch the next shard (backward_prefetch, forward_prefetch), or shard less
removable_ns 4e+07, step_share 0.4, communication_ns 4e+07, calls 4
ncclDevKernel_AllGather_RING_LL 20000..35000 us
)"},
      {"communication", collectives({{"ncclDevKernel_Broadcast_RING_LL", 12 * kMs}}).rank(0, 8),
       R"(communication medium x 1.13636 []
Exposed communication: 12.0 ms a step
most in broadcast:
  send less, or less often than each step (DDP's broadcast_buffers=False sends no buffers);
  or this rank waits for a later one:
  report on the traces of all ranks
removable_ns 1.2e+07, step_share 0.12, communication_ns 1.2e+07, calls 1
ncclDevKernel_Broadcast_RING_LL 20000..32000 us
)"},
      {"communication",
       gpu_step(10 * kMs).kernel(kReduce, 20 * kMs, 70 * kMs,
                                 on_stream(20, 0, R"("Collective name": "barrier")")),
       R"(communication high x 2 []
Exposed communication: 50.0 ms a step
most in barriers, where who comes first waits:
  keep ranks equally busy, or leave out those that the step does not need
removable_ns 5e+07, step_share 0.5, communication_ns 5e+07, calls 1
ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000..70000 us
)"},
      {"accumulation_reduces", accumulating(8 * kMs, 4), R"(accumulation_reduces high x 1.31579 []
Gradients are reduced 4 times a step
24.0 % of the step;
  once is enough:
  all but the last backward pass of each step under `with model.no_sync():`
removable_ns 2.4e+07, step_share 0.24, reductions_a_step 4
DistributedDataParallel.forward 0..5000 us
DistributedDataParallel.forward 25000..30000 us
DistributedDataParallel.forward 50000..55000 us
DistributedDataParallel.forward 75000..80000 us
)"},
      {"startup_recorded", set_up(600 * kMs, 1000 * kMs), R"(startup_recorded medium x ? []
A start-up, not training: 600.0 ms in CUDA set-up
60.0 % of the trace is in 1 call of half a second and more, and no steps are marked:
  record later steps (--schedule wait=1,warmup=1,active=3)
setup_ns 6e+08, trace_share 0.6
cudaFree 1..600001 us
)"},
      {"startup_recorded", first_step(40 * kMs), R"(startup_recorded medium x ? []
Step 0 starts up: 40.0 ms, later steps 10.0 ms
50.0 % of the recorded time passes once in a job, so no other advice is given:
  record later steps (--schedule wait=1,warmup=1,active=3)
setup_ns 3e+07, trace_share 0.5
ProfilerStep#0 0..40000 us
)"},
      {"tensor_cores_unused", mixed_precision(),
       R"(tensor_cores_unused high x 1.50901 [amp=off,bf16,fp16]
Matrix work in FP32 and TF32, none in 16 bits
51.0 % of kernel time could use AMP;
  A100's units are 2 x as fast in bf16;
  what other kernels gain by it is not counted
removable_ns 3.37312e+07, step_share 0.337313, eligible_kernel_share 0.510104, tf32_kernel_share 0.306185
cutlass_80_tensorop_s1688gemm_128x64 20000..50000 us
cutlass_80_tensorop_s1688gemm_128x64 120000..150000 us
)"},
      {"tf32_off", mixed_precision(), R"(tf32_off medium x 1.21186 [tf32=off,on]
FP32 products that TF32 would run on Tensor Cores
20.4 % of kernel time:
  torch.set_float32_matmul_precision("high") keeps the types as they are
removable_ns 1.74825e+07, step_share 0.174825, eligible_kernel_share 0.203919
ampere_sgemm_128x64_tn 20..20000 us
ampere_sgemm_128x64_tn 100020..120000 us
)"},
      {"tf32_off", two_steps([](TraceText& text, int64_t at_ns, int) {
         text.cpu_op("aten::cudnn_convolution", at_ns, at_ns + kMs);
         add_launched(text, at_ns + kUs, "ampere_sgemm_128x64_nn", at_ns + 20 * kMs,
                      at_ns + 60 * kMs);
       }),
       R"(tf32_off high x 1.53846 [tf32=off,on]
FP32 convolutions that could run in TF32
100.0 % of kernel time:
  torch.backends.cudnn.allow_tf32=True (PyTorch's default) keeps the types as they are
removable_ns 3.5e+07, step_share 0.35, eligible_kernel_share 1
ampere_sgemm_128x64_nn 20000..60000 us
ampere_sgemm_128x64_nn 120000..160000 us
)"},
      {"tf32_off", two_steps([](TraceText& text, int64_t at_ns, int) {
         add_launched(text, at_ns + kUs, "cudnn_ampere_scudnn_128x64", at_ns + 20 * kMs,
                      at_ns + 40 * kMs);
         add_launched(text, at_ns + kMs, "ampere_sgemm_128x64_nn", at_ns + 40 * kMs,
                      at_ns + 60 * kMs);
       }),
       R"(tf32_off high x 1.53846 [tf32=off,on]
FP32 products that TF32 would run on Tensor Cores
100.0 % of kernel time:
  torch.set_float32_matmul_precision("high") for products and torch.backends.cudnn.allow_tf32=True (PyTorch's default) for convolutions keep the types as they are
removable_ns 3.5e+07, step_share 0.35, eligible_kernel_share 1
cudnn_ampere_scudnn_128x64 20000..40000 us
ampere_sgemm_128x64_nn 40000..60000 us
cudnn_ampere_scudnn_128x64 120000..140000 us
ampere_sgemm_128x64_nn 140000..160000 us
)"},
      {"float32_matrix_work",
       one_step().cpu_op("aten::mm", 0, 30 * kMs).cpu_op("aten::conv2d", 40 * kMs, 50 * kMs),
       R"(float32_matrix_work high x 1.66667 [amp=off,bf16]
No autocast: 40.0 ms a step in matrix work
convolutions and products, 40.0 % of it;
  bf16 helps where the CPU has it
removable_ns 4e+07, step_share 0.4
aten::mm 0..30000 us
aten::conv2d 40000..50000 us
)"},
      {"batch_of_one", one_step().top(R"("redline": {"inference": true, "samples_per_step": 1})"),
       R"(batch_of_one medium x ? [batch_size=1..16]
Each batch has one sample
a larger batch shares the cost of each call among its samples, if an answer may wait for others
samples_per_step 1
)"},
  };
  return all;
}

TEST(AdviceSentences, WhatRulesSayInFull) {
  for (const Sentence& each : sentences()) EXPECT_EQ(said(each.trace, each.rule), each.said);
}

// Without counts of the whole recording, and without the speed-up.
std::string per_step(const Finding& finding) {
  static const std::regex counts(
      R"([\d,]+ (launch calls|times|calls in [\d,]+ of [\d,]+ steps|of [\d,]+ waits))");
  return fmt::format("{} {} {}\n{}\n{}", finding.rule, severity_name(finding.severity),
                     finding.knob, std::regex_replace(finding.headline, counts, "some"),
                     std::regex_replace(finding.detail, counts, "some"));
}

TEST(AdviceSentences, OfThreeTimesAsManyStepsAreTheSame) {
  int compared = 0;
  for (const Sentence& each : sentences()) {
    if (each.rule == std::string_view("startup_recorded")) continue;  // a first step comes once
    const auto trace = parsed(repeated(each.trace.str(), 3));
    if (!trace) continue;
    ++compared;
    const auto before = advice_on(each.trace), after = advise(analyze(trace));
    const Finding &once = only(before, each.rule), &thrice = only(after, each.rule);
    EXPECT_EQ(per_step(once), per_step(thrice));
    EXPECT_NEAR(once.estimated_speedup.value_or(1), thrice.estimated_speedup.value_or(1), 1e-3);
  }
  EXPECT_GE(compared, 40);
}

TEST(AdviceSentences, StepsThatReduceAsOftenAsTheOneThatReducesLeast) {
  const auto text = two_steps([](TraceText& text, int64_t at_ns, int step) {
    for (int i = 0; i < 3 - step; ++i) {
      const int64_t begin_ns = at_ns + i * 30 * kMs;
      text.annotation("DistributedDataParallel.forward", begin_ns, begin_ns + 5 * kMs);
      text.slice("user_annotation", "gloo:all_reduce", begin_ns + 6 * kMs, begin_ns + 26 * kMs,
                 {.tid = "2"});
    }
  });
  EXPECT_THAT(said(text, "accumulation_reduces"),
              ::testing::HasSubstr("Gradients are reduced 2 times a step"));
}

TEST(AdviceSentences, TheMeanLaunchIsThatOfKernelsThatCompute) {
  const auto detail = [](TraceText text) {
    return said(text.cpu_op("aten::relu", 0, 100 * kMs), "launch_bound");
  };
  EXPECT_THAT(detail(reductions(120, 100 * kUs)), ::testing::HasSubstr("of 10.0 ms each"));
  TraceText alone = gpu_step(0);
  for (int i = 0; i < 100; ++i) {
    alone.kernel(kReduce, i * 200 * kUs, (i * 200 + 100) * kUs, on_stream(20));
  }
  EXPECT_THAT(detail(alone), ::testing::HasSubstr("of 0 ns each"));
}

TEST(AdviceSentences, OfReasonsThatTakeAsLongTheFirstIsNamed) {
  TraceText text = gpu_step(99 * kMs);
  for (const char* values : {R"("heat": 1, "power cap": 1)", R"("heat": 0, "power cap": 0)"}) {
    text.event(fmt::format(R"({{"ph": "C", "cat": "counter", "name": "GPU 0 throttled", "pid": 1, )"
                           R"("tid": 0, "ts": {}, "args": {{{}}}}})",
                           values[8] == '1' ? 0 : 20'000, values));
  }
  EXPECT_THAT(said(text, "gpu_throttled"), ::testing::HasSubstr("GPU 0 is slowed by heat"));
}

TEST(AdviceSentences, ShardsAreKnownByTheFirstNameOfTheTrace) {
  const auto text = [](const char* first) {
    TraceText text;
    text.annotation(first, 0, 10).step(0, 0, 100 * kMs).runtime("cudaLaunchKernel", 20, 30, 1);
    return text.kernel("ncclDevKernel_AllGather_RING_LL", 100, 50 * kMs, on_stream(20, 1));
  };
  EXPECT_THAT(said(text("FSDP::forward"), "communication"), ::testing::HasSubstr("next shard"));
  EXPECT_THAT(said(text("MyModel.forward"), "communication"),
              ::testing::HasSubstr("of no sharded model"));
}

TEST(AdviceSentences, ARangeIsToldOfTheStacksOnlyWhereNoneWereRecorded) {
  const auto detail = [](const char* function) {
    TraceText text = one_step()
                         .annotation("load batch", 0, 70 * kMs)
                         .cpu_op("aten::relu", 70 * kMs, 100 * kMs)
                         .slice("python_function", function, kMs, 69 * kMs);
    return only(redline::testing::advice_on(text), "range_without_operators").detail;
  };
  const std::string range =
      "70.0 % of the step in \"load batch\", whose code waits or computes without operators";
  EXPECT_EQ(detail("data.py(7): decode"), range + ", the longest in data.py(7): decode");
  EXPECT_EQ(detail("torch/storage.py(3): read"), range + ": narrower ranges show which");
}

// Where no steps are marked, the optimizer's tell how many there were.
TEST(AdviceSentences, LimitsAStepHoldForStepsThatAreNotMarked) {
  const auto optimizer = [](int updates, int operators) {
    TraceText text = unmarked(updates);
    for (int i = 0; i < updates * operators; ++i) {
      const int64_t at_ns = (i / operators) * kMs + (i % operators) * 10 * kUs;
      text.cpu_op("aten::add_", at_ns + 2 * kUs, at_ns + 9 * kUs);
    }
    return said(text, "optimizer_per_parameter");
  };
  EXPECT_THAT(optimizer(5, 50), ::testing::HasSubstr("\n250 operators, "));
  EXPECT_EQ(optimizer(5, 49), "");

  const auto launch_bound = [](int updates) {
    TraceText text = unmarked(updates).cpu_op("aten::mm", 0, 99 * kMs);
    for (int i = 0; i < 100; ++i)
      add_launched(text, i * 900 * kUs, "k", (i * 900 + 20) * kUs, (i * 900 + 70) * kUs);
    return said(text, "launch_bound");
  };
  EXPECT_THAT(launch_bound(1), ::testing::HasSubstr("for 100 launches of 50.0 us each"));
  EXPECT_EQ(launch_bound(2), "");
  EXPECT_EQ(launch_bound(0), launch_bound(1)) << "as of JAX: the limit is of the whole trace";

  const auto tiny = [](int updates) {
    TraceText text = unmarked(updates);
    for (int i = 0; i < 1000; ++i) text.cpu_op("b", i * 90 * kUs, i * 90 * kUs + 15 * kUs);
    return said(text, "tiny_operators");
  };
  EXPECT_THAT(tiny(5), ::testing::HasSubstr("Small work: 1,000 operators under 20.0 us\n"));
  EXPECT_EQ(tiny(6), "");

  const auto communication = [](int updates, const char* kernel, int calls) {
    TraceText text = unmarked(updates);
    for (int i = 0; i < calls; ++i) {
      text.kernel(kernel, (10 * kMs) + i * 400 * kUs, 10 * kMs + (i + 1) * 400 * kUs,
                  on_stream(20));
    }
    return only(redline::testing::advice_on(text), "communication").detail.substr(0, 40);
  };
  const char* exchange = "ncclDevKernel_SendRecv";
  EXPECT_EQ(communication(4, exchange, 36), "36 exchanges, as of tokens between exper");
  EXPECT_EQ(communication(4, exchange, 35), "exchange the next batch's data while thi");
  EXPECT_EQ(communication(0, exchange, 36), "no steps are marked, so it may be of emb");
  EXPECT_EQ(communication(2, kReduce, 200), "200 small calls: gather gradients in buc");
  EXPECT_EQ(communication(2, kReduce, 199), "larger batches, or accumulation under no");
  EXPECT_EQ(communication(0, kReduce, 200), "larger batches, or accumulation under no");
}

// Gradients are reduced before an update, and forward of the next step follows it.
TEST(AdviceSentences, AnUpdateEndsAForwardPassWhereNoStepsAreMarked) {
  const auto detail = [](const char* between) {
    TraceText text = unmarked(0);
    for (const int64_t at_ns : {int64_t{0}, 40 * kMs}) {
      text.cpu_op("aten::linear", at_ns + kMs, at_ns + 2 * kMs);
      add_launched(text, at_ns + 5 * kMs, kReduce, at_ns + 6 * kMs, at_ns + 16 * kMs, 20);
      text.annotation(between, at_ns + 20 * kMs, at_ns + 21 * kMs);
    }
    return only(redline::testing::advice_on(text), "communication").detail.substr(0, 40);
  };
  EXPECT_EQ(detail("Optimizer.step#SGD.step"), "larger batches, or accumulation under no");
  EXPECT_EQ(detail("mine"), "1 all-reduces within forward, as of tens");
}

// As a last step that the recording cut off.
TEST(AdviceSentences, CollectivesAfterTheStepsAreNotCounted) {
  TraceText text = reductions(60, 500 * kUs);
  for (int i = 0; i < 45; ++i) {
    text.kernel(kReduce, 200 * kMs + i * 500 * kUs, 200 * kMs + (i + 1) * 500 * kUs);
  }
  const std::string found = said(text, "communication");
  EXPECT_THAT(found, ::testing::HasSubstr("calls 60"));
  EXPECT_THAT(found, ::testing::HasSubstr("communication_ns 3e+07"));
}

// Two whole steps, and a third one that was cut off and does not count.
TEST(AdviceSentences, WhatComesAfterTheStepsHasNoPartInShares) {
  TraceText text;
  text.top(gpu("A100", 8, 0));
  for (int i = 0; i < 3; ++i) {
    const int64_t at_ns = i * 100 * kMs;
    text.step(i + 3, at_ns, at_ns + 100 * kMs);
    text.annotation("Optimizer.step#Adam.step", at_ns + 40 * kMs, at_ns + 90 * kMs);
    const int operators = i < 2 ? 100 : 60;
    for (int k = 0; k < operators; ++k) {
      const int64_t begin_ns = at_ns + 40 * kMs + k * 500 * kUs;
      text.cpu_op("aten::add_", begin_ns, begin_ns + 400 * kUs);
    }
    for (int k = 0; k < (i < 2 ? 5 : 2); ++k) {
      const int64_t begin_ns = at_ns + 5 * k * kMs + 20 * kUs;
      add_launched(text, at_ns + k * kMs, "ampere_sgemm_128x64_tn", begin_ns, begin_ns + 5 * kMs);
    }
  }
  ASSERT_EQ(redline::testing::analysis_of(text).steps.size(), 2);
  EXPECT_THAT(said(text, "optimizer_per_parameter"),
              ::testing::HasSubstr("\n100 operators a step"));
  EXPECT_THAT(said(text, "tensor_cores_unused"),
              ::testing::HasSubstr("100.0 % of kernel time could use AMP"));
}

// A multiprocessor's multiply-adds a cycle in FP32, TF32 and 16 bits: 64, 64 and 512 on a V100.
TEST(AdviceSentences, WhatTensorCoresSaveFollowsFromTheGpu) {
  struct Gpu {
    int major, minor;
    double half_by_float32, tf32_by_float32, half_by_tf32;
    const char* name = "it";
  };
  const std::vector<Gpu> gpus = {{7, 0, 8, 0, 8},
                                 {7, 2, 8, 0, 8},
                                 {7, 5, 8, 0, 8},
                                 {8, 0, 16, 8, 2},
                                 {8, 6, 4, 2, 2},
                                 {8, 7, 4, 2, 2},
                                 {8, 9, 4, 2, 2},
                                 {9, 0, 16, 8, 2},
                                 {10, 0, 32, 16, 2},
                                 {10, 3, 32, 16, 2},
                                 {12, 0, 4, 2, 2},
                                 {12, 1, 4, 2, 2},
                                 // By their datasheets.
                                 {8, 6, 71 / 35.6, 0, 71 / 35.6, "NVIDIA GeForce RTX 3090"},
                                 {8, 9, 2, 0, 2, "NVIDIA GeForce RTX 4090"},
                                 {8, 9, 2, 0, 2, "NVIDIA L40"},
                                 {8, 6, 125 / 31.2, 62.5 / 31.2, 2, "NVIDIA A10"},
                                 {7, 5, 65 / 8.1, 0, 65 / 8.1, "Tesla T4"},
                                 // Of the two no datasheet is known.
                                 {7, 5, 4, 0, 4, "NVIDIA GeForce RTX 2080"},
                                 {8, 6, 2, 0, 2, "NVIDIA GeForce RTX 3060"}};
  for (const Gpu& each : gpus) {
    SCOPED_TRACE(fmt::format("{} {}.{}", each.name, each.major, each.minor));
    const auto on = [&](const char* kernel, const char* rule) {
      const auto findings =
          advice_on(gpu_step(64 * kMs, kernel, gpu(each.name, each.major, each.minor)));
      for (const Finding& finding : findings) {
        if (finding.rule == rule) return std::pair(*finding.estimated_speedup, finding.detail);
      }
      return std::pair(0.0, std::string());
    };
    const auto speedup = [](double times) { return 100 / (100 - 64 * (1 - 1 / times)); };
    const auto [by_half, detail] = on("ampere_sgemm", "tensor_cores_unused");
    EXPECT_NEAR(by_half, speedup(each.half_by_float32), 1e-7);
    EXPECT_EQ(detail,
              fmt::format("100.0 % of kernel time could use AMP; {}'s units are {:.0f} x as fast "
                          "in {}; what other kernels gain by it is not counted",
                          each.name, each.half_by_float32, each.major >= 8 ? "bf16" : "fp16"));
    EXPECT_NEAR(on("ampere_sgemm", "tf32_off").first,
                each.tf32_by_float32 > 0 ? speedup(each.tf32_by_float32) : 0, 1e-7);
    EXPECT_NEAR(on("cutlass_80_tensorop_s1688gemm", "tensor_cores_unused").first,
                speedup(each.half_by_tf32), 1e-7);
  }
}

}  // namespace
}  // namespace redline::trace
