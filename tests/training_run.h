// The one generator of GPU traces for tests. It makes three steps of data-parallel training that
// have everything that is analysed and painted: operators in operators, launches, kernels, copies,
// collectives, a backward pass, memory, counters, stacks. Kernels can have the names of three kinds
// of libraries.
//
// The viewer's pictures, tests/fixtures/gpu and samples/traces are made with it. All times are set
// by hand, so that a test can expect each figure before anything is computed.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "tests/trace_text.h"
#include "trace/read/reader.h"

namespace redline::testing {

/// How a GPU's libraries name the same work.
struct GpuKind {
  const char* top;       ///< top-level members that describe the GPU
  const char* runtime;   ///< prefix of the runtime's calls: "cuda" or "hip"
  const char* forward;   ///< the kernel of aten::conv2d
  const char* product;   ///< the kernel of aten::addmm
  const char* gradient;  ///< the kernel of aten::mm
  const char* backward;  ///< the kernel of ConvolutionBackward0
  const char* all_reduce;
  double blocks_per_sm = 0;  ///< of each kernel; 0: the file does not say
  bool graph = false;  ///< in each step one launch starts all kernels, and no operator is called
};

inline constexpr GpuKind kV100 = {
    R"("deviceProperties": [{"id":0,"name":"Tesla V100"}])",
    "cuda",
    "void cutlass__5x_cudnn::implicit_convolve_sgemm<float, 128, 6>(int)",
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_nn",
    "ampere_fp16_s16816gemm_fp16_64x64_ldg8_nt",
    "cudnn::wgrad_alg1_engine",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"};

/// A B200 that runs a CUDA graph: attention in FP8 and products with the names of TensorRT-LLM and
/// cuBLAS, and an all-reduce in symmetric memory.
inline constexpr GpuKind kB200Graph = {
    R"("deviceProperties": [{"id":0,"name":"NVIDIA B200","totalGlobalMem":191514541056,)"
    R"("computeMajor":10,"computeMinor":0,"numSms":148}])",
    "cuda",
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
    "nvjet_tst_128x256_64x6_2x1_2cta_v_bz_TNT",
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_dynBatch_sm100f",
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16>(int)",
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    0.75,
    true};

/// An MI300X: convolutions and products in BFloat16 with the names of MIOpen and hipBLASLt, and
/// RCCL.
inline constexpr GpuKind kMi300x = {
    R"("roctracer_version": 4.1,
"deviceProperties": [{"id":0,"name":"AMD Instinct MI300X","totalGlobalMem":206141652992,)"
    R"("computeMajor":9,"computeMinor":4}])",
    "hip",
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x32x64_MI16x16x1_SN",
    "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x16x1_SN",
    "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64_wt32x32x8_ws1x1_wr1x1",
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"};

class TrainingRun {
 public:
  static constexpr int kSteps = 3;

  /// A matrix product takes `gemm_us` on this rank and `slowest_us` on the slowest one, for which
  /// all wait.
  TrainingRun(int rank, double gemm_us, double slowest_us, const GpuKind& gpu = kV100)
      : gpu_(gpu),
        rank_(rank),
        main_(4000 + rank),
        autograd_(4050 + rank),
        gemm_us_(gemm_us),
        slowest_us_(slowest_us) {
    text_.top(gpu.top).rank(rank, 2, "nccl");
    name_thread(main_, "python");
    name_thread(autograd_, "pt_autograd_0");
    for (int step = 0; step < kSteps; ++step) add_step(step);
  }

  [[nodiscard]] std::string json() const { return text_.str(); }
  [[nodiscard]] std::shared_ptr<const trace::Trace> read() const {
    return trace::parse_trace(fmt::format("/data/run/rank{}.pt.trace.json", rank_), json()).value();
  }

 private:
  static constexpr int64_t kStartUs = 1'790'000'000'000'000;
  static constexpr int64_t kMiB = 1 << 20;
  /// Time of the first launch, which is the only one of a graph.
  static constexpr double kGraphLaunchUs = 2600;

  void add_step(int step) {
    const double length_us = 12'000 + slowest_us_ + 60 * step;
    host(main_, "user_annotation", fmt::format("ProfilerStep#{}", step + 8), 0, length_us);
    add_loading();
    add_forward();
    add_backward();
    add_all_reduce(step);
    add_optimizer();
    counter(200, "CPU", "busy %", step == 1 ? 62.5 : 40);
    counter(7000, "CPU", "busy %", 90);
    counter(100, "GPU 0 power", "W", 120 + 30 * step);
    counter(6000, "GPU 0 power", "W", 285);
    at_ += length_us + 50;
  }

  void add_loading() {
    host(main_, "user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
         100, 1400);
    host(main_, "cpu_op", "aten::to", 1600, 400);
    launch(main_, "MemcpyAsync", 1700, {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7}, 1850,
           600, R"("bytes":6291456,)");
  }

  void add_forward() {
    host(main_, "python_function", "train.py(21): forward", 2100, 2800);
    host(main_, "cpu_op", "aten::conv2d", 2200, 1200,
         R"("Input Dims":[[64,3,32,32],[64,3,3,3]],"Call stack":"train.py(21): forward;)"
         R"(train.py(48): step;train.py(60): <module>")");
    host(main_, "cpu_op", "aten::cudnn_convolution", 2300, 900);
    memory(2350, 96 * kMiB);
    launch(main_, "LaunchKernel", kGraphLaunchUs, {"kernel", gpu_.forward, 7}, 2850, 1800,
           R"("est. achieved occupancy %":61,)");
    host(main_, "cpu_op", "aten::linear", 3600, 1200);
    host(main_, "cpu_op", "aten::addmm", 3700, 1000);
    flow('s', main_, 3710);
    memory(3750, 32 * kMiB);
    launch(main_, "LaunchKernel", 4100, {"kernel", gpu_.product, 7}, 4750, gemm_us_,
           R"("est. achieved occupancy %":38,)");
  }

  void add_backward() {
    host(autograd_, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 5100, 1200);
    host(autograd_, "cpu_op", "AddmmBackward0", 5200, 1000);
    flow('f', autograd_, 5200);
    host(autograd_, "cpu_op", "aten::mm", 5300, 800);
    launch(autograd_, "LaunchKernel", 5500, {"kernel", gpu_.gradient, 7}, 4850 + gemm_us_, 1500,
           R"("est. achieved occupancy %":40,)");
    memory(6250, -32 * kMiB);
    host(autograd_, "cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 6400,
         1300);
    host(autograd_, "cpu_op", "ConvolutionBackward0", 6450, 1200);
    launch(autograd_, "LaunchKernel", 6800, {"kernel", gpu_.backward, 7}, 6400 + gemm_us_, 1100,
           R"("est. achieved occupancy %":72,)");
    memory(7500, -96 * kMiB);
  }

  // All ranks leave the all-reduce together; the rank with the slow kernels joins late.
  void add_all_reduce(int step) {
    const double begin_us = 6000 + gemm_us_;
    const double end_us = 8700 + slowest_us_;
    host(autograd_, "cpu_op", "nccl:all_reduce", 7750, 250);
    launch(autograd_, "LaunchKernel", 7850, {"kernel", gpu_.all_reduce, 20}, begin_us,
           end_us - begin_us,
           fmt::format(R"("Collective name":"allreduce","In msg nelems":2097152,)"
                       R"("Out msg nelems":2097152,"dtype":"Float","Group size":2,)"
                       R"("Process Group Name":"0","Process Group Description":"default_pg",)"
                       R"("Seq":{},)",
                       40 + step));
  }

  void add_optimizer() {
    host(main_, "user_annotation", "Optimizer.step#SGD.step", 8300, 1200);
    host(main_, "cpu_op", "aten::_foreach_add_", 8400, 900);
    launch(main_, "LaunchKernel", 8700,
           {"kernel", "void at::native::multi_tensor_apply_kernel<4, float>(at::native::Add)", 7},
           8750 + slowest_us_, 450, R"("est. achieved occupancy %":20,)");
    launch(main_, "DeviceSynchronize", 9600, {}, 0, slowest_us_ - 300);
  }

  struct Work {
    const char* category = nullptr;
    const char* name = nullptr;
    int stream = 0;
  };

  void host(int thread, const std::string& category, const std::string& name, double begin_us,
            double length_us, const std::string& args = {}) {
    // A graph replays work without the operators that it was captured from.
    if (gpu_.graph && (category == "cpu_op" || category == "python_function")) return;
    slice(category, name, main_, thread, begin_us, length_us, args);
  }
  void slice(const std::string& category, const std::string& name, int pid, int tid,
             double begin_us, double length_us, const std::string& args) {
    const int64_t begin_ns = kStartUs * kUs + std::llround((at_ + begin_us) * kUs);
    text_.slice(category, name, begin_ns, begin_ns + std::llround(length_us * kUs),
                {.pid = std::to_string(pid), .tid = std::to_string(tid), .args = args});
  }
  /// Adds a call of the runtime and the work that it starts on the GPU. Without work the call
  /// itself takes `length_us`.
  void launch(int thread, const char* call, double called_us, const Work& work, double begin_us,
              double length_us, const std::string& args = {}) {
    const std::string category = work.name ? work.category : "";
    const bool in_graph = gpu_.graph && category == "kernel";
    if (!in_graph || called_us == kGraphLaunchUs) {
      ++correlation_;
      host(thread, "cuda_runtime", std::string(gpu_.runtime) + (in_graph ? "GraphLaunch" : call),
           called_us, work.name ? 90 : length_us, fmt::format(R"("correlation":{})", correlation_));
    }
    if (!work.name) return;
    std::string own = args;
    if (gpu_.blocks_per_sm > 0 && category == "kernel") {
      own += fmt::format(R"("blocks per SM":{},)", gpu_.blocks_per_sm);
    }
    if (in_graph) own += fmt::format(R"("graph id":1,"graph node id":{},)", std::lround(called_us));
    slice(category, work.name, 0, work.stream, begin_us, length_us,
          fmt::format(R"({}"device":0,"stream":{},"correlation":{})", own, work.stream,
                      correlation_));
  }
  void flow(char phase, int thread, double at_us) {
    if (gpu_.graph) return;
    text_.event(fmt::format(R"({{"ph":"{}","id":{:.0f},"cat":"fwdbwd","name":"fwdbwd","pid":{},)"
                            R"("tid":{},"ts":{:.0f},"bp":"e"}})",
                            phase, at_, main_, thread, kStartUs + at_ + at_us));
  }
  void memory(double at_us, int64_t bytes) {
    allocated_ += bytes;
    text_.event(fmt::format(
        R"({{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":{},"tid":{},)"
        R"("ts":{:.0f},"args":{{"Device Type":1,"Device Id":0,"Addr":{},"Bytes":{},)"
        R"("Total Allocated":{},"Total Reserved":{}}}}})",
        main_, main_, kStartUs + at_ + at_us, std::abs(bytes), bytes, allocated_, 384 * kMiB));
  }
  void counter(double at_us, const char* name, const char* series, double value) {
    text_.event(
        fmt::format(R"({{"ph":"C","name":"{}","pid":{},"tid":0,"ts":{:.0f},"args":{{"{}":{}}}}})",
                    name, main_, kStartUs + at_ + at_us, series, value));
  }
  void name_thread(int thread, const char* name) {
    text_.event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"ts":1,)"
                            R"~("args":{{"name":"thread {} ({})"}}}})~",
                            main_, thread, thread, name));
  }

  TraceText text_;
  GpuKind gpu_;
  int rank_;
  int main_;
  int autograd_;
  double gemm_us_;
  double slowest_us_;
  double at_ = 0;
  int correlation_ = 0;
  int64_t allocated_ = 200 * kMiB;
};

}  // namespace redline::testing
