#include "framework/cuda/open_device.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::cuda {
namespace {

using config::DeviceChoice;
using Kind = DeviceChoice::Kind;

const FoundDevices kNone{0, "no CUDA-capable device is detected"};

std::string refusal_of(const DeviceChoice& choice, const FoundDevices& found, int local_rank) {
  return find_error(support::ErrorKind::configuration,
                    [&] { choose_device(choice, found, local_rank, "run.toml:2:10"); });
}

}  // namespace

TEST_CASE("\"auto\" is the CPU without devices, otherwise the device of the local rank") {
  CHECK_FALSE(choose_device({Kind::automatic}, kNone, 0, "").has_value());
  CHECK(choose_device({Kind::automatic}, {1}, 0, "") == 0);
  CHECK(choose_device({Kind::automatic}, {4}, 3, "") == 3);
}

TEST_CASE("\"cpu\" is always the CPU") {
  CHECK_FALSE(choose_device({Kind::cpu}, kNone, 0, "").has_value());
  CHECK_FALSE(choose_device({Kind::cpu}, {4}, 1, "").has_value());
}

TEST_CASE("\"cuda\" is the device of the local rank, and a number names a device for all ranks") {
  CHECK(choose_device({Kind::cuda}, {4}, 2, "") == 2);
  CHECK(choose_device({Kind::cuda, 1}, {4}, 2, "") == 1);
}

TEST_CASE("a missing device is refused with the devices found") {
  CHECK(refusal_of({Kind::cuda}, kNone, 0) ==
        "run.toml:2:10: run.device is \"cuda\"; found no CUDA device: no CUDA-capable device is detected; expected a "
        "device that nvidia-smi shows and CUDA_VISIBLE_DEVICES allows, or run.device = \"cpu\"");
  CHECK(refusal_of({Kind::cuda, 1}, {1}, 0) ==
        "run.toml:2:10: run.device is \"cuda:1\"; found one CUDA device, cuda:0; expected one of these, or "
        "run.device = \"cpu\"");
  CHECK(contains(refusal_of({Kind::cuda, 7}, {2}, 0), "found 2 CUDA devices, cuda:0 to cuda:1"));
}

TEST_CASE("more processes than devices are refused, also with \"auto\": ranks must not mix device types") {
  for (const Kind kind : {Kind::cuda, Kind::automatic})
    CHECK(contains(refusal_of({kind}, {2}, 2),
                   "but none for process 2 of this machine; expected a device for each process"));
}

TEST_CASE("devices are detected by the driver's files and CUDA_VISIBLE_DEVICES") {
  const std::filesystem::path folder = tenon::test_folder() / "dev";
  std::filesystem::create_directories(folder);
  CHECK_FALSE(may_have_devices(folder, nullptr));
  CHECK_FALSE(may_have_devices(folder / "missing", nullptr));
  std::ofstream(folder / "nvidiactl") << "";
  CHECK(may_have_devices(folder, nullptr));
  CHECK(may_have_devices(folder, "1,2"));
  CHECK_FALSE(may_have_devices(folder, ""));
  CHECK_FALSE(may_have_devices(folder, "-1"));
}

}  // namespace tenon::cuda
