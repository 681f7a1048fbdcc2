// Thousands of damaged files, in a process of their own whose memory and time are limited.
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>
#include <string>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "plugins/images/decode/decode_image.h"
#include "plugins/images/decode/read_file.h"
#include "tests/images/damage.h"
#include "tests/images/written_jpeg.h"

namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 2000;
constexpr images::Limits kLimits = {.max_pixels = 2'000'000};
constexpr rlim_t kMemory = 256 << 20;  // beyond what the process has before the first file
constexpr rlim_t kSeconds = 240;       // of the processor; far more than needed, and less than for ever

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
constexpr bool kIsSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kIsSanitized = false;
#endif

// What the process tells, in memory that it shares with the one that watches it.
struct Report {
  int tried;
  int decoded;
  int refused;
  int truncated;
  int truncated_but_decoded;
  int other_exceptions;
  char last[100];  // what was tried, or what the last other exception said
};

std::vector<DamagedBase> make_bases() {
  std::vector<DamagedBase> bases;
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/images/reference/decode")) {
    const std::string extension = entry.path().extension();
    if (extension != ".jpg" && extension != ".png" && extension != ".webp" && extension != ".tiff") continue;
    bases.push_back({extension, {}});
    images::read_file(entry.path().string(), bases.back().bytes);
  }
  std::sort(bases.begin(), bases.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (const char* extension : {".png", ".webp", ".tiff"}) {
    bases.push_back({extension, {}});
    if (!cv::imencode(extension, make_photo({200, 150}, 3), bases.back().bytes)) throw std::runtime_error(extension);
  }
  for (const JpegKind& kind : jpeg_kinds()) {
    bases.push_back({".jpg", write_jpeg(make_photo({200, 150}, kind.components), kind)});
  }
  return bases;
}

void try_file(const std::vector<uint8_t>& file, bool is_truncated, std::mt19937& random, images::Decoder& decoder,
              Report& report) {
  try {
    const images::ImageInfo info = images::read_image_info(file, "damaged", kLimits);
    const cv::Rect window(0, 0, 1 + static_cast<int>(random() % static_cast<uint32_t>(info.size.width)),
                          1 + static_cast<int>(random() % static_cast<uint32_t>(info.size.height)));
    images::decode_window(file, info, "damaged", window, {window.size(), {16, 16}}, decoder);
    images::decode_image(file, info, "damaged", decoder);
    ++report.decoded;
    report.truncated_but_decoded += is_truncated;
  } catch (const tenon::DataError&) {
    ++report.refused;
  } catch (const std::exception& error) {
    ++report.other_exceptions;
    std::snprintf(report.last, sizeof report.last, "%s", error.what());
  }
}

void try_all(const std::vector<DamagedBase>& bases, Report& report) {
  images::Decoder decoder;
  std::mt19937 random(20);
  for (; report.tried < kFiles; ++report.tried) {
    const DamagedFile file = damage(bases, random);
    if (report.other_exceptions == 0) {
      std::snprintf(report.last, sizeof report.last, "%s, %s", file.extension.c_str(), name_of(file.damage));
    }
    // Behind what a TIFF decoder needs, there may be more.
    const bool is_truncated = file.damage == Damage::cut && file.extension != ".tiff";
    report.truncated += is_truncated;
    try_file(file.bytes, is_truncated, random, decoder, report);
  }
}

void limit(int resource, rlim_t most) {
  const rlimit limits = {most, most};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &limits) != 0) _exit(3);
}

rlim_t address_space() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("damaged files are decoded or refused, within limits of memory and time, and no cut one passes") {
  images::load_decoders();
  const std::vector<DamagedBase> bases = make_bases();
  void* shared = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto& report = *new (shared) Report();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, kSeconds);
    // Sanitizers reserve terabytes, and use none of them.
    if (!kIsSanitized) limit(RLIMIT_AS, address_space() + kMemory);
    try_all(bases, report);
    _exit(0);
  }
  int status = 0;
  rusage usage = {};
  REQUIRE(wait4(child, &status, 0, &usage) == child);
  CAPTURE(report.tried);
  CAPTURE(std::string(report.last));
  CHECK(WIFEXITED(status));
  CHECK(status == 0);
  CHECK(report.tried == kFiles);
  CHECK(report.other_exceptions == 0);
  CHECK(report.truncated > 100);
  CHECK(report.truncated_but_decoded == 0);
  CHECK(report.decoded > 100);  // not all damage shows: the decoders were reached
  CHECK(report.refused > 500);
  MESSAGE(report.decoded, " decoded, ", report.refused, " refused, ", report.truncated, " of these cut, ",
          usage.ru_maxrss / 1024, " MiB at most");
  munmap(shared, sizeof(Report));
}
