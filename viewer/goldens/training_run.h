// Three steps of data-parallel training that have one of everything the viewer paints: operators in
// operators, launches, kernels, copies, collectives, a backward pass, memory, counters, stacks.
#pragma once

#include "viewer/models/testing_trace.h"

namespace redline::viewer {

class TrainingRun {
 public:
  static constexpr int kSteps = 3;
  static constexpr const char* kAllReduce =
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

  /// A matrix product takes `gemm_us`, and `slowest_us` on the slowest rank, which all wait for.
  TrainingRun(int rank, double gemm_us, double slowest_us)
      : trace_(rank, kStartUs),
        main_(4000 + rank),
        autograd_(4050 + rank),
        gemm_us_(gemm_us),
        slowest_us_(slowest_us) {
    name_thread(main_, "python");
    name_thread(autograd_, "pt_autograd_0");
    for (int step = 0; step < kSteps; ++step) add_step(step);
  }

  [[nodiscard]] std::shared_ptr<const trace::Trace> read() const { return trace_.read(); }

 private:
  static constexpr int64_t kStartUs = 1'790'000'000'000'000;
  static constexpr int64_t kMiB = 1 << 20;

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
    launch(main_, "cudaMemcpyAsync", 1700, {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7},
           1850, 600, R"("bytes":6291456,)");
  }

  void add_forward() {
    host(main_, "python_function", "train.py(21): forward", 2100, 2800);
    host(main_, "cpu_op", "aten::conv2d", 2200, 1200,
         R"("Input Dims":[[64,3,32,32],[64,3,3,3]],"Call stack":"train.py(21): forward;)"
         R"(train.py(48): step;train.py(60): <module>")");
    host(main_, "cpu_op", "aten::cudnn_convolution", 2300, 900);
    memory(2350, 96 * kMiB);
    launch(main_, "cudaLaunchKernel", 2600,
           {"kernel", "void cutlass__5x_cudnn::implicit_convolve_sgemm<float, 128, 6>(int)", 7},
           2850, 1800, R"("est. achieved occupancy %":61,)");
    host(main_, "cpu_op", "aten::linear", 3600, 1200);
    host(main_, "cpu_op", "aten::addmm", 3700, 1000);
    flow('s', main_, 3710);
    memory(3750, 32 * kMiB);
    launch(main_, "cudaLaunchKernel", 4100,
           {"kernel", "ampere_fp16_s16816gemm_fp16_128x64_ldg8_nn", 7}, 4750, gemm_us_,
           R"("est. achieved occupancy %":38,)");
  }

  void add_backward() {
    host(autograd_, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 5100, 1200);
    host(autograd_, "cpu_op", "AddmmBackward0", 5200, 1000);
    flow('f', autograd_, 5200);
    host(autograd_, "cpu_op", "aten::mm", 5300, 800);
    launch(autograd_, "cudaLaunchKernel", 5500,
           {"kernel", "ampere_fp16_s16816gemm_fp16_64x64_ldg8_nt", 7}, 4850 + gemm_us_, 1500,
           R"("est. achieved occupancy %":40,)");
    memory(6250, -32 * kMiB);
    host(autograd_, "cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 6400,
         1300);
    host(autograd_, "cpu_op", "ConvolutionBackward0", 6450, 1200);
    launch(autograd_, "cudaLaunchKernel", 6800, {"kernel", "cudnn::wgrad_alg1_engine", 7},
           6400 + gemm_us_, 1100, R"("est. achieved occupancy %":72,)");
    memory(7500, -96 * kMiB);
  }

  // All ranks leave it together: the rank whose kernels take long joins late.
  void add_all_reduce(int step) {
    const double begin_us = 6000 + gemm_us_;
    const double end_us = 8700 + slowest_us_;
    host(autograd_, "cpu_op", "nccl:all_reduce", 7750, 250);
    launch(autograd_, "cudaLaunchKernel", 7850, {"kernel", kAllReduce, 20}, begin_us,
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
    launch(main_, "cudaLaunchKernel", 8700,
           {"kernel", "void at::native::multi_tensor_apply_kernel<4, float>(at::native::Add)", 7},
           8750 + slowest_us_, 450, R"("est. achieved occupancy %":20,)");
    launch(main_, "cudaDeviceSynchronize", 9600, {}, 0, slowest_us_ - 300);
  }

  struct Work {
    const char* category = nullptr;
    const char* name = nullptr;
    int stream = 0;
  };

  void host(int thread, const std::string& category, const std::string& name, double begin_us,
            double length_us, const std::string& args = {}) {
    trace_.slice(category, name, main_, thread, at_ + begin_us, length_us, "{" + args + "}");
  }
  /// A call of the runtime, and what it starts on the GPU; without it the call itself takes long.
  void launch(int thread, const char* call, double called_us, const Work& work, double begin_us,
              double length_us, const std::string& args = {}) {
    const int id = ++correlation_;
    host(thread, "cuda_runtime", call, called_us, work.name ? 90 : length_us,
         fmt::format(R"("correlation":{})", id));
    if (!work.name) return;
    trace_.slice(
        work.category, work.name, 0, work.stream, at_ + begin_us, length_us,
        fmt::format(R"({{{}"device":0,"stream":{},"correlation":{}}})", args, work.stream, id));
  }
  void flow(char phase, int thread, double at_us) {
    trace_.raw(fmt::format(R"({{"ph":"{}","id":{:.0f},"cat":"fwdbwd","name":"fwdbwd","pid":{},)"
                           R"("tid":{},"ts":{:.0f},"bp":"e"}})",
                           phase, at_, main_, thread, kStartUs + at_ + at_us));
  }
  void memory(double at_us, int64_t bytes) {
    allocated_ += bytes;
    trace_.raw(fmt::format(
        R"({{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":{},"tid":{},)"
        R"("ts":{:.0f},"args":{{"Device Type":1,"Device Id":0,"Addr":{},"Bytes":{},)"
        R"("Total Allocated":{},"Total Reserved":{}}}}})",
        main_, main_, kStartUs + at_ + at_us, std::abs(bytes), bytes, allocated_, 384 * kMiB));
  }
  void counter(double at_us, const char* name, const char* series, double value) {
    trace_.raw(
        fmt::format(R"({{"ph":"C","name":"{}","pid":{},"tid":0,"ts":{:.0f},"args":{{"{}":{}}}}})",
                    name, main_, kStartUs + at_ + at_us, series, value));
  }
  void name_thread(int thread, const char* name) {
    trace_.raw(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"ts":1,)"
                           R"~("args":{{"name":"thread {} ({})"}}}})~",
                           main_, thread, thread, name));
  }

  TestTrace trace_;
  int main_;
  int autograd_;
  double gemm_us_;
  double slowest_us_;
  double at_ = 0;
  int correlation_ = 0;
  int64_t allocated_ = 200 * kMiB;
};

}  // namespace redline::viewer
