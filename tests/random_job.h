// Made-up ranks of a job, for tests of what holds for every trace: the same seed gives the same
// text on every machine. All that analyses and advice look at is in some of them, of lengths from a
// fraction of a microsecond to tens of milliseconds, so that what they compare is now above a limit
// and now below it.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/trace_text.h"

namespace redline::testing {

/// The same job as others would have recorded it.
struct Recorded {
  int64_t moved_ns = 0;
  int64_t times = 1;         ///< so much longer takes everything
  int threads_from = 0;      ///< is added to the numbers of threads
  int streams_from = 0;      ///< is added to the numbers of streams
  int64_t idle_tail_ns = 0;  ///< passes in the last step after all work
};

class RandomRank {
 public:
  explicit RandomRank(uint64_t seed, int rank = 0, int world_size = 1,
                      const Recorded& recorded = {})
      : shape_(seed), jitter_(seed * 1000 + static_cast<uint64_t>(rank)), recorded_(recorded) {
    is_alone_ = world_size == 1;
    clock_ns_ = rank == 0 ? 0 : static_cast<int64_t>(jitter_() % (2 * kMs)) - kMs;
    drift_ = seed % 4 == 0 && rank > 0 ? 20'000 : 0;  // ns a second
    slow_part_ = static_cast<int>(seed % 6);
    is_slow_ = !is_alone_ && rank == static_cast<int>(seed / 6) % world_size;
    choose_kind(rank, world_size);
    const int64_t steps = between(1, 5);
    const bool is_marked = !one_in(6);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t begin_ns = now_ns_;
      add_step(static_cast<int>(i));
      if (i + 1 == steps) now_ns_ += recorded.idle_tail_ns;
      if (is_marked)
        slice("user_annotation", "ProfilerStep#" + std::to_string(first_step_ + i), begin_ns,
              now_ns_, kMain);
      now_ns_ += one_in(2) ? 0 : length_ns();
    }
  }

  [[nodiscard]] std::string json() const { return text_.str(); }

 private:
  static constexpr int kMain = 1, kBackward = 2, kCommunication = 3;
  static constexpr int kLoading = 0, kForward = 1, kBackwardPass = 2, kUpdate = 3, kAnyPart = 4,
                       kNoPart = 6;
  static constexpr int64_t kBeginNs = 1'000 * kMs, kPeriodNs = 200 * kMs;

  struct Operator {
    const char *name, *sizes, *types, *values, *kernel;
  };
  static constexpr std::array<Operator, 16> kOperators = {{
      {"aten::mm", "[[4096, 1024], [1024, 1024]]", R"(["float", "float"])", R"(["", ""])",
       "volta_sgemm_128x64_nn"},
      {"aten::mm", "[[8192, 4096], [4096, 50257]]", R"(["c10::BFloat16", "c10::BFloat16"])",
       R"(["", ""])", "cutlass_80_tensorop_bf16_s16816gemm_align1"},
      {"aten::addmm", "[[1000], [8, 16384], [16384, 1000], [], []]",
       R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])",
       R"(["", "", "", "1", "1"])", "ampere_fp16_s16816gemm_fp16_128x64_ldg8_nn"},
      {"aten::bmm", "[[64, 512, 64], [64, 64, 512]]", R"(["float", "float"])", R"(["", ""])",
       "cutlass_80_tensorop_s1688gemm_128x64_nn_align4"},
      {"aten::_softmax", "[[64, 512, 512], [], []]", R"(["float", "Scalar", "Scalar"])",
       R"(["", "-1", "False"])", "softmax_warp_forward"},
      {"aten::bmm", "[[64, 512, 512], [64, 512, 64]]", R"(["float", "float"])", R"(["", ""])",
       "cutlass_80_tensorop_s1688gemm_64x64_nn_align4"},
      {"aten::cudnn_convolution", "[[32, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
       R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
       R"(["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])",
       "void cudnn::winograd_nonfused::convolve_sgemm"},
      {"aten::convolution", "[[8, 16, 32, 32], [32, 16, 3, 3], [], [], [], [], [], [], []]",
       R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])",
       R"(["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])",
       "void cudnn::ops::nchwToNhwcKernel<float>"},
      {"aten::add", "[[512, 512, 64], [512, 512, 64], []]", R"(["float", "float", "Scalar"])",
       R"(["", "", "1"])", "void at::native::vectorized_elementwise_kernel<4>"},
      {"aten::mul", "[[64, 1024], [64, 1024]]", R"(["c10::BFloat16", "c10::BFloat16"])",
       R"(["", ""])", "void at::native::elementwise_kernel<128, 2>"},
      {"aten::cat", "[[[64, 64], [64, 64]], []]", R"(["TensorList", "Scalar"])", R"(["", "1"])",
       "at::native::CatArrayBatchedCopy<OpaqueType<2u>>"},
      {"aten::native_layer_norm", "[[64, 1024], [], [1024], [1024], []]",
       R"(["float", "ScalarList", "float", "float", "Scalar"])",
       R"(["", "[1024]", "", "", "1e-05"])", "vectorized_layer_norm_kernel"},
      {"aten::contiguous", "[[32, 64, 64]]", R"(["float"])", R"([""])", "void CopyBackwardKernel"},
      {"aten::embedding", "[[50257, 1024], [8, 128]]", R"(["float", "long int"])", R"(["", ""])",
       "indexSelectLargeIndex"},
      {"aten::item", "[[]]", R"(["float"])", R"([""])", nullptr},
      {"aten::relu", "[[64, 1024]]", R"(["float"])", R"([""])", nullptr},
  }};

  uint64_t random() { return shape_(); }
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(random() % static_cast<uint64_t>(last - first + 1));
  }
  bool one_in(uint64_t n) { return random() % n == 0; }
  template <typename T, size_t N>
  const T& one_of(const std::array<T, N>& all) {
    return all[random() % N];
  }

  /// As many short lengths as long ones; of the ranks of a job, up to a quarter longer or shorter.
  int64_t length_ns(int64_t least = 200, int64_t most = 8 * kMs) {
    int64_t ns = least;
    while (ns < most && !one_in(5)) ns *= 2;
    ns += between(0, ns);
    if (is_slow_ && (part_ == slow_part_ || slow_part_ == kAnyPart)) ns *= 3;
    return ns - ns / 4 + static_cast<int64_t>(jitter_() % static_cast<uint64_t>(ns / 2 + 1));
  }

  void choose_kind(int rank, int world_size) {
    constexpr std::array<const char*, 6> kGpus = {
        R"("name":"Tesla V100-SXM2-16GB","totalGlobalMem":16000000,"computeMajor":7,"computeMinor":0,"numSms":80)",
        R"("name":"Tesla T4","totalGlobalMem":15000000,"computeMajor":7,"computeMinor":5,"numSms":40)",
        R"("name":"NVIDIA A100-SXM4-40GB","totalGlobalMem":40000000,"computeMajor":8,"computeMinor":0,"numSms":108)",
        R"("name":"NVIDIA GeForce RTX 4090","totalGlobalMem":24000000,"computeMajor":8,"computeMinor":9,"numSms":128)",
        R"("name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85000000,"computeMajor":9,"computeMinor":0,"numSms":132)",
        R"("name":"Made up","totalGlobalMem":10000000,"computeMajor":6,"computeMinor":1)"};
    const char* gpu = one_of(kGpus);
    devices_ = one_in(8) ? 0 : one_in(4) ? 2 : 1;
    if (devices_ > 0) {
      text_.top(fmt::format(R"("deviceProperties": [{{"id":0,{0}}},{{"id":1,{0}}}])", gpu));
    }
    is_amd_ = one_in(8);
    if (is_amd_) text_.top(R"("roctracer_version": 4.1)");
    has_shapes_ = !one_in(4), has_modules_ = !one_in(3), has_memory_ = !one_in(3);
    busy_host_ = one_in(2), optimizer_operators_ = one_in(2) ? between(50, 80) : between(1, 9);
    launches_ = one_in(3) ? between(4, 9) : 1;
    first_step_ = between(0, 2);
    backend_ = one_in(4) || devices_ == 0 ? "gloo" : "nccl";
    has_sequences_ = !one_in(3), has_group_sizes_ = !one_in(3);
    groups_ = one_in(2) ? "0" : "tp_group";
    if (world_size > 1 || one_in(3)) text_.rank(rank, world_size, backend_);
    collectives_ = world_size > 1 ? between(1, 4) : between(0, 2);
    std::string redline =
        fmt::format(R"("clocks": [{{"realtime_ns": {}, "monotonic_ns": 500}}])", 900 + 7 * rank);
    if (world_size > 1 && one_in(2)) text_.top(fmt::format(R"("host_name": "node{}")", rank / 2));
    if (one_in(2))
      redline += fmt::format(R"(, "samples_per_step": {})", between(1, 3) * world_size);
    if (one_in(5)) redline += R"(, "inference": true)";
    if (one_in(5)) redline += R"(, "dropped": 3)";
    text_.top(fmt::format(R"("redline": {{{}}})", redline));
    text_.top(fmt::format(R"("run": {{"machine": {{"usable_cores": {}}}}})", between(1, 32)));
  }

  [[nodiscard]] int64_t on_clock(int64_t ns) const {
    return recorded_.moved_ns +
           (ns + clock_ns_ + ns / 1'000'000 * drift_ / 1'000) * recorded_.times;
  }
  /// When all ranks leave a collective.
  [[nodiscard]] int64_t common_end_ns() {
    const int64_t scatter_ns = static_cast<int64_t>(jitter_() % (20 * kUs));
    return kBeginNs + step_ * kPeriodNs + kPeriodNs / 2 + (sequence_ % 4) * 8 * kMs + scatter_ns;
  }
  void slice(const std::string& category, const std::string& name, int64_t begin_ns, int64_t end_ns,
             int thread, uint32_t correlation = 0, const std::string& args = {}) {
    text_.slice(category, name, on_clock(begin_ns), on_clock(end_ns),
                {.tid = std::to_string(thread + recorded_.threads_from),
                 .correlation = correlation,
                 .args = args});
  }
  /// On the main thread, behind what it did last.
  void add_next(const std::string& category, const std::string& name, int64_t ns) {
    slice(category, name, now_ns_, now_ns_ + ns, kMain);
    now_ns_ += ns;
  }
  std::string stamp(int64_t ns) const {
    return fmt::format("{}.{:03}", on_clock(ns) / 1000, on_clock(ns) % 1000);
  }

  std::string runtime_name(const char* call) const {
    return std::string(is_amd_ ? "hip" : "cuda") + call;
  }
  /// A call on the thread from `at_ns` on, and the work that it starts; returns the call's end.
  int64_t launch(int thread, int64_t at_ns, const std::string& category, const std::string& name,
                 int stream, int64_t work_ns, std::string args = {}, int64_t until_ns = 0) {
    const bool copies = category != "kernel";
    const int device = devices_ == 2 && one_in(3) ? 1 : 0;
    const int64_t call_ns = one_in(12) ? length_ns(100 * kUs, 4 * kMs) : length_ns(500, 20 * kUs);
    const uint32_t id = one_in(20) ? 0 : ++correlation_;
    int64_t& free_ns = free_ns_[{device, stream}];
    const int number = stream + recorded_.streams_from;
    const int64_t launched_ns = at_ns + length_ns(300, 30 * kUs);
    const int64_t begin_ns =
        std::max(launched_ns, free_ns + (one_in(2) ? 0 : length_ns(100, 50 * kUs)));
    free_ns = until_ns > begin_ns ? until_ns : begin_ns + work_ns;
    const bool waits = name.find("Pageable") != std::string::npos;
    const int64_t end_ns = waits ? std::max(at_ns + call_ns, free_ns) : at_ns + call_ns;
    slice("cuda_runtime", runtime_name(copies ? "MemcpyAsync" : "LaunchKernel"), at_ns, end_ns,
          thread, id);
    if (one_in(2)) args += fmt::format(R"(,"est. achieved occupancy %": {})", between(1, 99));
    if (one_in(2)) args += fmt::format(R"(,"blocks per SM": {}.5)", between(0, 3));
    text_.slice(category, name, on_clock(begin_ns), on_clock(free_ns),
                {.pid = std::to_string(device),
                 .tid = std::to_string(number),
                 .correlation = id,
                 .args = fmt::format(R"("device": {}, "stream": {}{})", device, number, args)});
    last_end_ns_ = std::max(last_end_ns_, free_ns);
    return end_ns;
  }

  void memory(int64_t at_ns, int64_t bytes) {
    if (!has_memory_) return;
    allocated_ += bytes;
    reserved_ = std::max(reserved_, allocated_ + between(0, 1 << 20));
    text_.event(fmt::format(
        R"({{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":{},"ts":{},"args":{{"Device Type":{},)"
        R"("Device Id":0,"Addr":{},"Bytes":{},"Total Allocated":{},"Total Reserved":{}}}}})",
        kMain + recorded_.threads_from, stamp(at_ns), devices_ > 0 ? 1 : 0, std::abs(bytes), bytes,
        allocated_, reserved_));
  }
  void counter(int64_t at_ns, const char* name, const char* series, int64_t value) {
    text_.event(
        fmt::format(R"({{"ph":"C","name":"{}","pid":1,"tid":0,"ts":{},"args":{{"{}":{}}}}})", name,
                    stamp(at_ns), series, value));
  }

  /// An operator with what it launches; returns its end.
  int64_t call(const Operator& each, int thread, int64_t at_ns, const std::string& more = {}) {
    const int64_t begin_ns = at_ns;
    at_ns += length_ns(200, busy_host_ ? kMs : 10 * kUs);
    const int64_t held = between(1, 4) << 20;
    if (one_in(3)) memory(at_ns, held);
    if (devices_ > 0 && each.kernel && !one_in(5)) {
      for (int64_t i = 0; i < launches_; ++i) {
        const int stream = one_in(5) ? 9 : 7;
        at_ns = launch(thread, at_ns, "kernel", each.kernel, stream, length_ns()) + 100;
      }
    } else if (devices_ > 0 && !each.kernel && one_in(2)) {
      const int64_t end_ns = std::max(at_ns + length_ns(), last_end_ns_);
      slice("cuda_runtime", runtime_name("StreamSynchronize"), at_ns, end_ns, thread);
      at_ns = end_ns;
    } else {
      at_ns += length_ns();
    }
    if (one_in(3)) memory(at_ns, -held);
    at_ns += length_ns(100, 5 * kUs);
    std::string args = more;
    if (has_shapes_) {
      args += fmt::format(R"({}"Input Dims": {}, "Input type": {}, "Concrete Inputs": {})",
                          more.empty() ? "" : ", ", each.sizes, each.types, each.values);
    }
    slice("cpu_op", each.name, begin_ns, at_ns, thread, 0, args);
    return at_ns;
  }

  void frame(const std::string& name, int64_t begin_ns, int64_t end_ns) {
    if (has_modules_) slice("python_function", name, begin_ns, end_ns, kMain);
  }

  void add_step(int step) {
    step_ = step;
    if (!is_alone_) {
      const int64_t late_ns = static_cast<int64_t>(jitter_() % (3 * kMs));
      now_ns_ = std::max(now_ns_, kBeginNs + step * kPeriodNs + late_ns);
    }
    now_ns_ += length_ns(200, 20 * kUs);
    part_ = kLoading;
    if (one_in(2)) load_batch();
    part_ = kForward;
    const int64_t forward_ns = now_ns_;
    if (one_in(3)) counter(now_ns_, "GPU 0 throttled", one_in(2) ? "heat" : "power cap", step % 2);
    if (one_in(3)) counter(now_ns_, "DataLoader worker 7", "busy %", between(1, 100));
    if (one_in(3)) counter(now_ns_, "CPU", "busy %", between(1, 100));
    std::vector<int64_t> arrows_ns;
    for (int64_t layer = between(1, 4); layer > 0; --layer) {
      const int64_t begin_ns = now_ns_;
      for (int64_t i = between(1, 5); i > 0; --i) {
        now_ns_ += length_ns(200, busy_host_ ? kMs : 20 * kUs);
        arrows_ns.push_back(now_ns_ + 50);
        const int64_t operator_ns = now_ns_;
        now_ns_ = call(one_of(kOperators), kMain, now_ns_ + 20,
                       fmt::format(R"("Sequence number": {})", arrows_ns.size()));
        frame(fmt::format("nn.Module: Linear_{}", i), operator_ns, now_ns_ + 10);
      }
      frame(fmt::format("nn.Module: Block_{}", layer), begin_ns + 50, now_ns_ + 20);
      now_ns_ += 100;
    }
    frame("nn.Module: Model_0", forward_ns + 20, now_ns_ - 10);
    part_ = kBackwardPass;
    if (!one_in(4)) backward(arrows_ns);
    part_ = kNoPart;
    for (int64_t i = 0; i < collectives_; ++i) collective(step);
    part_ = kUpdate;
    if (!one_in(4)) update();
    part_ = kNoPart;
    if (one_in(4)) {
      const char* call = one_in(2) ? "Malloc" : "Free";
      add_next("cuda_runtime", runtime_name(call), length_ns());
    }
    if (one_in(2)) {
      now_ns_ += 100;
      const int64_t end_ns = std::max(now_ns_ + length_ns(500, 10 * kUs), last_end_ns_ + 300);
      slice("cuda_runtime", runtime_name("DeviceSynchronize"), now_ns_, end_ns, kMain);
      now_ns_ = end_ns;
    }
    now_ns_ += length_ns();
  }

  void load_batch() {
    const int64_t end_ns = now_ns_ + length_ns(1000, 20 * kMs);
    slice("user_annotation",
          one_in(2) ? "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
                    : "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
          now_ns_, end_ns, kMain);
    now_ns_ = end_ns + 100;
    if (devices_ == 0) return;
    const int64_t begin_ns = now_ns_;
    const char* copy =
        one_in(2) ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)";
    const int64_t copy_ns = length_ns(1000, 4 * kMs), bytes = between(1, 64) << 16;
    now_ns_ = launch(
        kMain, now_ns_ + 100, "gpu_memcpy", copy, 7, copy_ns,
        fmt::format(R"~(, "bytes": {}, "memory bandwidth (GB/s)": {})~", bytes, between(1, 20)));
    if (one_in(3)) {
      now_ns_ = launch(kMain, now_ns_ + 100, "gpu_memset", "Memset (Device)", 7,
                       length_ns(500, 100 * kUs), R"(, "bytes": 4096)");
    }
    now_ns_ += 200;
    slice("cpu_op", "aten::to", begin_ns, now_ns_, kMain);
    now_ns_ += 100;
  }

  void backward(const std::vector<int64_t>& arrows_ns) {
    const int64_t begin_ns = now_ns_ + 100;
    int64_t at_ns = begin_ns + length_ns(500, 50 * kUs);
    struct Node {
      std::string name;
      size_t number;
      int64_t begin_ns, inner_ns;
    };
    std::vector<Node> open;
    const auto close = [&] {
      for (; !open.empty(); open.pop_back()) {
        const auto& [name, number, node_ns, inner_ns] = open.back();
        at_ns += 100;
        slice("cpu_op", name, inner_ns, at_ns, kBackward, 0,
              fmt::format(R"("Sequence number": {}, "Fwd thread id": 1)", number));
        at_ns += 100;
        slice("cpu_op", "autograd::engine::evaluate_function: " + name, node_ns, at_ns, kBackward);
      }
    };
    for (size_t i = arrows_ns.size(); i-- > 0 && !one_in(12);) {
      const int64_t node_ns = at_ns;
      const bool is_again = one_in(10);
      const std::string node = is_again ? "CheckpointFunctionBackward" : "MulBackward0";
      text_.event(fmt::format(
          R"({{"ph":"s","id":{0},"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":{1},"ts":{2},"bp":"e"}})",
          ++arrow_, kMain + recorded_.threads_from, stamp(arrows_ns[i])));
      text_.event(fmt::format(
          R"({{"ph":"f","id":{0},"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":{1},"ts":{2},"bp":"e"}})",
          arrow_, kBackward + recorded_.threads_from, stamp(node_ns + 100)));
      const int64_t inner_ns = at_ns + 100;
      open.push_back({node, i + 1, node_ns, inner_ns});
      // A checkpoint runs the forward operators again, then the nodes of their gradients within it.
      at_ns = call(one_of(kOperators), kBackward, at_ns + 200,
                   is_again ? fmt::format(R"("Sequence number": {})", i + 1) : "");
      if (is_again && has_modules_)
        slice("python_function", "nn.Module: Linear_1", inner_ns + 20, at_ns + 20, kBackward);
      if (!is_again) close();
      at_ns += one_in(3) ? length_ns() : 200;
    }
    close();
    if (one_in(2))
      slice("python_function", "torch/autograd/__init__.py(99): backward", begin_ns, at_ns + 300,
            kMain);
    now_ns_ = at_ns + length_ns(500, 100 * kUs);
  }

  void collective(int step) {
    constexpr std::array<std::pair<const char*, const char*>, 4> kKinds = {
        {{"allreduce", "AllReduce_Sum_f32"},
         {"_allgather_base", "AllGather"},
         {"_reduce_scatter_base", "ReduceScatter_Sum_f32"},
         {"alltoall", "SendRecv"}}};
    const auto& [kind, kernel] = one_of(kKinds);
    const int64_t sent = between(1, 99) * 4096, received = between(1, 99) * 4096;
    const std::string args = fmt::format(
        R"("Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"dtype":"Float"{},)"
        R"("Process Group Name":"{}"{})",
        kind, sent, received, has_group_sizes_ ? R"(,"Group size":4)" : "", groups_,
        has_sequences_ ? fmt::format(R"(,"Seq":{})", sequence_) : "");
    ++sequence_;
    const int64_t begin_ns = now_ns_ + 100;
    if (backend_ == "gloo") {
      const int64_t ns = length_ns(10 * kUs, 20 * kMs);
      const bool beside = one_in(2);
      const int64_t from_ns = beside ? std::max(begin_ns, beside_ns_) : begin_ns;
      const int64_t end_ns = is_alone_ ? from_ns + ns : std::max(from_ns + kUs, common_end_ns());
      slice("user_annotation", "gloo:all_reduce", from_ns, end_ns, beside ? kCommunication : kMain,
            0, args);
      (beside ? beside_ns_ : now_ns_) = end_ns;
      if (beside) now_ns_ += length_ns(500, kMs);
    } else {
      const int64_t work_ns = length_ns(2 * kUs, 20 * kMs);
      now_ns_ =
          launch(kMain, begin_ns + 200, "kernel",
                 fmt::format("ncclDevKernel_{}_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kernel),
                 20, work_ns, "," + args, is_alone_ ? 0 : common_end_ns());
      slice("cpu_op", "record_param_comms", begin_ns + 100, now_ns_ + 100, kMain, 0, args);
      now_ns_ += 200;
      slice("user_annotation", fmt::format("nccl:{}", kind), begin_ns, now_ns_, kMain);
    }
    now_ns_ += 100;
    if (one_in(3)) add_next("user_annotation", "DistributedDataParallel.forward", 500 + step);
    now_ns_ += 100;
  }

  void update() {
    constexpr std::array<const char*, 4> kNames = {"AdamW.step", "SGD.step", "RMSprop.step",
                                                   "Lion.step"};
    const int64_t begin_ns = now_ns_;
    now_ns_ += length_ns(200, 5 * kUs);
    for (int64_t i = 0; i < optimizer_operators_; ++i) {
      const int64_t operator_ns = now_ns_;
      now_ns_ += length_ns(1000, 50 * kUs);
      if (devices_ > 0 && i % 4 == 0)
        now_ns_ = launch(kMain, now_ns_, "kernel", "multi_tensor_apply_kernel", 7,
                         length_ns(500, 200 * kUs)) +
                  100;
      slice("cpu_op", "aten::mul_", operator_ns, now_ns_, kMain);
      now_ns_ += 100;
    }
    now_ns_ += 100;
    slice("user_annotation", std::string("Optimizer.step#") + one_of(kNames), begin_ns, now_ns_,
          kMain);
    now_ns_ += 100;
  }

  std::mt19937_64 shape_;   // what happens: the same on all ranks
  std::mt19937_64 jitter_;  // how long it takes
  Recorded recorded_;
  TraceText text_;
  int devices_ = 1;
  bool is_amd_ = false, has_shapes_ = true, has_modules_ = true, has_memory_ = true;
  bool busy_host_ = false, is_alone_ = true, is_slow_ = false, has_sequences_ = true,
       has_group_sizes_ = true;
  int part_ = kNoPart, slow_part_ = kNoPart, step_ = 0;
  int64_t clock_ns_ = 0, drift_ = 0;
  int64_t optimizer_operators_ = 1, launches_ = 1, collectives_ = 0, first_step_ = 0;
  std::string backend_, groups_;
  std::map<std::pair<int, int>, int64_t> free_ns_;  // by device and stream
  int64_t now_ns_ = kBeginNs, last_end_ns_ = 0, beside_ns_ = 0;
  int64_t allocated_ = 8 << 20, reserved_ = 0;
  uint32_t correlation_ = 0, arrow_ = 0;
  int64_t sequence_ = 0;
};

}  // namespace redline::testing
