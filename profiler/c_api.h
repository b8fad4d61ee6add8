/* The recorder's C ABI: what the Python front end, the start-up hook and other languages call.
 *
 * A process has one recorder. Call prepare first (warm-up: buffers are made ready, callbacks are
 * on, records are discarded), then start (the window begins), stop (the window ends), and export,
 * as often as wanted. After that, prepare may begin the next window. Functions that return int give
 * 0 on success and -1 on failure; redline_last_error() then says why. No function throws or
 * aborts. What fails in a call is not printed; what the recorder does by itself and cannot tell
 * otherwise, such as writing the step log or a flight recorder's trace, is one line on stderr.
 * Every function may be called from any thread. */
#ifndef REDLINE_PROFILER_C_API_H_
#define REDLINE_PROFILER_C_API_H_

#include <stdint.h>

#define REDLINE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Such as "0.1.0". */
REDLINE_API const char* redline_version(void);

/* The text of this thread's last failure; valid until its next failing call. */
REDLINE_API const char* redline_last_error(void);

/* `options_json` is a JSON object such as {"record_shapes": true}. profiler/recorder_options.h has
 * the keys with their meanings and defaults. One more key, "directory", is where the .partial file
 * is written (default: TMPDIR). The value of REDLINE_RECORD may be given, too: its "schedule",
 * "ranks", "step_marker" and "only_on_request" are ignored here, because the caller has to obey
 * them. Any other key is an error. NULL means defaults. A second call before redline_start() does
 * nothing if the options are the same, and fails otherwise. */
REDLINE_API int redline_prepare(const char* options_json);
/* Fails where redline_prepare() would refuse the options. */
REDLINE_API int redline_check_options(const char* options_json);
REDLINE_API int redline_start(void);
/* Ends the window. A thread then completes the trace in the background; redline_export() waits for
 * it, and tells what went wrong. */
REDLINE_API int redline_stop(void);
/* Waits for that thread. Fails if the recording failed, so that there is nothing to export. */
REDLINE_API int redline_complete(void);
/* If `paused` is not 0, nothing is recorded until a call with 0 or the end of the window. A call
 * has no effect if no window is prepared or started. */
REDLINE_API int redline_set_paused(int paused);
/* Gives up a prepared, started or stopped window without a trace. */
REDLINE_API int redline_discard(void);

/* The trace of a window with a "directory" is completed when the process calls exit(). After a
 * call of this function it is also completed on SIGTERM (unless the process handles that itself)
 * and on crashes (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT); the process ends as it would have.
 * A flight recorder needs no call. */
REDLINE_API int redline_finish_on_termination(void);

/* Writes the last stopped window to `path`, compressed if that ends in .gz. The file is written as
 * `path`.partial and renamed when it is complete. */
REDLINE_API int redline_export(const char* path);
/* Does the same under the name {host}_{pid}.{time ns}.pt.trace.json.gz in `directory`, and makes
 * the directory if it is missing. Copies the path to `path_out`, if that is not NULL. */
REDLINE_API int redline_export_to_directory(const char* directory, char* path_out,
                                            uint64_t path_out_size);

/* Writes a trace of what the running flight recorder holds into its "directory" (default: the
 * current one). Copies the path to `path_out`, if that is not NULL. */
REDLINE_API int redline_write_ring(const char* reason, char* path_out, uint64_t path_out_size);

/* Adds a top-level key, such as distributedInfo, to the trace of this and of all later windows of
 * the process. `json` must be one JSON value. The key "redline" is the recorder's own: its value
 * must be an object, whose members are added to the present window only; fails if no window is
 * being recorded. */
REDLINE_API int redline_add_metadata_json(const char* key, const char* json);
/* Windows that start from now on get none of the keys added so far. */
REDLINE_API int redline_forget_metadata(void);

/* Say that step `number` of the training loop begins on this thread, and that it ends. In a
 * recorded window each step becomes a slice ProfilerStep#n. A program that records such slices
 * itself calls redline_begin_drawn_step() instead. Captures by `redline trigger` begin and end with
 * steps. */
REDLINE_API void redline_begin_step(int64_t number);
REDLINE_API void redline_begin_drawn_step(int64_t number);
REDLINE_API void redline_end_step(void);
/* Does redline_end_step(), and says that no step follows: a capture ends with the steps that it
 * has. */
REDLINE_API void redline_end_steps(void);

/* From now on `step_begins` is called when a range or mark of this name begins: a redline range, an
 * NVTX range or mark of any domain, or a user scope of LibTorch. The call is on the thread of that
 * range. A `name` of NULL ends the calls. */
REDLINE_API int redline_watch_marker(const char* name, void (*step_begins)(void));

/* From now on `redline trigger` and SIGUSR2 (unless the program handles that itself) capture
 * `steps` steps of this process while it records nothing else. `options_json` is as for
 * redline_prepare(), but without "directory" the traces go to the current folder. May be called
 * again with other options. */
REDLINE_API int redline_listen(const char* options_json, int64_t steps);

/* For a front end that records the calls of its own language: whether `redline trigger` asked for a
 * capture with stacks or modules. 0: no such capture is recorded now; 1: one is; 2: one is, and it
 * ends with the present step. */
REDLINE_API int redline_capture_of_stacks(void);
/* redline_end_step() and redline_begin_step(number) in one call, for steps that are hardly ever
 * captured. 1: done, and nothing is captured; 2: done, and a capture may have begun with the new
 * step; 0: nothing was done, because a capture is under way. */
REDLINE_API int redline_next_step(int64_t number);

/* Begin and end a user scope, which is recorded as user_annotation on the calling thread. Scopes
 * may nest. `name` is copied. If NVTX_INJECTION64_PATH names another tool, such as Nsight Systems,
 * that tool gets the scopes as NVTX ranges. */
REDLINE_API void redline_range_push(const char* name);
REDLINE_API void redline_range_pop(void);

/* Counts since redline_prepare. */
typedef struct redline_stats {
  uint64_t struct_size; /* set by the caller */
  uint64_t events_recorded;
  uint64_t events_dropped; /* because the memory budget was full or the disk refused them */
  uint64_t bytes_written;
  uint64_t threads;
} redline_stats;
REDLINE_API int redline_get_stats(redline_stats* stats);

/* Loads libredline_torch.so from the folder of libredline.so, so that later windows hold the
 * operators of LibTorch. Fails if LibTorch is not loaded in this process. May be called again. */
REDLINE_API int redline_attach_torch(void);

/* What `redline record` asks of this process through the environment variable REDLINE_RECORD. */
typedef struct redline_request {
  uint64_t struct_size;                             /* set by the caller */
  int64_t skip_first, wait, warmup, active, repeat; /* no schedule if active is 0: record all */
  int32_t record_shapes;
  char directory[4096];
  int32_t profile_memory, with_stack, with_flops, with_modules;
  uint64_t memory_budget_bytes, max_bytes;
  int32_t host_samples_hz;
  double ring_seconds, slow_step;
  int32_t is_excluded;    /* it must record nothing: of --ranks, or the library records itself */
  int32_t no_cpu, no_gpu; /* at most one of them */
  uint64_t max_write_rate;
} redline_request;
/* Fills `request` and hands the recording over to the caller: if the injected library has begun a
 * window for the whole run (profiler/api/inject.cc), that window is discarded. Fails if
 * `redline record` asks nothing of this process. */
REDLINE_API int redline_take_request(redline_request* request);

/* Notes for `redline record` what became of this process's recording, which it says at its end.
 * Fails if the file that REDLINE_NOTES names is out of reach. */
REDLINE_API int redline_note(const char* what, const char* text);

/* The step log (docs/run-log.md): what the training thread does, for each step of the whole job.
 * The parts are trace::LogPart, in its order: 0 data wait, 1 forward, 2 backward, 3 optimizer, 4
 * communication wait, 5 evaluation, 6 checkpoint, 7 garbage collection, 8 compile, 9 hand-over of a
 * batch. They nest, and time counts for the innermost. Calls from a thread that ends no steps do
 * nothing; in a job that only infers, those from a thread that runs no model. */
REDLINE_API void redline_log_enter(int part);
REDLINE_API void redline_log_leave(int part);
/* Leaves `entered`, whose time counts for `part`: only now is known what it was. */
REDLINE_API void redline_log_leave_as(int entered, int part);
/* Hooks see this part: where it does not occur, the log says 0. */
REDLINE_API void redline_log_know(int part);
/* All that was loaded and computed since the last backward pass or step was an evaluation. */
REDLINE_API void redline_log_evaluated(void);
/* Nothing since the last step belongs to one: the next begins where its first part does. */
REDLINE_API void redline_log_pause(void);
/* A step has ended; -1 where samples or tokens are not known. Gives -1, and does nothing, while no
 * log is open; 1, every ten seconds and in the first two minutes each second: it is time for
 * redline_log_device_memory(); else 0. */
REDLINE_API int redline_log_step(int64_t samples, int64_t tokens);
/* The same for a batch on which models only inferred, which is a step of a job that trains nothing.
 * If a step follows, this was an evaluation before the training, and readers drop it. */
REDLINE_API int redline_log_batch(int64_t samples, int64_t tokens);
/* Begins "rank{rank}.steps.redline" in `directory`, which is made where missing; written by a
 * thread, each second. `run` is the same for all ranks. A forked child has no open log. */
REDLINE_API int redline_log_open(const char* directory, const char* run, int rank, int world_size);
/* Something that ends now, of trace::LogMarkKind: 0 epoch, 1 window, 2 out of memory, 3 compile, 4
 * evaluation, 5 checkpoint, 6 exception, 7 note, 8 batches. */
REDLINE_API void redline_log_mark(int kind, int64_t length_ns, const char* text);
REDLINE_API void redline_log_device_memory(int64_t bytes);
/* The process is about to end with this status, by something else than exit(). */
REDLINE_API void redline_log_close(int status);
/* How many steps have ended since the process began, and how long ago the last one did. 0 and 0
 * before the first. */
REDLINE_API void redline_log_progress(int64_t* steps, int64_t* age_ns);
/* What a thread of this process (gettid) does while it makes no progress: "runs", "sleeps", "lock",
 * "io", "stopped", "gone"; "" if the kernel does not say. */
REDLINE_API const char* redline_thread_wait(int64_t thread);
/* Waits so long, or until redline_abort_wake(). 1: the process is about to abort, and waits up to
 * four seconds for redline_abort_told(). */
REDLINE_API int redline_abort_wait(int64_t most_ns);
REDLINE_API void redline_abort_wake(void);
REDLINE_API void redline_abort_told(void);
/* For a program without the start-up hook of Python: ends a step where REDLINE_LOG asks for a log,
 * and opens that. */
REDLINE_API void redline_log_program_step(int64_t samples);

/* What torch.profiler.schedule(...) returns for `step`: 0 none, 1 warmup, 2 record, 3
 * record_and_save. */
REDLINE_API int redline_schedule_action(int64_t skip_first, int64_t wait, int64_t warmup,
                                        int64_t active, int64_t repeat, int64_t step);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_C_API_H_ */
