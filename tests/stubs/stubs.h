// How a test sets up the stubs of NVIDIA's libraries, which stand for the driver and the GPU.
//
// Libraries that a test only loads (libnvidia-ml.so.1, libcuda.so.1 of another process) are set up
// by environment variables; those that it links (libcuda.so.1, libcupti.so) by the functions here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "profiler/cupti/cupti_abi.h"

#define STUB_API __attribute__((visibility("default")))

namespace redline::stub {

/// What a stub answers: the number in the environment variable, or else `otherwise`.
inline int number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

/// A GPU of libcuda.so.1.
struct Device {
  std::string name;
  size_t memory = 0;
  std::map<int, int> attributes;  ///< by CUdevice_attribute
};
void add_device(const Device& device);
void clear_devices();
/// Whether cuInit() was called in this process; true until a test says otherwise.
void set_cuda_initialized(bool is_initialized);
/// How often somebody has waited for a GPU, which ends the capture of a graph in another thread.
int cuda_synchronizations();

/// Forgets failures, counts, records and open buffers; callbacks stay, as in a real process.
STUB_API void reset_cupti();
STUB_API void set_cupti_version(uint32_t version);
/// `function` answers `result` from now on; 0: as ever.
STUB_API void fail_cupti(const char* function, int result);
/// How often `function` was called since reset_cupti().
STUB_API int cupti_calls(const char* function);
STUB_API bool is_enabled(cupti::Kind kind);
/// cuptiGetCallbackName of the runtime's function `number`.
STUB_API void name_function(int domain, uint32_t number, const char* name);
/// Whether calls of that function are recorded, where their domain is.
STUB_API bool is_recorded(int domain, uint32_t number);
/// As it was set last.
STUB_API int attribute(int number);
/// A tool of that name has subscribed before; "": none.
STUB_API void set_other_subscriber(const char* name);
/// Who has subscribed now; "": nobody.
STUB_API std::string subscriber();
/// CUPTI's clock; by default CLOCK_MONOTONIC.
STUB_API void set_cupti_clock(uint64_t (*clock)());
STUB_API void drop_records(size_t count);
/// Buffers of so many bytes are declared full, so that few records need many.
STUB_API void set_most_in_buffer(size_t bytes);
/// Flushes give the buffers back newest first.
STUB_API void reverse_buffers(bool is_reversed);

/// Appends a record as the present version of CUPTI lays it out, to the buffer of `thread`.
STUB_API void emit(const void* record, size_t size, int thread = 0);
/// The bytes as they are.
STUB_API void emit_raw(const std::vector<uint8_t>& bytes, int thread = 0);
template <typename Record>
void emit_record(const Record& record, int thread = 0) {
  emit(&record, sizeof(record), thread);
}

/// A launch as CUDA would do it on this thread: the ids that are pushed now, and the call.
STUB_API void call(const cupti::ApiRecord& record, int thread = 0);

/// Another user's callbacks take the place of those that were registered, until somebody registers
/// again.
STUB_API void lend_callbacks(bool is_lent);

/// Buffers that CUPTI keeps beyond a flush, until now.
STUB_API void hold_buffers(bool is_held);
/// The buffer of `thread` has work in it that is not over: only a forced flush brings it, or one
/// after so many more that are not forced.
STUB_API void keep_buffer_of(int thread, int flushes = 1 << 30);
/// Buffers that only a forced flush has brought.
STUB_API int forced_buffers();
/// Until CUPTI has been asked so many times from now on for what it has.
STUB_API void wait_for_flushes(int count);

}  // namespace redline::stub
