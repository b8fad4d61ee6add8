// How a test sets up the stubs of NVIDIA's libraries, which stand for the driver and the GPU.
//
// Libraries that a test only loads (libnvidia-ml.so.1, libcuda.so.1 of another process) are set up
// by environment variables; those that it links (libcuda.so.1, libcupti.so) by the functions here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cupti/cupti_abi.h"

#define STUB_API __attribute__((visibility("default")))

namespace redline::stub {

/// The number in the environment variable, or `otherwise` if it is not set.
inline int number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

/// A GPU that the stub of libcuda.so.1 has.
struct Device {
  std::string name;
  size_t memory = 0;
  std::map<int, int> attributes;  ///< values by CUdevice_attribute
};
void add_device(const Device& device);
void clear_devices();
/// Sets whether cuInit() counts as called in this process; true until a test changes it.
void set_cuda_initialized(bool is_initialized);
/// How often somebody has waited for a GPU. Such a wait would break the capture of a graph in
/// another thread.
int cuda_synchronizations();

/// Resets failures, counts, records and open buffers. Callbacks stay, as in a real process.
STUB_API void reset_cupti();
STUB_API void set_cupti_version(uint32_t version);
/// From now on `function` returns `result`; 0 makes it succeed again. "cuptiActivityEnable 3" is
/// that function for kind 3 alone.
STUB_API void fail_cupti(const char* function, int result);
/// How often `function` was called since reset_cupti().
STUB_API int cupti_calls(const char* function);
STUB_API bool is_enabled(cupti::Kind kind);
/// Sets what cuptiGetCallbackName returns for function `number` of the domain.
STUB_API void name_function(int domain, uint32_t number, const char* name);
/// Whether calls of that function are recorded if their domain is.
STUB_API bool is_recorded(int domain, uint32_t number);
/// The value that the attribute was last set to.
STUB_API int attribute(int number);
/// The counters of unified memory that were asked for, each with its device before it.
STUB_API std::set<std::pair<uint32_t, uint32_t>> unified_counters();
/// Tells the subscriber, if it gave a callback to cuptiSubscribe, that a call of CUDA begins and
/// ends.
STUB_API void call_cuda();
/// From now on a tool of that name has subscribed already; "": none.
STUB_API void set_other_subscriber(const char* name);
/// The name of the present subscriber; "" if there is none.
STUB_API std::string subscriber();
/// Sets CUPTI's clock; the default is CLOCK_MONOTONIC.
STUB_API void set_cupti_clock(uint64_t (*clock)());
STUB_API void drop_records(size_t count);
/// Buffers count as full at this many bytes, so that few records need many buffers.
STUB_API void set_most_in_buffer(size_t bytes);
/// Makes flushes hand over the buffers in reverse order.
STUB_API void reverse_buffers(bool is_reversed);

/// Appends a record to the buffer of `thread`, as long as the present version of CUPTI makes it.
STUB_API void emit(const void* record, size_t size, int thread = 0);
/// Appends the bytes as they are.
STUB_API void emit_raw(const std::vector<uint8_t>& bytes, int thread = 0);
template <typename Record>
void emit_record(const Record& record, int thread = 0) {
  emit(&record, sizeof(record), thread);
}

/// Emits a call as CUDA would on this thread: the external ids that are pushed now, and the call
/// itself.
STUB_API void call(const cupti::ApiRecord& record, int thread = 0);

/// Until somebody registers callbacks again, another user's callbacks replace the registered ones.
STUB_API void lend_callbacks(bool is_lent);

/// While true, flushes hand over no buffers.
STUB_API void hold_buffers(bool is_held);
/// Marks the buffer of `thread` as having work that is not over. It comes with a forced flush, or
/// after this many flushes that are not forced.
STUB_API void keep_buffer_of(int thread, int flushes = 1 << 30);
/// While true, flushes do not return.
STUB_API void hang_flushes(bool is_hanging);
/// How many buffers came only because a flush was forced.
STUB_API int forced_buffers();
/// Waits until CUPTI was flushed this many times from now on.
STUB_API void wait_for_flushes(int count);

}  // namespace redline::stub
