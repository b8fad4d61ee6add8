// The facts that the doctor finds out about a machine, as plain values.
//
// probe.h fills them on the machine. judge.h only reads them, so that every judgement can be tested
// on a machine without a GPU. A fact that is not known is an empty optional, never a zero. Sizes
// are in bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace redline::doctor {

/// A CUDA release such as 13.0. Drivers and headers write it as 1000 * major + 10 * minor.
struct CudaVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const CudaVersion&) const = default;
  [[nodiscard]] static CudaVersion from_number(int number) {
    return {number / 1000, number % 1000 / 10};
  }
  /// "13.0.2" -> 13.0
  [[nodiscard]] static std::optional<CudaVersion> from_text(const std::string& text);
};

struct Pcie {
  int generation = 0;  ///< the highest that both ends support; an idle link may run slower
  int width = 0;       ///< lanes in use
  int max_width = 0;   ///< lanes that the GPU and its slot could use
};

struct GpuFacts {
  int index = 0;  ///< as nvidia-smi counts
  std::string name;
  std::string uuid;
  std::optional<int64_t> memory_bytes = {};  ///< nullopt: it has none of its own, or not told
  std::optional<int64_t> free_bytes = {};
  int compute_major = 0;
  int compute_minor = 0;
  std::optional<bool> mig;  ///< nullopt: this GPU cannot be split
  int mig_instances = 0;
  std::optional<Pcie> pcie;
  std::optional<int> nvlinks = {};  ///< links that are up; nullopt: no NVLink, or not told
};

/// A GPU that the driver counts but cannot open, such as one that fell off the bus.
struct UnusableGpu {
  int index = 0;
  std::string failure;  ///< NVML's error text
  int status = 0;       ///< NVML's nvmlReturn_t
};

/// How far apart two GPUs are: NVML's nvmlGpuTopologyLevel_t.
struct GpuPair {
  int first = 0;
  int second = 0;
  int level = 0;
};

/// The kernel driver as NVML sees it.
struct Driver {
  std::string version;
  std::optional<CudaVersion> cuda;  ///< the newest version that it can run
  std::vector<GpuFacts> gpus;
  std::string failure;  ///< NVML's error text, if it did not start
  int status = 0;       ///< NVML's nvmlReturn_t
  std::vector<GpuPair> pairs = {};
  std::vector<UnusableGpu> unusable = {};
};

/// CUDA as programs see it, which CUDA_VISIBLE_DEVICES, containers and permissions may limit.
struct CudaRuntime {
  int status = 0;  ///< CUresult of cuInit
  int devices = 0;
};

struct Toolkit {
  std::filesystem::path folder;
  std::optional<CudaVersion> version;
  bool compiler = false;  ///< has bin/nvcc
};

struct Torch {
  std::string version;              ///< "2.11.0+cu130"
  std::optional<CudaVersion> cuda;  ///< nullopt: built without CUDA
  std::string cudnn;                ///< "9.19.0"; empty: none
  std::string nccl;
  std::vector<std::string> architectures;  ///< "sm_90", "compute_90"
  bool cxx11_abi = true;
  std::filesystem::path folder;
};

/// The Python that training commands are assumed to use.
struct Python {
  std::string executable;
  std::string version;
  std::optional<Torch> torch;
  std::string failure;             ///< why torch could not be imported
  bool torch_missing = false;      ///< torch is not installed, rather than broken
  std::string cupti_distribution;  ///< version of the CUPTI wheel, if one is installed
};

struct Cupti {
  std::filesystem::path library;
  std::string version;  ///< empty: not told
};

/// Our libraries that are loaded into a training process.
struct Recorder {
  bool core = false;
  bool adapter = false;
  std::string adapter_torch;  ///< the torch that the adapter was built against
};

struct HostFacts {
  int cores = 0;
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> available_bytes;
  std::optional<int64_t> shm_bytes;
  std::optional<int64_t> shm_free_bytes;
  bool cgroup_delegated = false;  ///< we may limit trials by cgroup v2
  int64_t open_files = 0;         ///< soft limit of this process
  int64_t open_files_limit = 0;   ///< hard limit
  bool nvidia_hardware = false;   ///< an NVIDIA display controller on the PCI bus
  bool nvidia_device_nodes = false;
  bool nvidia_kernel_driver = false;     ///< it runs, perhaps outside of this container
  bool gpu_activity_restricted = false;  ///< the driver lets only administrators profile
  bool administrator = false;            ///< for the driver
  std::optional<int> perf_event_paranoid;
  std::optional<int> ptrace_scope;
};

/// The folder of traces or training data, and its disk.
struct DataFolder {
  std::filesystem::path folder;
  std::string filesystem;  ///< "ext4"; empty: not told
  std::string source;      ///< "/dev/nvme0n1p1", "server:/export"
  /// Whether it is a hard disk; nullopt if it is no disk of this machine, or a virtual one.
  std::optional<bool> rotating;
  int64_t bytes = 0;
  int64_t free_bytes = 0;
};

struct NetworkInterface {
  std::string name;
  bool up = false;
  std::optional<int> megabits;  ///< per second
};

struct InfinibandPort {
  std::string name;  ///< "mlx5_0 port 1"
  bool active = false;
  std::string rate;  ///< "400 Gb/sec (4X NDR)"
};

/// The networks from which NCCL and Gloo can choose.
struct Network {
  std::vector<NetworkInterface> interfaces;
  std::vector<InfinibandPort> infiniband;
  std::optional<std::string> nccl_interfaces;  ///< NCCL_SOCKET_IFNAME
  std::optional<std::string> gloo_interfaces;  ///< GLOO_SOCKET_IFNAME
  bool infiniband_disabled = false;            ///< NCCL_IB_DISABLE=1
  bool infiniband_device_nodes = false;        ///< through which programs use it
};

/// What the kernel says of its clock, which NTP or PTP sets.
struct Clock {
  bool synchronised = false;
  int64_t most_error_ns = 0;
  std::string daemon;  ///< "chrony"; empty: none that we know
};

struct Facts {
  std::optional<Driver> driver;
  std::optional<CudaRuntime> cuda;
  std::optional<std::string> cuda_visible_devices;
  std::optional<Toolkit> toolkit;
  std::optional<Python> python;
  std::optional<Cupti> cupti;
  Recorder recorder;
  HostFacts host;
  std::optional<DataFolder> data;
  Network network;
  std::optional<Clock> clock;
};

}  // namespace redline::doctor
