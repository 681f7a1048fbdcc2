#include "framework/config/file/usable_resources.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/test_folder.h"

namespace tenon::config {
namespace {

namespace fs = std::filesystem;

// A folder that replaces "/": 1000 KiB are available, and the process is in the group /pod/job.
fs::path make_root(const std::string& mounts, const std::string& groups) {
  const fs::path root = test_folder() / "fake_memory";
  fs::remove_all(root);
  fs::create_directories(root / "proc/self");
  std::ofstream(root / "proc/meminfo") << "MemTotal:       4000 kB\nMemFree:  10 kB\nMemAvailable:   1000 kB\n";
  std::ofstream(root / "proc/self/mountinfo") << mounts;
  std::ofstream(root / "proc/self/cgroup") << groups;
  return root;
}

fs::path make_root_v2() {
  return make_root("31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n", "0::/pod/job\n");
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("without limits the available memory of the system is usable") {
  CHECK(read_usable_memory(make_root_v2()) == 1000 * 1024);
  const fs::path root = make_root_v2();
  write(root / "sys/fs/cgroup/pod/job/memory.max", "max\n");
  write(root / "sys/fs/cgroup/pod/job/memory.current", "5000\n");
  CHECK(read_usable_memory(root) == 1000 * 1024);
}

TEST_CASE("the rest of the smallest group applies, and cached files count as free") {
  const fs::path root = make_root_v2();
  write(root / "sys/fs/cgroup/pod/job/memory.max", "900000\n");
  write(root / "sys/fs/cgroup/pod/job/memory.current", "300000\n");
  CHECK(read_usable_memory(root) == 600000);
  write(root / "sys/fs/cgroup/pod/job/memory.stat", "anon 1\ninactive_file 100000\nactive_file 7\n");
  CHECK(read_usable_memory(root) == 700000);
  write(root / "sys/fs/cgroup/pod/memory.max", "500000\n");
  write(root / "sys/fs/cgroup/pod/memory.current", "499000\n");
  CHECK(read_usable_memory(root) == 1000);
  write(root / "sys/fs/cgroup/pod/memory.current", "600000\n");
  CHECK(read_usable_memory(root) == 0);
}

TEST_CASE("limits of version 1 apply") {
  const fs::path root =
      make_root("32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/pod/job\n2:cpu:/\n");
  write(root / "sys/fs/cgroup/memory/pod/job/memory.limit_in_bytes", "400000\n");
  write(root / "sys/fs/cgroup/memory/pod/job/memory.usage_in_bytes", "150000\n");
  write(root / "sys/fs/cgroup/memory/pod/job/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
  CHECK(read_usable_memory(root) == 300000);
}

TEST_CASE("memory that nothing describes is unknown") {
  const fs::path root = make_root("", "");
  fs::remove(root / "proc/meminfo");
  CHECK_FALSE(read_usable_memory(root));
}

}  // namespace tenon::config
