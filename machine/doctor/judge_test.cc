#include "machine/doctor/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/doctor/nvidia.h"

namespace redline::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kGibibyte = 1LL << 30;

/// A machine on which nothing is wrong.
Facts healthy() {
  Facts facts;
  GpuFacts gpu{.name = "NVIDIA H200",
               .uuid = "GPU-1",
               .memory_bytes = 143771LL << 20,
               .free_bytes = 143068LL << 20,
               .compute_major = 9,
               .compute_minor = 0,
               .mig = {},
               .mig_instances = 0,
               .pcie = Pcie{5, 16, 16}};
  facts.driver = Driver{"580.65.06", CudaVersion{13, 0}, {gpu}, "", nvml::kSuccess};
  facts.cuda = CudaRuntime{kCudaSuccess, 1};
  facts.toolkit = Toolkit{"/usr/local/cuda", CudaVersion{13, 0}, true};
  Python python;
  python.executable = "/venv/bin/python";
  python.version = "3.11.2";
  python.torch = Torch{"2.11.0+cu130", CudaVersion{13, 0}, "9.19.0", "2.28.9", {"sm_90"},
                       true,           "/venv/lib/torch"};
  facts.python = python;
  facts.cupti = Cupti{"/venv/lib/libcupti.so.13", "13.0.85"};
  facts.recorder = Recorder{true, true, "2.11.0"};
  facts.host.cores = 16;
  facts.host.memory_bytes = 128 * kGibibyte;
  facts.host.available_bytes = 100 * kGibibyte;
  facts.host.shm_bytes = facts.host.shm_free_bytes = 64 * kGibibyte;
  facts.host.open_files = facts.host.open_files_limit = 65536;
  facts.host.cgroup_delegated = true;
  facts.host.nvidia_hardware = facts.host.nvidia_device_nodes = true;
  facts.data =
      DataFolder{"/data", "ext4", "/dev/nvme0n1p1", false, 900 * kGibibyte, 800 * kGibibyte};
  facts.network.interfaces = {{"eth0", true, 10000}, {"lo", true, {}}};
  facts.network.infiniband = {{"mlx5_0 port 1", true, "400 Gb/sec (4X NDR)"}};
  facts.network.infiniband_device_nodes = true;
  facts.clock = Clock{true, 12'300'000, "chrony"};
  return facts;
}

Facts without_gpu() {
  Facts facts = healthy();
  facts.driver.reset();
  facts.cuda.reset();
  facts.host.nvidia_hardware = facts.host.nvidia_device_nodes = false;
  return facts;
}

/// The warnings and errors.
std::vector<Check> complaints(const Facts& facts) {
  std::vector<Check> found;
  for (const Check& check : judge(facts)) {
    if (check.state == State::kWarning || check.state == State::kError) found.push_back(check);
  }
  return found;
}

auto complaint(State state, const std::string& name, const std::string& cure) {
  return AllOf(Field(&Check::state, state), Field(&Check::name, name),
               Field(&Check::cure, HasSubstr(cure)));
}

TEST(Judge, FindsNothingWrongWithAHealthyMachine) {
  EXPECT_THAT(complaints(healthy()), IsEmpty());
  EXPECT_THAT(judge_gpus(healthy()).front().parts,
              ElementsAre("NVIDIA H200", "140.4 GiB (139.7 free)", "sm_90", "PCIe gen5 x16"));
}

TEST(Judge, TakesAMachineWithoutGpuAsItIs) {
  EXPECT_THAT(complaints(without_gpu()), IsEmpty());
  EXPECT_EQ(judge_driver(without_gpu()).front().state, State::kAbsent);
}

struct Case {
  const char* what;
  void (*damage)(Facts&);
  State state;
  const char* name;
  const char* cure;
};

class JudgeDamage : public ::testing::TestWithParam<Case> {};

TEST_P(JudgeDamage, IsTheOnlyComplaintAndHasItsCure) {
  Facts facts = healthy();
  GetParam().damage(facts);
  EXPECT_THAT(complaints(facts),
              ElementsAre(complaint(GetParam().state, GetParam().name, GetParam().cure)));
}

const Case kCases[] = {
    {"OldDriver",
     [](Facts& facts) {
       facts.driver->cuda = CudaVersion{12, 8};
     },
     State::kError, "driver", "update the driver, or install a torch that is built for CUDA 12.8"},
    {"OldMinorDriver",
     [](Facts& facts) {
       facts.python->torch->cuda = CudaVersion{13, 2};
     },
     State::kWarning, "driver", "update the driver"},
    {"UpdatedUnderWay",
     [](Facts& facts) {
       facts.driver = Driver{"", {}, {}, "Driver/library version mismatch", nvml::kLibraryMismatch};
     },
     State::kError, "driver", "reboot"},
    {"ContainerWithoutLibraries", [](Facts& facts) { facts.driver.reset(); }, State::kError,
     "driver", "--gpus all"},
    {"NoDriver",
     [](Facts& facts) {
       facts.driver.reset();
       facts.host.nvidia_device_nodes = false;
     },
     State::kWarning, "driver", "install the driver"},
    {"ContainerWithoutGpus",
     [](Facts& facts) {
       facts.driver.reset();
       facts.host.nvidia_device_nodes = false;
       facts.host.nvidia_kernel_driver = true;
     },
     State::kWarning, "driver", "--gpus all"},
    {"ContainerWithLibrariesAndWithoutGpus",
     [](Facts& facts) {
       facts.driver = Driver{"", {}, {}, "Driver Not Loaded", nvml::kDriverNotLoaded};
       facts.host.nvidia_device_nodes = false;
       facts.host.nvidia_kernel_driver = true;
     },
     State::kWarning, "driver", "--gpus all"},
    {"NoGpuShown", [](Facts& facts) { facts.driver->gpus.clear(); }, State::kWarning, "GPU",
     "nvidia-smi"},
    {"LostGpu",
     [](Facts& facts) {
       facts.driver->unusable = {{3, "GPU is lost", nvml::kGpuIsLost}};
     },
     State::kError, "GPU 3", "fell off the bus: reboot"},
    {"NoCodeForTheGpu",
     [](Facts& facts) {
       facts.python->torch->architectures = {"sm_75", "sm_100", "compute_120"};
     },
     State::kError, "GPU 0", "no code for sm_90"},
    {"MigWithoutInstance", [](Facts& facts) { facts.driver->gpus[0].mig = true; }, State::kError,
     "GPU 0", "nvidia-smi mig"},
    {"NarrowSlot",
     [](Facts& facts) {
       facts.driver->gpus[0].pcie = Pcie{5, 4, 16};
     },
     State::kWarning, "GPU 0", "only 4 of 16 PCIe lanes"},
    {"HiddenGpus",
     [](Facts& facts) {
       facts.cuda_visible_devices = "";
       facts.cuda = CudaRuntime{kCudaNoDevice, 0};
     },
     State::kWarning, "visible GPUs", "unset CUDA_VISIBLE_DEVICES"},
    {"NoFabricManager",
     [](Facts& facts) {
       facts.cuda = CudaRuntime{kCudaSystemNotReady, 0};
     },
     State::kError, "visible GPUs", "nvidia-fabricmanager"},
    {"OtherToolkit",
     [](Facts& facts) {
       facts.toolkit->version = CudaVersion{11, 8};
     },
     State::kWarning, "CUDA toolkit", "CUDA_HOME"},
    {"CpuTorch", [](Facts& facts) { facts.python->torch->cuda.reset(); }, State::kWarning,
     "PyTorch", "cannot use the GPU: install one built for CUDA 13.0"},
    {"NoTorch",
     [](Facts& facts) {
       facts.python->torch.reset();
       facts.python->torch_missing = true;
     },
     State::kWarning, "PyTorch", "REDLINE_PYTHON"},
    {"BrokenTorch",
     [](Facts& facts) {
       facts.python->torch.reset();
       facts.python->failure = "ImportError: libcudart.so.13";
     },
     State::kError, "PyTorch", "reinstall torch"},
    {"NoPython", [](Facts& facts) { facts.python.reset(); }, State::kWarning, "PyTorch",
     "activate your environment"},
    {"OtherTorch", [](Facts& facts) { facts.recorder.adapter_torch = "2.9.1"; }, State::kWarning,
     "recorder", "REDLINE_PYTHON=/venv/bin/python ./scripts/setup"},
    {"NoAdapter", [](Facts& facts) { facts.recorder.adapter = false; }, State::kWarning, "recorder",
     "cmake --preset release -DREDLINE_TORCH=ON"},
    {"NoRecorder", [](Facts& facts) { facts.recorder.core = false; }, State::kError, "recorder",
     "cmake --build"},
    {"NoCupti", [](Facts& facts) { facts.cupti.reset(); }, State::kWarning, "CUPTI",
     "install a torch for CUDA"},
    {"RestrictedCupti", [](Facts& facts) { facts.host.gpu_activity_restricted = true; },
     State::kWarning, "CUPTI", "NVreg_RestrictProfilingToAdminUsers=0"},
    {"DockerSharedMemory", [](Facts& facts) { facts.host.shm_free_bytes = 64 << 20; },
     State::kWarning, "/dev/shm", "--shm-size"},
    {"NoSharedMemory", [](Facts& facts) { facts.host.shm_bytes.reset(); }, State::kWarning,
     "/dev/shm", "mount a tmpfs"},
    {"FewFiles", [](Facts& facts) { facts.host.open_files = 256; }, State::kWarning, "limits",
     "ulimit -n 65536"},
};

INSTANTIATE_TEST_SUITE_P(All, JudgeDamage, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.what); });

TEST(Judge, LetsRootReadGpuActivity) {
  Facts facts = healthy();
  facts.host.gpu_activity_restricted = true;
  facts.host.administrator = true;
  EXPECT_THAT(complaints(facts), IsEmpty());
}

TEST(Judge, TakesIntermediateCodeForNewerGpus) {
  Facts facts = healthy();
  facts.python->torch->architectures = {"sm_75", "compute_80"};
  EXPECT_THAT(complaints(facts), IsEmpty());
}

TEST(Judge, PassesOverADriverLibraryOnAMachineWithoutGpu) {
  Facts facts = without_gpu();
  facts.driver = Driver{"", {}, {}, "Driver Not Loaded", nvml::kDriverNotLoaded};
  EXPECT_THAT(complaints(facts), IsEmpty());
}

std::vector<std::string> site_parts(const Facts& facts, size_t index) {
  return judge_site(facts)[index].parts;
}

TEST(JudgeSite, SaysDiskNetworkAndClock) {
  const Facts facts = healthy();
  EXPECT_THAT(site_parts(facts, 0),
              ElementsAre("900.0 GiB (800.0 free)", "SSD: ext4 on /dev/nvme0n1p1", "/data"));
  EXPECT_THAT(site_parts(facts, 1), ElementsAre("eth0 10 Gbit/s"));
  EXPECT_THAT(site_parts(facts, 2), ElementsAre("mlx5_0 port 1 400 Gb/sec (4X NDR)"));
  EXPECT_THAT(site_parts(facts, 3), ElementsAre("synchronised", "at most 12.3 ms off", "chrony"));
}

TEST(JudgeSite, TellsDisksApart) {
  Facts facts = healthy();
  facts.data->rotating = true;
  EXPECT_THAT(complaints(facts), ElementsAre(complaint(State::kWarning, "data folder", "SSD")));
  facts.data->rotating.reset();
  EXPECT_EQ(site_parts(facts, 0)[1], "ext4 on /dev/nvme0n1p1") << "of a virtual disk nobody knows";
  facts.data->filesystem = "nfs4";
  facts.data->source = "server:/export";
  EXPECT_EQ(site_parts(facts, 0)[1], "network: nfs4 on server:/export");
  facts.data->free_bytes = kGibibyte;
  EXPECT_THAT(complaints(facts),
              ElementsAre(complaint(State::kWarning, "data folder", "free some space")));
}

TEST(JudgeSite, ReadsNcclsChoiceOfInterfacesAsNcclDoes) {
  Facts facts = healthy();
  struct Case {
    const char* choice;
    bool good;
  };
  for (const auto& [choice, good] :
       {Case{"eth", true}, Case{"=eth0", true}, Case{"=eth", false}, Case{"ib0,eth0", true},
        Case{"ib", false}, Case{"^eth", true}, Case{"^eth,lo", false}, Case{"", true}}) {
    facts.network.nccl_interfaces = choice;
    EXPECT_EQ(complaints(facts).empty(), good) << choice;
  }
  facts.network.nccl_interfaces.reset();
  facts.network.gloo_interfaces = "eth";  // Gloo needs whole names
  EXPECT_THAT(complaints(facts), ElementsAre(complaint(State::kWarning, "network", "(eth0, lo)")));
}

TEST(JudgeSite, WarnsWhereInfinibandIsThereAndUnused) {
  Facts facts = healthy();
  facts.network.infiniband_disabled = true;
  EXPECT_THAT(complaints(facts),
              ElementsAre(complaint(State::kWarning, "InfiniBand", "unset NCCL_IB_DISABLE")));
  facts.network.infiniband_disabled = false;
  facts.network.infiniband.push_back({"mlx5_1 port 1", false, ""});
  EXPECT_THAT(complaints(facts), IsEmpty()) << "servers have ports that nobody uses";
  facts.network.infiniband.erase(facts.network.infiniband.begin());
  EXPECT_THAT(complaints(facts), ElementsAre(complaint(State::kWarning, "InfiniBand", "sockets")));
  facts.network = healthy().network;
  facts.network.infiniband_device_nodes = false;
  EXPECT_THAT(complaints(facts),
              ElementsAre(complaint(State::kWarning, "InfiniBand", "--device=/dev/infiniband")));
}

TEST(JudgeSite, AClockThatNobodySetsIsNoWarningOnOneMachine) {
  Facts facts = healthy();
  facts.clock->synchronised = false;
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_EQ(judge_site(facts)[3].state, State::kAbsent);
}

TEST(Judge, CountsLostGpusAmongThoseThatProgramsDoNotSee) {
  Facts facts = healthy();
  facts.driver->gpus[0].index = 1;
  facts.driver->unusable = {{0, "GPU is lost", nvml::kGpuIsLost}};
  EXPECT_EQ(judge_visibility(facts)[0].parts[0], "1 of 2");
  EXPECT_EQ(judge_gpus(facts)[0].name, "GPU 1");
  EXPECT_EQ(judge_gpus(facts).size(), 2U) << "one GPU has no topology";
  facts.driver->gpus.clear();
  EXPECT_EQ(judge_gpus(facts).size(), 1U);
}

TEST(Judge, SaysHowGpusAreConnected) {
  Facts facts = healthy();
  facts.driver->gpus.push_back(facts.driver->gpus[0]);
  facts.driver->gpus.push_back(facts.driver->gpus[0]);
  facts.driver->pairs = {
      {0, 1, nvml::kOneSwitch}, {0, 2, nvml::kManyNodes}, {1, 2, nvml::kManyNodes}};
  EXPECT_THAT(judge_gpus(facts).back().parts,
              ElementsAre("1 pair at one PCIe switch", "2 pairs across sockets", "no NVLink"));
  for (GpuFacts& gpu : facts.driver->gpus) gpu.nvlinks = 18;
  facts.driver->gpus[1].nvlinks = 17;
  EXPECT_EQ(judge_gpus(facts).back().parts.back(), "NVLink: 17 up each")
      << "of the one with the fewest";
  facts.driver->gpus[0].nvlinks.reset();
  EXPECT_EQ(judge_gpus(facts).back().parts.back(), "NVLink: 17 up each on 2 of 3 GPUs");
}

TEST(Judge, SaysNothingOfMemoryThatIsNotKnown) {
  Facts facts = healthy();
  GpuFacts& gpu = facts.driver->gpus[0];  // as of one that has the memory of the host
  gpu.memory_bytes = gpu.free_bytes = std::nullopt;
  facts.host.memory_bytes = facts.host.available_bytes = std::nullopt;
  EXPECT_THAT(judge_gpus(facts).front().parts,
              ElementsAre("NVIDIA H200", "sm_90", "PCIe gen5 x16"));
  EXPECT_THAT(judge_host(facts).front().parts, ElementsAre("16 cores"));
}

}  // namespace
}  // namespace redline::doctor
