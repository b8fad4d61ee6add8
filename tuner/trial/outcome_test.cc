#include "tuner/trial/trial_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;

constexpr int exited(int code) { return code << 8; }

std::string name(Outcome outcome) { return to_string(outcome); }

TEST(Outcome, NamesGoBothWays) {
  for (int value = 0; value <= static_cast<int>(Outcome::kCancelled); ++value) {
    const auto outcome = static_cast<Outcome>(value);
    EXPECT_EQ(outcome_from_string(to_string(outcome)), outcome);
  }
  EXPECT_EQ(outcome_from_string("error"), std::nullopt);
}

struct TextCase {
  const char* text;
  Outcome outcome;
};

// The texts are what the programs really print, at most shortened in the middle.
constexpr TextCase kTexts[] = {
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total "
     "capacity of 79.15 GiB of which 6.88 MiB is free.",
     Outcome::kGpuOom},
    {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
     Outcome::kGpuOom},
    {"[rank1]: torch.OutOfMemoryError: CUDA out of memory.", Outcome::kGpuOom},
    {"RuntimeError: CUDA error: out of memory", Outcome::kGpuOom},
    {"torch.OutOfMemoryError: HIP out of memory. Tried to allocate", Outcome::kGpuOom},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
     Outcome::kGpuOom},
    {"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Outcome::kGpuOom},
    {"host:7:99 [0] NCCL WARN Failed to CUDA calloc async 608 bytes", Outcome::kGpuOom},
    {"RuntimeError: Triton Error [CUDA]: out of memory", Outcome::kGpuOom},
    {"RuntimeError: Triton Error [HIP]:  Code: 2, Message: out of memory", Outcome::kGpuOom},
    {"RuntimeError: CUDA driver error: out of memory", Outcome::kGpuOom},
    {"torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, unhandled cuda "
     "error, NCCL version 2.21.5\nncclUnhandledCudaError: Call to CUDA function failed.\n"
     "Last error:\nCuda failure 2 'out of memory'",
     Outcome::kGpuOom},
    {"RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`",
     Outcome::kGpuOom},
    {"RuntimeError: miopenStatusAllocFailed", Outcome::kGpuOom},
    {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated "
     "so "
     "far: 0 bytes).",
     Outcome::kGpuOom},
    {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
     "allocate 17179869184 bytes.",
     Outcome::kGpuOom},
    {"RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't "
     "allocate memory: you tried to allocate 4294967296 bytes. Error code 12 (Cannot allocate "
     "memory)",
     Outcome::kHostOom},
    {"RuntimeError: could not create a primitive\n", Outcome::kHostOom},
    {"RuntimeError: [enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough "
     "memory: you tried to allocate 8 bytes.",
     Outcome::kHostOom},
    {"MemoryError", Outcome::kHostOom},
    {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array",
     Outcome::kHostOom},
    {"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
     Outcome::kHostOom},
    {"OSError: [Errno 12] Cannot allocate memory", Outcome::kHostOom},
    {"RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed. ", Outcome::kHostOom},
    {"  exitcode  : -9 (pid: 77)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received "
     "by PID 77",
     Outcome::kHostOom},
    {"subprocess.CalledProcessError: Command '['python', 't.py']' died with <Signals.SIGKILL: 9>.",
     Outcome::kHostOom},
    {"subprocess.CalledProcessError: Command '['python', 't.py']' died with <Signals.SIGBUS: 7>.",
     Outcome::kShmFull},
    {"RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that "
     "dataloader's workers are out of shared memory.",
     Outcome::kShmFull},
    {"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
     "shared memory (shm).",
     Outcome::kShmFull},
    {"RuntimeError: unable to write to file </torch_123_1>: No space left on device (28)",
     Outcome::kShmFull},
    {"RuntimeError: unable to allocate shared memory(shm) for file </torch_77>: No space left on "
     "device (28)",
     Outcome::kShmFull},
    {"  exitcode  : -7 (pid: 77)", Outcome::kShmFull},
    {"RuntimeError: CUDA error: invalid configuration argument", Outcome::kInvalid},
    {"ValueError: batch_size should be a positive integer value, but got batch_size=0",
     Outcome::kInvalid},
    {"usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --x", Outcome::kInvalid},
    {"train.py: error: argument --amp: invalid choice: 'x'", Outcome::kInvalid},
    {"python3: can't open file '/x/train.py': [Errno 2] No such file or directory",
     Outcome::kInvalid},
    {"ModuleNotFoundError: No module named 'timm'", Outcome::kInvalid},
    {"/usr/bin/python3.11: No module named trian", Outcome::kInvalid},
};

TEST(Outcome, KnowsTheTextsOfRealFailures) {
  for (const TextCase& c : kTexts) {
    const auto found = judge_text(c.text);
    ASSERT_TRUE(found) << c.text;
    EXPECT_EQ(name(found->outcome), name(c.outcome)) << c.text;
  }
}

TEST(Outcome, TheWordErrorAloneSaysNothing) {
  const char* const harmless[] = {
      "step 10 mean squared error 0.5 error rate 3 %",
      "W1121 torch/distributed/run.py:774] Setting OMP_NUM_THREADS environment variable",
      "UserWarning: An error occurred while reading the cache, it is rebuilt",
      "INFO out of 1000 images, memory pinned",
      "WARNING: A matching Triton is not available. Error caught was: No module named 'triton'",
      "[W socket.cpp:752] [c10d] The client socket has failed to connect (errno: 97)",
      "",
  };
  for (const char* text : harmless) {
    EXPECT_EQ(judge_text(text), std::nullopt) << text;
    Evidence evidence;
    evidence.stderr_text = text;
    evidence.wait_status = exited(0);
    EXPECT_EQ(name(judge(evidence).outcome), "ok") << text;
  }
}

TEST(Outcome, AnyRanksOutOfMemoryIsTheTrials) {
  Evidence evidence;
  evidence.failures = {
      {0, "exception", "torch.distributed.DistBackendError", "NCCL error: remote process exited"},
      {2, "exception", "RuntimeError", "Connection closed by peer [127.0.0.1]:4242"},
      {1, "gpu_oom", "torch.OutOfMemoryError", "CUDA out of memory."},
  };
  evidence.wait_status = exited(1);
  const Verdict found = judge(evidence);
  EXPECT_EQ(name(found.outcome), "gpu_oom");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.message, "out of memory (rank 1)");
}

TEST(Outcome, SaysWhatIsWrongWithTheScript) {
  Evidence evidence;
  evidence.failures = {
      {0, "exception", "ModuleNotFoundError", "No module named 'transformers'"},
  };
  const Verdict found = judge(evidence);
  EXPECT_EQ(name(found.outcome), "invalid");
  EXPECT_EQ(found.message, "ModuleNotFoundError: No module named 'transformers' (rank 0)");
}

TEST(Outcome, ARanksCpuOutOfMemoryIsKnownByItsText) {
  Evidence evidence;
  evidence.failures = {
      {0, "exception", "RuntimeError", "Connection reset by peer"},
      {1, "exception", "RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried"},
  };
  const Verdict found = judge(evidence);
  EXPECT_EQ(name(found.outcome), "host_oom");
  EXPECT_EQ(found.rank, 1);
  evidence.failures[0] = {0, "exception", "KeyError", "'label'"};
  EXPECT_EQ(judge(evidence), (Verdict{Outcome::kHostOom, 1, "out of host memory (rank 1)"}))
      << "whatever else a rank died of";
  evidence.failures[1].message = "CUDA error: out of memory";
  EXPECT_EQ(judge(evidence), (Verdict{Outcome::kGpuOom, 1, "out of memory (rank 1)"}));
}

TEST(Outcome, TheTypeOfAnExceptionTellsThatTheGpuIsFullWhateverItsText) {
  Evidence evidence;
  evidence.wait_status = exited(1);
  evidence.stderr_text =
      "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory";
  EXPECT_EQ(name(judge(evidence).outcome), "gpu_oom");
}

TEST(Outcome, TheCauseIsNotARankThatLostItsPeer) {
  Evidence evidence;
  evidence.failures = {
      {0, "exception", "RuntimeError", "Connection closed by peer"},
      {1, "exception", "KeyError", "'label'"},
  };
  evidence.stepped = true;
  const Verdict found = judge(evidence);
  EXPECT_EQ(name(found.outcome), "crash");
  EXPECT_EQ(found.message, "KeyError: 'label' (rank 1)");
}

TEST(Outcome, AWrongArgumentIsInvalidOnlyBeforeTheFirstStep) {
  Evidence evidence;
  evidence.failures = {{0, "exception", "TypeError", "f() got an unexpected keyword argument"}};
  EXPECT_EQ(name(judge(evidence).outcome), "invalid");
  evidence.stepped = true;
  EXPECT_EQ(name(judge(evidence).outcome), "crash");
}

TEST(Outcome, AfterAStepWordsOfAWrongCommandAreAWarnings) {
  Evidence evidence;
  evidence.wait_status = exited(1);
  evidence.stderr_text =
      "no flash-attn: ModuleNotFoundError: No module named 'flash_attn'\n"
      "  traceback : Signal 11 (SIGSEGV) received by PID 7\n";
  EXPECT_EQ(name(judge(evidence).outcome), "invalid");
  evidence.stepped = true;
  EXPECT_EQ(judge(evidence),
            (Verdict{Outcome::kCrash, -1, "  traceback : Signal 11 (SIGSEGV) received by PID 7"}));
  evidence.stderr_text += "MemoryError\n";
  EXPECT_EQ(name(judge(evidence).outcome), "host_oom") << "what may come at any time counts";
}

TEST(Outcome, ReadsTheErrorFilesOfTorchelastic) {
  Evidence evidence;
  evidence.wait_status = exited(1);
  evidence.error_files = {
      "not json", R"({"other": "MemoryError"})", R"({"message": 5})",
      R"({"message": {"extraInfo": "MemoryError"}})",
      R"({"message": {"message": "OutOfMemoryError: CUDA out of memory. Tried", "extraInfo": {}}})"};
  EXPECT_EQ(name(judge(evidence).outcome), "gpu_oom");
  evidence.error_files = {R"({"message": "MemoryError"})"};
  EXPECT_EQ(name(judge(evidence).outcome), "host_oom");
}

TEST(Outcome, AWrongCommandIsToldInItsOwnWords) {
  EXPECT_EQ(judge_text("usage: t.py [-h]\nt.py: error: unrecognized arguments: --x")->message,
            "t.py: error: unrecognized arguments: --x");
}

TEST(Outcome, FindsTheRankInTorchrunsTable) {
  Evidence evidence;
  evidence.wait_status = exited(1);
  evidence.stderr_text =
      "Failures:\n[1]:\n  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 5)\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : now\n"
      "  rank      : 3 (local_rank: 1)\n  exitcode  : -9 (pid: 6)\n";
  const Verdict found = judge(evidence);
  EXPECT_EQ(name(found.outcome), "host_oom");
  EXPECT_EQ(found.rank, 3);
  evidence.stderr_text = "Root Cause (first observed failure):\n  exitcode  : -9 (pid: 6)\n";
  EXPECT_EQ(judge(evidence).rank, -1) << "the table has no rank";
}

TEST(Outcome, TellsWaitStatusesApart) {
  const struct {
    int status;
    const char* outcome;
    const char* message;
  } cases[] = {
      {exited(0), "ok", ""},
      {exited(1), "crash", "exit status 1"},
      {exited(2), "invalid", "exit status 2"},
      {exited(126), "invalid", "not executable"},
      {exited(127), "invalid", "not found"},
      {exited(128 + SIGKILL), "host_oom", "SIGKILL"},
      {SIGKILL, "host_oom", "SIGKILL"},
      {SIGBUS, "shm_full", "/dev/shm"},
      {SIGSEGV, "crash", "signal 11"},
      {exited(128 + SIGSEGV), "crash", "signal 11"},
      {exited(128), "crash", "exit status 128"},
      {exited(129), "crash", "signal 1 ("},
      {exited(192), "crash", "signal 64"},
      {exited(193), "crash", "exit status 193"},
  };
  for (const auto& c : cases) {
    Evidence evidence;
    evidence.wait_status = c.status;
    const Verdict found = judge(evidence);
    EXPECT_EQ(name(found.outcome), c.outcome) << c.status;
    EXPECT_THAT(found.message, HasSubstr(c.message));
    EXPECT_EQ(found.rank, -1) << "the command's own status";
  }
}

TEST(Outcome, AMissingLibraryIsNoMissingCommand) {
  Evidence evidence;
  evidence.wait_status = exited(127);
  evidence.stderr_text =
      "./train: error while loading shared libraries: libtorch.so: cannot open shared object file: "
      "No such file or directory\n";
  EXPECT_THAT(judge(evidence).message, HasSubstr("libraries: libtorch.so: cannot open"));
  EXPECT_EQ(name(judge(evidence).outcome), "invalid");
}

// C++ ends a process that does not catch its exception by SIGABRT.
TEST(Outcome, AnUncaughtExceptionOfCppIsKnownByItsText) {
  Evidence evidence;
  evidence.wait_status = SIGABRT;
  evidence.stderr_text =
      "terminate called after throwing an instance of 'c10::OutOfMemoryError'\n"
      "  what():  CUDA out of memory. Tried to allocate 2.00 GiB\n";
  EXPECT_EQ(name(judge(evidence).outcome), "gpu_oom");
  evidence.stderr_text =
      "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
      "std::bad_alloc\n";
  EXPECT_EQ(name(judge(evidence).outcome), "host_oom");
  evidence.wait_status = SIGKILL;
  EXPECT_THAT(judge(evidence).message, HasSubstr("SIGKILL")) << "a kill says more than a text";
  evidence.wait_status = SIGABRT;
  evidence.stderr_text = "train: loop.cc:7: Assertion `loss > 0' failed.\n";
  EXPECT_EQ(judge(evidence).message, "died of signal 6 (Aborted)");
}

TEST(Outcome, TheKernelsCounterMakesAKillCertain) {
  Evidence evidence;
  evidence.wait_status = SIGKILL;
  evidence.oom_killer_ran = true;
  EXPECT_THAT(judge(evidence).message, HasSubstr("killed by the kernel"));
}

TEST(Outcome, ShowsTheScriptsLastException) {
  EXPECT_EQ(failure_line("Traceback (most recent call last):\n  File \"x\", line 1\n"
                         "mypackage.errors.DataError: no file\n"
                         "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                         "====\n"),
            "mypackage.errors.DataError: no file");
  EXPECT_EQ(failure_line("[rank1]: KeyError: 'x'\n"), "KeyError: 'x'");
  EXPECT_EQ(failure_line("segment is broken\n\n====\n"), "segment is broken");
  EXPECT_EQ(failure_line(" 0%| | 0/9\r 44%|# | 4/9\r"), " 44%|# | 4/9") << "a progress bar";
  EXPECT_EQ(failure_line("ValueError: x\r\nbye\r\n"), "ValueError: x");
  EXPECT_EQ(failure_line(""), "");
  EXPECT_EQ(failure_line(std::string(3000, 'x')), std::string(2000, 'x')) << "cut";
}

TEST(Outcome, ALongLineIsNoStackOverflow) {
  const std::string text(4 << 20, 'x');
  EXPECT_EQ(judge_text(text), std::nullopt);
  EXPECT_EQ(judge_text("usage: " + text + "\n" + text), std::nullopt);
}

TEST(Outcome, WhatAnExceptionSaysOfValuesComesAgain) {
  const auto verdict_on = [](const std::string& error, const std::string& message) {
    Evidence evidence;
    evidence.failures = {{0, "exception", error, message}};
    evidence.stepped = true;
    return judge(evidence);
  };
  EXPECT_TRUE(verdict_on("RuntimeError", "mat1 and mat2 shapes cannot be multiplied").is_certain);
  EXPECT_TRUE(verdict_on("KeyError", "'x'").is_certain);
  EXPECT_FALSE(verdict_on("RuntimeError", "CUDA error: unspecified launch failure").is_certain);
  EXPECT_FALSE(verdict_on("OSError", "No such device").is_certain);
}

TEST(Outcome, TheHooksOwnWordsAreShown) {
  const auto verdict_on = [](const FailureReport& failure) {
    Evidence evidence;
    evidence.failures = {failure};
    return judge(evidence);
  };
  const std::string words = "samples cannot be counted: no DataLoader";
  EXPECT_EQ(verdict_on({1, "invalid", "", words}), (Verdict{Outcome::kInvalid, 1, words}));
  EXPECT_EQ(verdict_on({1, "invalid", "E", words}),
            (Verdict{Outcome::kInvalid, 1, "invalid (rank 1)"}));
  EXPECT_EQ(verdict_on({1, "nan_loss", "", words}),
            (Verdict{Outcome::kNanLoss, 1, "the loss is NaN (rank 1)"}));
  EXPECT_EQ(verdict_on({-1, "thrash", "", ""}),
            (Verdict{Outcome::kThrash, -1, "the allocator thrashes"}));
}

// redline::Trial::fail() knows no type of an exception.
TEST(Outcome, AFailureThatTheProgramTellsIsShownInItsWords) {
  const auto message_of = [](const char* kind, const char* words) {
    Evidence evidence;
    evidence.stepped = true;
    evidence.failures = {{0, kind, "", words}};
    return judge(evidence).message;
  };
  EXPECT_EQ(message_of("exception", "why so"), "why so (rank 0)");
  EXPECT_EQ(message_of("crash", "first\nwhy so\n"), "why so (rank 0)");
  EXPECT_EQ(message_of("exception", ""), "crash (rank 0)");
  EXPECT_EQ(message_of("crash", ""), "crash (rank 0)");
}

TEST(Outcome, AnExceptionSaysItsTypeAndItsLastLine) {
  Evidence evidence;
  evidence.failures = {{0, "exception", "ValueError", "first\nlast\n"}};
  EXPECT_EQ(judge(evidence), (Verdict{Outcome::kInvalid, 0, "ValueError: last (rank 0)", true}));
  evidence.failures = {{0, "exception", "RuntimeError", "Broken pipe"},
                       {1, "exception", "RuntimeError", "Read error"}};
  EXPECT_EQ(judge(evidence), Verdict{})
      << "only of those that lost a peer, so the cause is elsewhere";
  evidence.wait_status = exited(1);
  evidence.stderr_text = "Killed process\nRuntimeError: it broke\n";
  EXPECT_EQ(judge(evidence), (Verdict{Outcome::kCrash, -1, "RuntimeError: it broke"}));
  evidence.stderr_text = "AssertionError: no\n";
  EXPECT_EQ(judge(evidence).outcome, Outcome::kInvalid);
  evidence.stepped = true;
  EXPECT_EQ(judge(evidence).outcome, Outcome::kCrash);
  evidence.wait_status = exited(2);
  EXPECT_EQ(judge(evidence).outcome, Outcome::kCrash);
}

}  // namespace
}  // namespace redline::tuner
