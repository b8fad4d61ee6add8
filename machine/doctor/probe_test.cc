#include "machine/doctor/probe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "machine/doctor/nvidia.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::doctor {
namespace {

namespace fs = std::filesystem;

/// A machine made of files in a temporary folder, stub libraries, and an environment of the test.
class Probe : public ::testing::Test, protected testing::Variables {
 protected:
  void SetUp() override {
    sources_.root = place_.path();
    sources_.libraries = REDLINE_STUB_DIR;
    sources_.environment = [this](const std::string& variable) -> std::optional<std::string> {
      const auto found = environment_.find(variable);
      return found == environment_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  void write(const fs::path& file, const std::string& content) {
    fs::create_directories((sources_.root / file).parent_path());
    std::ofstream(sources_.root / file) << content;
  }

  /// An executable that stands for a Python interpreter.
  std::string interpreter(const std::string& script) {
    write("python", "#!/bin/sh\n" + script);
    fs::permissions(sources_.root / "python", fs::perms::owner_all);
    return sources_.root / "python";
  }

  const testing::TemporaryFolder place_;
  Sources sources_;
  std::map<std::string, std::string> environment_;
};

TEST_F(Probe, ReadsTheDriverAndEveryGpu) {
  set("REDLINE_STUB_GPUS", 2);
  const auto driver = probe_driver(sources_);
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->version, "580.65.06");
  EXPECT_EQ(driver->cuda, (CudaVersion{13, 0}));
  ASSERT_EQ(driver->gpus.size(), 2U);
  const GpuFacts& gpu = driver->gpus[1];
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "GPU-2");
  EXPECT_EQ(gpu.memory_bytes, 143771LL << 20);
  EXPECT_EQ(gpu.free_bytes, 143068LL << 20);
  EXPECT_EQ(gpu.compute_major, 9);
  EXPECT_FALSE(gpu.mig);
  ASSERT_TRUE(gpu.pcie);
  EXPECT_EQ(gpu.pcie->generation, 5);
}

TEST_F(Probe, NamesTheGpuThatFellOffTheBusAndLeavesTheOthersTheirNumbers) {
  set("REDLINE_STUB_GPUS", 4);
  set("REDLINE_STUB_REFUSED", 1);
  const auto driver = probe_driver(sources_);
  ASSERT_TRUE(driver && driver->gpus.size() == 3 && driver->unusable.size() == 1);
  EXPECT_EQ(driver->unusable[0].index, 1);
  EXPECT_EQ(driver->unusable[0].failure, "GPU is lost");
  EXPECT_EQ(driver->gpus[1].index, 2);
  EXPECT_EQ(driver->pairs.back().first, 2);
  EXPECT_EQ(driver->pairs.back().second, 3);
  set("REDLINE_STUB_REFUSAL", nvml::kNoPermission);
  EXPECT_TRUE(probe_driver(sources_)->unusable.empty()) << "it is another container's";
}

TEST_F(Probe, CountsMigInstances) {
  set("REDLINE_STUB_MIG", 3);
  const auto driver = probe_driver(sources_);
  ASSERT_TRUE(driver && driver->gpus.size() == 1);
  EXPECT_EQ(driver->gpus[0].mig, true);
  EXPECT_EQ(driver->gpus[0].mig_instances, 3);
}

TEST_F(Probe, KeepsTheDriversOwnWordsWhenItFails) {
  set("REDLINE_STUB_NVML_STATUS", nvml::kLibraryMismatch);
  const auto driver = probe_driver(sources_);
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->failure, "Driver/library version mismatch");
  EXPECT_TRUE(driver->gpus.empty());
}

TEST_F(Probe, AsksCudaWhatProgramsSee) {
  set("REDLINE_STUB_VISIBLE", 4);
  EXPECT_EQ(probe_cuda(sources_)->devices, 4);
  set("REDLINE_STUB_CUDA_STATUS", kCudaNoDevice);
  EXPECT_EQ(probe_cuda(sources_)->status, kCudaNoDevice);
}

TEST_F(Probe, FindsNoDriverWhereThereIsNone) {
  sources_.libraries = sources_.root;
  EXPECT_FALSE(probe_driver(sources_));
  EXPECT_FALSE(probe_cuda(sources_));
}

TEST_F(Probe, FindsTheToolkitByVersionFileOrHeader) {
  EXPECT_FALSE(probe_toolkit(sources_));
  write("usr/local/cuda/include/cuda.h", "#ifndef X\n#define CUDA_VERSION 12080\n");
  EXPECT_EQ(probe_toolkit(sources_)->version, (CudaVersion{12, 8}));
  write("usr/local/cuda/version.json", R"({"cuda": {"version": "13.0.2"}})");
  EXPECT_EQ(probe_toolkit(sources_)->version, (CudaVersion{13, 0}));
  environment_["CUDA_HOME"] = "/opt/cuda";
  write("opt/cuda/bin/nvcc", "");
  const auto toolkit = probe_toolkit(sources_);
  EXPECT_EQ(toolkit->folder, "/opt/cuda");
  EXPECT_TRUE(toolkit->compiler);
  EXPECT_FALSE(toolkit->version);
}

TEST_F(Probe, PrefersTheCuptiOfTorch) {
  write("usr/local/cuda/version.json",
        R"({"cuda": {"version": "13.0.2"}, "cuda_cupti": {"version": "13.0.85"}})");
  write("usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", "");
  const auto toolkit = probe_toolkit(sources_);
  EXPECT_EQ(probe_cupti(sources_, {}, toolkit)->version, "13.0.85");
  Python python;
  python.torch = Torch{};
  python.torch->folder = sources_.root / "site/torch";
  python.cupti_distribution = "12.8.90";
  EXPECT_EQ(probe_cupti(sources_, python, toolkit)->version, "13.0.85");
  write("site/nvidia/cuda_cupti/lib/libcupti.so.12", "");
  EXPECT_EQ(probe_cupti(sources_, python, toolkit)->version, "12.8.90");
}

TEST_F(Probe, ReadsTheHost) {
  write("proc/meminfo", "MemTotal:       131072 kB\nMemFree: 1 kB\nMemAvailable:    65536 kB\n");
  write("proc/self/cgroup", "4:memory:/other\n0::/user/job\n");
  write("sys/fs/cgroup/user/job/cgroup.controllers", "cpu memory pids\n");
  write("sys/fs/cgroup/user/job/cgroup.subtree_control", "");
  write("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n");
  write("proc/driver/nvidia/params", "ResmanDebugLevel: 0\nRmProfilingAdminOnly: 1\n");
  write("proc/sys/kernel/perf_event_paranoid", "3\n");
  write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  fs::create_directories(sources_.root / "dev/shm");
  const HostFacts host = probe_host(sources_);
  EXPECT_EQ(host.memory_bytes, 128LL << 20);
  EXPECT_EQ(host.available_bytes, 64LL << 20);
  EXPECT_EQ(host.cores, 1);
  EXPECT_TRUE(host.cgroup_delegated);
  EXPECT_TRUE(host.gpu_activity_restricted);
  EXPECT_TRUE(host.nvidia_hardware);
  EXPECT_FALSE(host.nvidia_device_nodes);
  EXPECT_EQ(host.perf_event_paranoid, 3);
  EXPECT_FALSE(host.ptrace_scope);
  EXPECT_FALSE(host.nvidia_kernel_driver);
  EXPECT_GT(host.shm_bytes.value_or(0), 0);
}

TEST_F(Probe, AsksWhatTheDriverAsksOfAnAdministrator) {
  write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module\n");
  EXPECT_TRUE(probe_host(sources_).nvidia_kernel_driver);
  const auto is_administrator = [&](const char* capabilities, const char* users) {
    write("proc/self/status", std::string("CapEff:\t") + capabilities + "\n");
    write("proc/self/uid_map", users);
    return probe_host(sources_).administrator;
  };
  constexpr const char* kAll = "000001ffffffffff";
  constexpr const char* kOfDocker = "00000000a80425fb";
  constexpr const char* kSame = "         0          0 4294967295\n";
  EXPECT_TRUE(is_administrator(kAll, kSame));
  EXPECT_TRUE(is_administrator("0000000000200000", kSame));
  EXPECT_FALSE(is_administrator(kOfDocker, kSame));
  EXPECT_FALSE(is_administrator(kAll, "         0       1000          1\n"));
}

TEST_F(Probe, TakesTheMemoryLimitOfItsCgroup) {
  write("proc/meminfo", "MemTotal: 131072 kB\nMemAvailable: 131072 kB\n");
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "67108864\n");
  write("sys/fs/cgroup/memory.current", "1048576\n");
  const HostFacts host = probe_host(sources_);
  EXPECT_EQ(host.memory_bytes, 64LL << 20);
  EXPECT_EQ(host.available_bytes, 63LL << 20);
  EXPECT_FALSE(host.cgroup_delegated);
  EXPECT_FALSE(host.shm_bytes);
}

TEST_F(Probe, ANetworkCardIsNoGpu) {
  write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n");
  EXPECT_FALSE(probe_host(sources_).nvidia_hardware);
}

TEST_F(Probe, TakesTheAnswerAfterWhatTorchPrints) {
  environment_["REDLINE_PYTHON"] = interpreter(
      R"(echo 'warning {from} a plugin'; echo '{"executable": "/p", "version": "3.12.1", )"
      R"("torch": {"version": "2.7.1", "cuda": "12.8", "cudnn": 8902, "nccl": "2.26.2", )"
      R"("architectures": ["sm_80"], "cxx11_abi": true, "folder": "/site/torch"}}')");
  const auto python = probe_python(sources_);
  ASSERT_TRUE(python && python->torch);
  EXPECT_EQ(python->executable, "/p");
  EXPECT_EQ(python->torch->version, "2.7.1");
  EXPECT_EQ(python->torch->cuda, (CudaVersion{12, 8}));
  EXPECT_EQ(python->torch->cudnn, "8.9.2");
  EXPECT_EQ(python->torch->folder, "/site/torch");
}

TEST_F(Probe, SaysWhyTorchIsNotThere) {
  environment_["REDLINE_PYTHON"] = interpreter(
      R"(echo '{"executable": "/p", "version": "3.12.1", "failure": "OSError: x", "missing": false}')");
  EXPECT_EQ(probe_python(sources_)->failure, "OSError: x");
  environment_["REDLINE_PYTHON"] = interpreter(R"(case "$2" in *torch*) kill -SEGV $$;; esac)");
  EXPECT_EQ(probe_python(sources_)->failure,
            "import torch: Python was ended by signal 11 (Segmentation fault)");
  environment_["REDLINE_PYTHON"] = interpreter(R"(case "$2" in *torch*) exit 3;; esac)");
  EXPECT_EQ(probe_python(sources_)->failure, "import torch: Python ended with status 3");
  environment_["REDLINE_PYTHON"] = interpreter("");
  EXPECT_EQ(probe_python(sources_)->failure,
            "import torch: Python ended without an error, but before its answer");
  environment_["REDLINE_PYTHON"] = sources_.root / "nothing";
  EXPECT_FALSE(probe_python(sources_));
}

TEST_F(Probe, ReadsHowGpusAreConnected) {
  set("REDLINE_STUB_GPUS", 3);
  EXPECT_FALSE(probe_driver(sources_)->gpus[0].nvlinks);
  set("REDLINE_STUB_NVLINKS", 18);
  const auto driver = probe_driver(sources_);
  EXPECT_EQ(driver->gpus[2].nvlinks, 18);
  ASSERT_EQ(driver->pairs.size(), 3U);
  EXPECT_EQ(driver->pairs[0].level, nvml::kOneSwitch);
  EXPECT_EQ(driver->pairs[2].level, nvml::kManyNodes);
}

TEST_F(Probe, FindsTheDiskOfAFolderByTheDeepestMount) {
  write("proc/self/mountinfo",
        "1 0 0:30 / / rw - overlay overlay rw\n"
        "2 1 259:1 / /data rw,noatime shared:1 - ext4 /dev/nvme0n1p1 rw\n"
        "3 1 8:1 / /database rw - xfs /dev/sda1 rw\n"
        "4 1 0:40 / /my\\040files rw - nfs4 server:/export rw\n");
  write("sys/dev/block/259:1/queue/rotational", "0\n");
  write("sys/dev/block/8:1/queue/rotational", "1\n");
  write("proc/cpuinfo", "flags : fpu vme\n");
  const auto disk_of = [&](const char* folder) {
    fs::create_directories(sources_.root / fs::path(folder).relative_path());
    sources_.data = folder;
    return *probe_data(sources_);
  };
  EXPECT_EQ(disk_of("/data/train").filesystem, "ext4");
  EXPECT_EQ(disk_of("/data/train").rotating, false);
  EXPECT_EQ(disk_of("/database").rotating, true);
  EXPECT_EQ(disk_of("/my files").source, "server:/export");
  EXPECT_EQ(disk_of("/elsewhere").filesystem, "overlay");
  EXPECT_FALSE(disk_of("/elsewhere").rotating);
  EXPECT_GT(disk_of("/data").free_bytes, 0);
  write("proc/cpuinfo", "flags : fpu vme hypervisor\n");
  EXPECT_FALSE(disk_of("/database").rotating) << "virtual disks say that they rotate";
  sources_.data = "/not/there";
  EXPECT_FALSE(probe_data(sources_));
}

TEST_F(Probe, ReadsInterfacesAndInfiniband) {
  write("sys/class/net/eth0/operstate", "up\n");
  write("sys/class/net/eth0/speed", "25000\n");
  write("sys/class/net/eth1/operstate", "down\n");
  write("sys/class/net/eth1/speed", "-1\n");
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
  write("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
  environment_["NCCL_SOCKET_IFNAME"] = "eth0";
  const Network network = probe_network(sources_);
  ASSERT_EQ(network.interfaces.size(), 2U);
  EXPECT_TRUE(network.interfaces[0].up);
  EXPECT_EQ(network.interfaces[0].megabits, 25000);
  EXPECT_FALSE(network.interfaces[1].up || network.interfaces[1].megabits);
  ASSERT_EQ(network.infiniband.size(), 2U);
  EXPECT_TRUE(network.infiniband[0].active);
  EXPECT_EQ(network.infiniband[0].rate, "200 Gb/sec (4X HDR)");
  EXPECT_FALSE(network.infiniband[1].active);
  EXPECT_FALSE(network.infiniband_device_nodes);
  fs::create_directories(sources_.root / "dev/infiniband");
  EXPECT_TRUE(probe_network(sources_).infiniband_device_nodes);
  EXPECT_EQ(network.nccl_interfaces, "eth0");
}

}  // namespace
}  // namespace redline::doctor
