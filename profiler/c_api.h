/* The recorder's C ABI: what the Python front end, the start-up hook and other languages call.
 *
 * One recorder a process. The order is prepare (warm-up: buffers ready, callbacks on, records
 * discarded), start (the active window begins), stop (it ends), export as often as wanted, and
 * again. Functions that return int give 0 on success and -1 on failure; redline_last_error() then
 * says why. No function throws, aborts, or prints. Every function may be called from any thread. */
#ifndef REDLINE_PROFILER_C_API_H_
#define REDLINE_PROFILER_C_API_H_

#include <stdint.h>

#define REDLINE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
REDLINE_API const char* redline_version(void);

/* The text of this thread's last failure; valid until its next failing call. */
REDLINE_API const char* redline_last_error(void);

/* `options_json` is an object of any keys of the table in profiler/recorder_options.h, where their
 * meanings and defaults are, such as {"record_shapes": true}, and of "directory": where the
 * .partial file is written (default: TMPDIR). The value of REDLINE_RECORD is such an object, too:
 * its "schedule", "ranks" and "step_marker" are left to the caller.
 * Unknown keys are an error. NULL means defaults. Idempotent while prepared. */
REDLINE_API int redline_prepare(const char* options_json);
REDLINE_API int redline_start(void);
/* Ends the window. The writer thread completes the spooled trace meanwhile; export waits for it,
 * and tells what went wrong. */
REDLINE_API int redline_stop(void);
/* Not 0: nothing is recorded until it is called with 0, or the window ends. Without effect outside
 * a window. */
REDLINE_API int redline_set_paused(int paused);
/* Gives up a prepared, started or stopped window without a trace. */
REDLINE_API int redline_discard(void);

/* From now on SIGTERM (unless the process handles it itself) and crashes (SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL, SIGABRT) complete a window with a "directory", too, before they end the process as ever;
 * exit() always does. A flight recorder calls this by itself. */
REDLINE_API int redline_finish_on_termination(void);

/* Writes the last stopped window to `path` (gz where it ends in .gz): to `path`.partial, then
 * renamed. */
REDLINE_API int redline_export(const char* path);
/* The same under {host}_{pid}.{time ns}.pt.trace.json.gz in `directory`, which is made where
 * missing. The path is copied to `path_out`, if that is not NULL. */
REDLINE_API int redline_export_to_directory(const char* directory, char* path_out,
                                            uint64_t path_out_size);

/* A trace of what the running flight recorder has, into its "directory" (default: the current one).
 * The path is copied to `path_out`, if that is not NULL. */
REDLINE_API int redline_write_ring(const char* reason, char* path_out, uint64_t path_out_size);

/* A top-level key of the trace, such as distributedInfo. `json` must be one JSON value. Kept for
 * all later windows of the process. Only "redline", the recorder's own key, is different: it takes
 * an object, whose members join those of the window that is being recorded. */
REDLINE_API int redline_add_metadata_json(const char* key, const char* json);

/* The training loop's steps: `number` begins on this thread, and it ends. Each is a ProfilerStep#n
 * slice where a window is recorded; redline_begin_drawn_step() is for a program that draws its own.
 * Captures that somebody asks for begin and end with steps. */
REDLINE_API void redline_begin_step(int64_t number);
REDLINE_API void redline_begin_drawn_step(int64_t number);
REDLINE_API void redline_end_step(void);

/* From now on `step_begins` is called wherever a range or mark of this name begins: a redline
 * range, an NVTX one of any domain, or a user scope of LibTorch; on the thread that it is on. NULL
 * ends it. */
REDLINE_API int redline_watch_marker(const char* name, void (*step_begins)(void));

/* From now on `redline trigger` and SIGUSR2 (unless the program handles that itself) capture
 * `steps` steps of this process while it records nothing else. `options_json` is redline_prepare's;
 * without "directory" the traces go to the current one. May be called again with other options. */
REDLINE_API int redline_listen(const char* options_json, int64_t steps);

/* Of a capture that is asked for with stacks, for a front end that records its language's own
 * calls: 0 none is recorded now, 1 one is, 2 one is and ends with the present step. */
REDLINE_API int redline_capture_of_stacks(void);

/* User scopes, recorded as user_annotation on the calling thread; they nest. `name` is copied.
 * Where NVTX_INJECTION64_PATH names another tool, such as Nsight Systems, it gets them as NVTX
 * ranges. */
REDLINE_API void redline_range_push(const char* name);
REDLINE_API void redline_range_pop(void);

/* Counts since redline_prepare. */
typedef struct redline_stats {
  uint64_t struct_size; /* set by the caller */
  uint64_t events_recorded;
  uint64_t events_dropped; /* memory budget full, or the disk refused; also in the trace */
  uint64_t bytes_written;
  uint64_t threads;
} redline_stats;
REDLINE_API int redline_get_stats(redline_stats* stats);

/* Loads libredline_torch.so from the folder of libredline.so, where LibTorch is in the process:
 * from then on windows hold its operators. Fails where there is no LibTorch. May be called again.
 */
REDLINE_API int redline_attach_torch(void);

/* What `redline record` asks of this process by the environment variable REDLINE_RECORD. */
typedef struct redline_request {
  uint64_t struct_size;                             /* set by the caller */
  int64_t skip_first, wait, warmup, active, repeat; /* active is 0: no schedule, record all */
  int32_t record_shapes;
  char directory[4096];
  int32_t profile_memory, with_stack, with_flops, with_modules;
  uint64_t memory_budget_bytes, max_bytes;
  int32_t host_samples_hz;
  double ring_seconds, slow_step;
  int32_t is_excluded;    /* by --ranks: nothing is to be recorded here */
  int32_t no_cpu, no_gpu; /* at most one of them */
} redline_request;
/* Fills `request` and hands the recording over to the caller: a window that the injected library
 * began for the whole run (profiler/api/inject.cc) is given up. Fails where nothing is asked for.
 */
REDLINE_API int redline_take_request(redline_request* request);

/* What torch.profiler.schedule(...) returns for `step`: 0 none, 1 warmup, 2 record, 3
 * record_and_save. */
REDLINE_API int redline_schedule_action(int64_t skip_first, int64_t wait, int64_t warmup,
                                        int64_t active, int64_t repeat, int64_t step);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_C_API_H_ */
