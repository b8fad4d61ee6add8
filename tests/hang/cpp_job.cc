// A program in C++ on Gloo ranks. Rank 1, or CULPRIT, gets into trouble: hang_cpp_job CASE [steps].
// Without "steps" it tells Redline nothing of its steps.
#include <ATen/ATen.h>
#include <stdlib.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/c_api.h"

// The wheels of torch lack Gloo's headers, which ProcessGroupGloo.hpp needs. So this is its part
// that we call, as of torch 2.11.
namespace gloo::transport {
class Device;
}
namespace c10d {
class TORCH_API ProcessGroupGloo : public Backend {
 public:
  struct TORCH_API Options : Backend::Options {
    explicit Options(std::chrono::milliseconds timeout);
    static c10::intrusive_ptr<Options> create_default(std::chrono::milliseconds timeout);
    std::vector<std::shared_ptr<::gloo::transport::Device>> devices;
    int threads;
  };
  ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                   c10::intrusive_ptr<Options> options);
  ~ProcessGroupGloo() override;

 private:
  char rest_[8192];  // more than its members take
};
}  // namespace c10d

namespace {

constexpr int kSteps = 8;
constexpr int kFaultyStep = 5;
constexpr int64_t kManySeconds = 10'000;

int number(const char* variable, const char* other = "0") {
  const char* value = std::getenv(variable);
  return std::atoi(value != nullptr ? value : other);
}

void all_reduce(c10d::Backend& group) {
  std::vector<at::Tensor> tensors{at::ones({8})};
  group.allreduce(tensors)->wait();
}

void wait_for_a_lock() {
  std::timed_mutex lock;
  lock.lock();
  static_cast<void>(lock.try_lock_for(std::chrono::seconds(kManySeconds)));
}

void compute_for_ever() {
  volatile int64_t count = 0;
  while (count >= 0) count = count + 1;
}

void sleep_for_ever() {
  while (sleep(kManySeconds) == 0) {
  }
}

void read_a_pipe() {
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0 || read(ends[0], &byte, 1) != 1) std::abort();
}

void enter_a_barrier(c10d::Backend& group) { group.barrier()->wait(); }

const std::map<std::string, std::function<void(c10d::Backend&)>> kFaults = {
    {"barrier", enter_a_barrier},
    {"lock", [](c10d::Backend&) { wait_for_a_lock(); }},
    {"loop", [](c10d::Backend&) { compute_for_ever(); }},
    {"pipe", [](c10d::Backend&) { read_a_pipe(); }},
    {"sleep", [](c10d::Backend&) { sleep_for_ever(); }},
};

}  // namespace

int main(int count, char** words) {
  const std::string name = words[1];
  const bool tells_steps = count > 2;
  const auto timeout = std::chrono::milliseconds(std::chrono::seconds(kManySeconds));
  auto store = c10::make_intrusive<c10d::FileStore>(std::getenv("MEETING"), number("WORLD_SIZE"));
  const int rank = number("RANK");
  c10::intrusive_ptr<c10d::Backend> group = c10::make_intrusive<c10d::ProcessGroupGloo>(
      store, rank, number("WORLD_SIZE"), c10d::ProcessGroupGloo::Options::create_default(timeout));
  group->setSequenceNumberForGroup();
  for (int step = 0; step < kSteps; ++step) {
    all_reduce(*group);
    if (step == kFaultyStep && rank == number("CULPRIT", "1")) kFaults.at(name)(*group);
    all_reduce(*group);
    if (tells_steps) redline_log_program_step(-1);
  }
}
