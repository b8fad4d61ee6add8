// Does a known amount of work inside recorded windows: gpu_work KIND N TRACE
//
//   launches   N launches of one kernel
//   streams    N launches on each of 8 streams
//   graph      a graph of 10 kernels, captured in the window, launched N times
//   captured   the same graph, captured before the first window
//   again      the same in a second window; captured between the two
//   pool       like captured, with few device buffers in CUPTI
//   windows    N windows, 15 s apart, each with a graph launch; TRACE is the last
//   copies     copies of N bytes to the GPU and back, pageable and pinned
//   waits      one event that is recorded and awaited N times, on two streams
//   capture    one thread captures N graphs while another stops windows
//   clock      N kernels with stamps of host, events and the GPU's timer
//
// It prints what it did as one JSON object, and exits with status 3 if there is no GPU.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cuda_driver.h"

namespace {

using gpu_check::Address;
using gpu_check::Driver;
using gpu_check::Handle;
using gpu_check::realtime_ns;

constexpr long kStreams = 8;
constexpr long kGraphNodes = 10;
constexpr int64_t kSpinCycles = 20'000;
constexpr unsigned kCaptureOfThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr auto kBetweenWindows = std::chrono::seconds(15);

std::string g_trace;

void start_window() {
  RECORDER(redline_prepare("{\"host_samples_hz\": 0}"));
  RECORDER(redline_start());
}
void end_window() {
  RECORDER(redline_stop());
  RECORDER(redline_export(g_trace.c_str()));
}

/// Launches add_one on its own number.
class Adding {
 public:
  explicit Adding(const Driver& driver)
      : driver_(driver), kernel_(driver.kernel("add_one")), value_(driver.memory(sizeof(float))) {}
  void launch(Handle stream) {
    void* arguments[] = {&value_};
    driver_.launch(kernel_, stream, arguments);
  }

 private:
  const Driver& driver_;
  Handle kernel_;
  Address value_;
};

void launches(const Driver& driver, long count) {
  Adding adding(driver);
  start_window();
  for (long i = 0; i < count; ++i) adding.launch(nullptr);
  driver.synchronize();
  end_window();
  std::printf("{\"kernels\": %ld}\n", count);
}

void streams(const Driver& driver, long count) {
  std::vector<Adding> adding(kStreams, Adding(driver));
  std::vector<Handle> all;
  for (long s = 0; s < kStreams; ++s) all.push_back(driver.stream());
  start_window();
  for (long i = 0; i < count; ++i) {
    for (size_t s = 0; s < all.size(); ++s) adding[s].launch(all[s]);
  }
  driver.synchronize();
  end_window();
  std::printf("{\"kernels\": %ld, \"streams\": %ld, \"each\": %ld}\n", count * kStreams, kStreams,
              count);
}

/// A graph of kGraphNodes kernels, and the status with which its capture ended: another thread can
/// make the capture invalid.
struct Graph {
  const Driver& driver;
  Handle stream = nullptr, executable = nullptr;
  int status = 0;

  explicit Graph(const Driver& with) : driver(with), stream(with.stream()) {
    Adding adding(driver);
    driver.call("cuStreamBeginCapture_v2", stream, kCaptureOfThread);
    for (long node = 0; node < kGraphNodes; ++node) adding.launch(stream);
    Handle nodes = nullptr;
    status = driver.try_call("cuStreamEndCapture", stream, &nodes);
    if (status != 0) return;
    driver.call("cuGraphInstantiateWithFlags", &executable, nodes, 0ULL);
  }
  void launch(long count) const {
    for (long i = 0; i < count; ++i) driver.call("cuGraphLaunch", executable, stream);
    driver.synchronize();
  }
};

void say_graph(long count) {
  std::printf("{\"kernels\": %ld, \"graph_launches\": %ld, \"nodes\": %ld}\n", count * kGraphNodes,
              count, kGraphNodes);
}

void graph(const Driver& driver, long count) {
  start_window();
  const Graph own(driver);
  own.launch(count);
  end_window();
  say_graph(count);
}

void captured(const Driver& driver, long count) {
  const Graph own(driver);
  start_window();
  own.launch(count);
  end_window();
  say_graph(count);
}

void again(const Driver& driver, long count) {
  start_window();
  Graph(driver).launch(1);
  end_window();
  const Graph own(driver);
  start_window();
  own.launch(count);
  end_window();
  say_graph(count);
}

/// CUPTI's limit counts its own buffers on the GPU. It must be set before the first kind of record
/// is enabled.
void pool(const Driver& driver, long count) {
  constexpr int kDeviceBufferPoolLimit = 2;  // CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT
  size_t limit = 8, size = sizeof(limit);
  Handle cupti = nullptr;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    if (cupti == nullptr) cupti = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
  }
  if (cupti == nullptr) gpu_check::end(1, "libcupti.so", "not found: set LD_LIBRARY_PATH");
  auto* set =
      reinterpret_cast<int (*)(int, size_t*, void*)>(dlsym(cupti, "cuptiActivitySetAttribute"));
  if (set == nullptr || set(kDeviceBufferPoolLimit, &size, &limit) != 0) {
    gpu_check::end(1, "cuptiActivitySetAttribute", "refuses DEVICE_BUFFER_POOL_LIMIT");
  }
  captured(driver, count);
}

void windows(const Driver& driver, long count) {
  const Graph own(driver);
  for (long i = 0; i < count; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetweenWindows);
    start_window();
    own.launch(1);
    end_window();
  }
  say_graph(1);
}

/// Four different sizes, so that no copy can be taken for another. The trace does not have the
/// driver's calls of copies.
void copies(const Driver& driver, long bytes) {
  const auto size = static_cast<size_t>(bytes);
  const size_t sizes[] = {size, size + 4096, size + 8192, size + 12288};
  const Address device = driver.memory(sizes[3]);
  std::vector<char> pageable(sizes[3], 1);
  void* pinned = nullptr;
  driver.call("cuMemAllocHost_v2", &pinned, sizes[3]);
  std::memset(pinned, 1, sizes[3]);
  start_window();
  driver.call("cuMemcpyHtoD_v2", device, static_cast<const void*>(pageable.data()), sizes[0]);
  driver.call("cuMemcpyDtoH_v2", static_cast<void*>(pageable.data()), device, sizes[1]);
  driver.call("cuMemcpyHtoD_v2", device, static_cast<const void*>(pinned), sizes[2]);
  driver.call("cuMemcpyDtoH_v2", pinned, device, sizes[3]);
  driver.synchronize();
  end_window();
  std::printf(
      "{\"without_call\": 4, \"bytes\": {\"Memcpy HtoD (Pageable -> Device)\": %zu, "
      "\"Memcpy DtoH (Device -> Pageable)\": %zu, \"Memcpy HtoD (Pinned -> Device)\": %zu, "
      "\"Memcpy DtoH (Device -> Pinned)\": %zu}}\n",
      sizes[0], sizes[1], sizes[2], sizes[3]);
}

void waits(const Driver& driver, long count) {
  Adding adding(driver);
  Handle event = nullptr;
  driver.call("cuEventCreate", &event, 0U);
  const Handle records = driver.stream(), waiting = driver.stream();
  start_window();
  for (long i = 0; i < count; ++i) {
    adding.launch(records);
    driver.call("cuEventRecord", event, records);
    driver.call("cuStreamWaitEvent", waiting, event, 0U);
    adding.launch(waiting);
  }
  driver.synchronize();
  end_window();
  std::printf("{\"kernels\": %ld, \"waits\": %ld}\n", 2 * count, count);
}

void capture(const Driver& driver, long count) {
  std::atomic<bool> is_over = false;
  long broken = 0, windows_ended = 0;
  Handle context = nullptr;
  driver.call("cuCtxGetCurrent", &context);
  std::thread capturing([&] {
    driver.call("cuCtxSetCurrent", context);
    for (long i = 0; i < count; ++i) broken += Graph(driver).status == 0 ? 0 : 1;
    is_over = true;
  });
  while (!is_over) {
    start_window();
    RECORDER(redline_stop());
    RECORDER(redline_discard());
    ++windows_ended;
  }
  capturing.join();
  std::printf("{\"graphs\": %ld, \"broken\": %ld, \"windows\": %ld}\n", count, broken,
              windows_ended);
}

template <typename Number>
std::string list(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

/// The event right before each kernel tells when it could begin; the host's time stamps enclose the
/// kernel.
void clock_marks(const Driver& driver, long count) {
  const auto kernels = static_cast<size_t>(count);
  std::vector<int64_t> before, after;
  std::vector<float> events_ms;
  std::vector<Handle> events(kernels, nullptr);
  for (auto& event : events) driver.call("cuEventCreate", &event, 0U);
  const Handle spin = driver.kernel("spin");
  Address began = driver.memory(kernels * sizeof(uint64_t));
  const Address first = began;
  int64_t cycles = kSpinCycles;
  start_window();
  for (const auto event : events) {
    void* arguments[] = {&cycles, &began};
    before.push_back(realtime_ns());
    driver.call("cuEventRecord", event, Handle());
    driver.launch(spin, nullptr, arguments);
    driver.synchronize();
    after.push_back(realtime_ns());
    began += sizeof(uint64_t);
  }
  end_window();
  for (const auto event : events) {
    float ms = 0;
    driver.call("cuEventElapsedTime", &ms, events.front(), event);
    events_ms.push_back(ms);
  }
  std::vector<uint64_t> timer(kernels);
  driver.call("cuMemcpyDtoH_v2", static_cast<void*>(timer.data()), first,
              timer.size() * sizeof(timer[0]));
  std::printf("{\"before_ns\": %s, \"after_ns\": %s, \"events_ms\": %s, \"timer_ns\": %s}\n",
              list(before).c_str(), list(after).c_str(), list(events_ms).c_str(),
              list(timer).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(const Driver&, long)>> kinds = {
      {"launches", launches}, {"streams", streams}, {"graph", graph},      {"captured", captured},
      {"again", again},       {"pool", pool},       {"windows", windows},  {"copies", copies},
      {"waits", waits},       {"capture", capture}, {"clock", clock_marks}};
  const auto kind = argc == 4 ? kinds.find(argv[1]) : kinds.end();
  const long amount = argc == 4 ? std::atol(argv[2]) : 0;
  if (kind == kinds.end() || amount < 1) {
    std::fprintf(stderr, "usage: gpu_work KIND N TRACE, with KIND one of");
    for (const auto& [name, run] : kinds) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  g_trace = argv[3];
  const Driver driver;
  kind->second(driver, amount);
  return 0;
}
