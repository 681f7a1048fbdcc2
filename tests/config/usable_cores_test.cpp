#include "framework/config/file/usable_resources.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <fstream>
#include <string>

#include "tests/test_folder.h"

namespace tenon::config {
namespace {

namespace fs = std::filesystem;

// A folder that replaces "/".
class FakeRoot {
 public:
  FakeRoot() : root_(test_folder() / "fake_root") { fs::remove_all(root_); }

  FakeRoot& write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
    return *this;
  }
  double quota() const { return read_cpu_quota(root_); }

 private:
  fs::path root_;
};

constexpr const char* kMountV2 =
    "24 23 0:22 / /proc rw,nosuid - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

FakeRoot in_group_v2(const std::string& group) {
  FakeRoot root;
  root.write("proc/self/mountinfo", kMountV2).write("proc/self/cgroup", "0::" + group + "\n");
  return root;
}

double quota_of(const std::string& cpu_max) { return in_group_v2("/").write("sys/fs/cgroup/cpu.max", cpu_max).quota(); }

// Version 1, with a version 2 hierarchy without controllers.
FakeRoot in_group_v1(const std::string& shown, const std::string& group) {
  FakeRoot root;
  root.write("proc/self/mountinfo",
             "40 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
             "32 31 0:29 " +
                 shown +
                 " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                 "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n")
      .write("proc/self/cgroup", "5:cpuset:/\n2:cpu,cpuacct:" + group + "\n0::/\n");
  return root;
}

void write_v1(FakeRoot& root, const std::string& folder, const std::string& quota) {
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/" + folder + "/";
  root.write(group + "cpu.cfs_quota_us", quota + "\n").write(group + "cpu.cfs_period_us", "100000\n");
}

}  // namespace

TEST_CASE("a CPU quota is a number of cores") {
  CHECK(quota_of("200000 100000\n") == 2);
  CHECK(quota_of("150000 100000\n") == 1.5);
  CHECK(quota_of("1000 100000\n") == 0.01);
}

TEST_CASE("max and unreadable files mean no quota") {
  CHECK(quota_of("max 100000\n") == 0);
  CHECK(quota_of("") == 0);
  CHECK(quota_of("100000\n") == 0);
  CHECK(quota_of("100000 0\n") == 0);
  CHECK(FakeRoot().quota() == 0);
}

TEST_CASE("the smallest quota of the group and its parent groups applies") {
  FakeRoot root = in_group_v2("/pod/container/job");
  root.write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  CHECK(root.quota() == 1.5);
  root.write("sys/fs/cgroup/pod/container/job/cpu.max", "400000 100000\n");
  CHECK(root.quota() == 1.5);
  root.write("sys/fs/cgroup/pod/container/cpu.max", "50000 100000\n");
  CHECK(root.quota() == 0.5);
}

TEST_CASE("quotas of version 1 are read") {
  FakeRoot root = in_group_v1("/", "/pod/job");
  write_v1(root, "pod/job", "-1");
  CHECK(root.quota() == 0);
  write_v1(root, "pod", "250000");
  CHECK(root.quota() == 2.5);
  write_v1(root, "", "100000");
  CHECK(root.quota() == 1);
}

TEST_CASE("a container with its group at the mount point has the quota of that group") {
  FakeRoot root = in_group_v1("/docker/4f2a", "/docker/4f2a/job");
  write_v1(root, "", "300000");
  CHECK(root.quota() == 3);
  write_v1(root, "job", "150000");
  CHECK(root.quota() == 1.5);
}

TEST_CASE("a container with the paths of the machine has the quota at the mount point") {
  FakeRoot root = in_group_v2("/../../other/pod");
  root.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  CHECK(root.quota() == 1.5);
}

TEST_CASE("a process with an affinity of one core has one core") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(count_usable_cores() >= 1);
  CHECK(count_usable_cores() <= CPU_COUNT(&before));
  CHECK(count_usable_cores(1) == count_usable_cores());
  CHECK(count_usable_cores(100000) == 1);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(count_usable_cores() == 1);
  CHECK(count_usable_cores(2) == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

}  // namespace tenon::config
