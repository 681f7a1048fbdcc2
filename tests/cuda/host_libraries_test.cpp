#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "framework/components/loading/elf_image.h"

namespace {

std::vector<std::string> libraries_of(const char* file) {
  const int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  struct stat status {};
  REQUIRE(fstat(descriptor, &status) == 0);
  auto needed = tenon::components::ElfImage(descriptor, static_cast<uint64_t>(status.st_size)).needed();
  close(descriptor);
  return needed;
}

}  // namespace

TEST_CASE("the program needs only the C and C++ libraries") {
  for (const std::string& library : libraries_of(TENON_BINARY_DIR "/bin/host")) {
    CAPTURE(library);
    const auto is_it = [&](const char* name) { return library.starts_with(name); };
    CHECK(std::ranges::any_of(std::array{"libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libdl.so", "ld-linux"},
                              is_it));
  }
}

TEST_CASE("the engine links only the CPU libraries of LibTorch") {
  const std::vector<std::string> needed = libraries_of(ENGINE);
  CHECK(std::ranges::find(needed, "libtorch_cpu.so") != needed.end());
  for (const std::string& library : needed) {
    CAPTURE(library);
    for (const char* of_cuda : {"cuda", "cudnn", "cublas", "nccl", "nvidia"})
      CHECK(library.find(of_cuda) == std::string::npos);
  }
}
