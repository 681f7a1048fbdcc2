// Decodes thousands of damaged files in a separate process with limited memory and time.
#include <doctest/doctest.h>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "framework/images/decode/decode_image.h"
#include "framework/images/decode/image_info.h"
#include "framework/images/decode/tiff_tags.h"
#include "framework/support/diagnostics/sanitizers.h"
#include "tests/images/damage.h"
#include "tests/images/written_jpeg.h"

namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 2000;
constexpr images::Limits kLimits = {.max_pixels = 2'000'000};
constexpr rlim_t kMemory = 256 << 20;  // more than the process has before the first file
const std::set<std::string> kEndsAreChecked = {".jpg", ".png", ".webp"};
constexpr rlim_t kSeconds = 240;  // processor time; far more than needed, but finite

// The results of the process, in memory shared with the monitoring process.
struct Report {
  int tried;
  int decoded;
  int refused;
  int truncated;
  int truncated_but_decoded;
  int other_exceptions;
  char last[100];  // the latest attempt, or the message of the last other exception
};

std::vector<DamagedBase> make_bases() {
  std::vector<DamagedBase> bases;
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/images/reference/decode")) {
    const fs::path& path = entry.path();
    const bool is_expected_result = path.extension() == ".ppm" && path.stem().has_extension();
    if (is_expected_result) continue;
    bases.push_back({path.extension(), {}});
    images::read_file(path.string(), bases.back().bytes);
  }
  std::sort(bases.begin(), bases.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (const char* extension : {".png", ".webp", ".tiff", ".bmp", ".ppm"}) {
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
    // A TIFF, a BMP or a text PNM may have bytes after the last byte that a decoder needs.
    const bool is_truncated = file.damage == Damage::cut && kEndsAreChecked.contains(file.extension);
    report.truncated += is_truncated;
    try_file(file.bytes, is_truncated, random, decoder, report);
  }
}

// A decoder. Before decoding, its buffers and the memory that malloc returns are filled with a value.
class Poisoned {
 public:
  explicit Poisoned(uint8_t value) : value_(value), poison_(256, 256, CV_8UC3, cv::Scalar::all(value)) {
    cv::imencode(".png", poison_, png_);
    cv::imencode(".jpg", poison_, jpeg_);
  }

  // Returns the pixels, or no value if the file is refused.
  std::optional<cv::Mat> decode(const std::vector<uint8_t>& file) {
    for (const auto& image : {png_, jpeg_}) {
      images::decode_image(image, images::read_image_info(image, "poison", kLimits), "poison", decoder_);
    }
    mallopt(M_PERTURB, value_);  // malloc's memory is filled with the complement
    try {
      const images::ImageInfo info = images::read_image_info(file, "damaged", kLimits);
      const cv::Mat pixels = images::decode_image(file, info, "damaged", decoder_).clone();
      mallopt(M_PERTURB, 0);
      return pixels;
    } catch (const tenon::DataError&) {
      mallopt(M_PERTURB, 0);
      return std::nullopt;
    }
  }

 private:
  int value_;
  cv::Mat poison_;
  std::vector<uint8_t> png_, jpeg_;
  images::Decoder decoder_;
};

bool are_equal(const std::optional<cv::Mat>& a, const std::optional<cv::Mat>& b) {
  if (!a || !b) return !a && !b;
  return a->size() == b->size() && cv::countNonZero(a->reshape(1) != b->reshape(1)) == 0;
}

std::vector<uint8_t> encode_photo(const char* extension) {
  std::vector<uint8_t> bytes;
  REQUIRE(cv::imencode(extension, make_photo({40, 30}, 3), bytes));
  return bytes;
}

std::vector<uint8_t> read_reference(const std::string& name) {
  std::vector<uint8_t> bytes;
  images::read_file(TENON_SOURCE_DIR "/tests/images/reference/decode/" + name, bytes);
  return bytes;
}

std::string refusal_of(const std::vector<uint8_t>& file) {
  images::Decoder decoder;
  try {
    images::decode_image(file, images::read_image_info(file, "photo", kLimits), "photo", decoder);
  } catch (const tenon::DataError& error) {
    return error.what();
  }
  return "";
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

TEST_CASE("damaged files are decoded or refused within memory and time limits, and no cut file is accepted") {
  images::silence_opencv();
  const std::vector<DamagedBase> bases = make_bases();
  void* shared = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto& report = *new (shared) Report();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, kSeconds);
    // Sanitizers reserve terabytes of address space without using them.
    if (!tenon::support::kIsSanitized) limit(RLIMIT_AS, address_space() + kMemory);
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
  CHECK(report.decoded > 100);  // some damage is not visible, so the decoders were reached
  CHECK(report.refused > 500);
  MESSAGE(report.decoded, " decoded, ", report.refused, " refused, ", report.truncated, " of these cut, ",
          usage.ru_maxrss / 1024, " MiB at most");
  munmap(shared, sizeof(Report));
}

TEST_CASE("a damaged file never shows previous contents of memory") {
  images::silence_opencv();
  const std::vector<DamagedBase> bases = make_bases();
  Poisoned dark(0x11), bright(0xEE);
  std::mt19937 random(22);
  std::map<std::string, std::array<int, 2>> counts;  // per extension: refused, decoded
  for (int i = 0; i < kFiles; ++i) {
    const DamagedFile file = damage(bases, random);
    const std::optional<cv::Mat> pixels = dark.decode(file.bytes);
    CAPTURE(file.extension);
    CAPTURE(name_of(file.damage));
    CAPTURE(i);
    CHECK(are_equal(pixels, bright.decode(file.bytes)));
    ++counts[file.extension][pixels ? 1 : 0];
  }
  for (const auto& one : counts) MESSAGE(one.first, ": ", one.second[0], " refused, ", one.second[1], " decoded");
}

TEST_CASE("every flipped bit in the checksum of a PNG's header or palette is refused") {
  images::silence_opencv();
  std::vector<uint8_t> palette;
  images::read_file(TENON_SOURCE_DIR "/tests/images/reference/decode/palette.png", palette);
  constexpr std::string_view kPalette = "PLTE";
  const auto plte = std::search(palette.begin(), palette.end(), kPalette.begin(), kPalette.end());
  REQUIRE(plte != palette.end());
  const auto plte_at = static_cast<size_t>(plte - palette.begin());
  const size_t entries = size_t{palette[plte_at - 2]} << 8 | palette[plte_at - 1];
  for (const size_t checksum : {size_t{29}, plte_at + 4 + entries}) {
    for (size_t bit = 0; bit < 32; ++bit) {
      std::vector<uint8_t> file = palette;
      file[checksum + bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      CAPTURE(checksum);
      CAPTURE(bit);
      CHECK(refusal_of(file).find("photo: is damaged") == 0);
    }
  }
}

TEST_CASE("a BMP that was cut, or has an unknown compression, is refused") {
  images::silence_opencv();
  std::vector<uint8_t> cut = encode_photo(".bmp");
  cut.resize(cut.size() / 10);
  CHECK(refusal_of(cut).find("photo: is truncated after ") == 0);
  std::vector<uint8_t> compressed = encode_photo(".bmp");
  compressed[30] = 77;
  CHECK(refusal_of(compressed).find("photo: is damaged") == 0);
}

TEST_CASE("a TIFF with data that contradict its width is refused") {
  for (const char* name : {"colour", "lzw", "deflate", "packbits", "strips", "grey", "bits", "palette", "alpha"}) {
    CAPTURE(std::string(name));
    const std::vector<uint8_t> file = read_reference(std::string(name) + ".tiff");
    CHECK(refusal_of(file).empty());
    const size_t width = *images::TiffTags(file).position(images::tiff_tag::kWidth);
    REQUIRE(file[width] == 29);
    // Flips in the upper bits give more pixels than the limit. A row of single bits is stored in whole bytes.
    for (int bit = std::string(name) == "bits" ? 3 : 0; bit < 8; ++bit) {
      std::vector<uint8_t> damaged = file;
      damaged[width] ^= static_cast<uint8_t>(1 << bit);
      CAPTURE(bit);
      CHECK(refusal_of(damaged).find(" bytes after decompression; its header gives ") != std::string::npos);
    }
  }
}

TEST_CASE("a flipped bit in the Deflate data of a TIFF is refused, or is not used") {
  const std::vector<uint8_t> file = read_reference("deflate.tiff");
  const images::TiffTags tags(file);
  const size_t begin = tags.get(images::tiff_tag::kStripOffsets, 0);
  const size_t size = tags.get(images::tiff_tag::kStripByteCounts, 0);
  REQUIRE(size > 500);
  size_t accepted = 0;
  for (size_t bit = 0; bit < size * 8; ++bit) {
    std::vector<uint8_t> damaged = file;
    damaged[begin + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    accepted += refusal_of(damaged).empty();
  }
  // The bits between the last code and the checksum have no meaning.
  CHECK(accepted <= 7);
}

// LZW and PackBits have no checksum: a flipped bit may give another image of the same size.
TEST_CASE("a TIFF with LZW or PackBits data that end early is refused") {
  for (const char* name : {"lzw.tiff", "packbits.tiff", "strips.tiff"}) {
    const std::vector<uint8_t> file = read_reference(name);
    const images::TiffTags tags(file);
    const size_t size_at = *tags.position(images::tiff_tag::kStripByteCounts);
    const size_t size = file[size_at] | size_t{file[size_at + 1]} << 8;
    for (size_t cut = 3; cut < size; ++cut) {  // the end mark of LZW takes up to 12 bits
      std::vector<uint8_t> damaged = file;
      damaged[size_at] = static_cast<uint8_t>(size - cut);
      damaged[size_at + 1] = static_cast<uint8_t>((size - cut) >> 8);
      CAPTURE(std::string(name));
      CAPTURE(cut);
      CHECK_FALSE(refusal_of(damaged).empty());
    }
  }
}

TEST_CASE("an LZW code that is not in the table is refused") {
  std::vector<uint8_t> file = read_reference("lzw.tiff");
  const size_t begin = images::TiffTags(file).get(images::tiff_tag::kStripOffsets, 0);
  // The first code clears the table. The next has 9 bits: 511 is free.
  file[begin + 1] |= 0x7F;
  file[begin + 2] |= 0xC0;
  CHECK(refusal_of(file) == "photo: is damaged: its strip 1 cannot be decompressed; fetch the file again or remove it");
}
