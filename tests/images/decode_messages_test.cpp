// Tests what becomes of the messages of libpng, libjpeg, libtiff and OpenCV: none goes to standard error.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "framework/images/decode/decode_image.h"
#include "framework/images/decode/image_info.h"
#include "framework/images/decode/tiff_tags.h"
#include "tests/images/damage.h"
#include "tests/images/written_jpeg.h"
#include "tests/test_folder.h"

namespace {

using File = std::vector<uint8_t>;
constexpr const char* kReferences = TENON_SOURCE_DIR "/tests/images/reference/decode";

File read_base(const std::string& name) {
  File bytes;
  images::read_file(std::string(kReferences) + "/" + name, bytes);
  return bytes;
}

// Returns what `action` writes to descriptor 2.
template <class Action>
std::string standard_error_of(Action&& action) {
  const std::filesystem::path file = tenon::test_folder() / "standard_error";
  const int before = dup(STDERR_FILENO);
  const int written = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  REQUIRE(dup2(written, STDERR_FILENO) == STDERR_FILENO);
  close(written);
  action();
  dup2(before, STDERR_FILENO);
  close(before);
  std::ifstream text(file);
  return std::string(std::istreambuf_iterator<char>(text), {});
}

struct Result {
  std::string refusal;  // "": decoded
  std::string warning;
};

Result decode(const File& file) {
  images::Decoder decoder;
  try {
    images::decode_image(file, images::read_image_info(file, "photo", {.max_pixels = 2'000'000}), "photo", decoder);
  } catch (const tenon::DataError& error) {
    return {error.what(), ""};
  }
  return {"", decoder.warning()};
}

// Decodes the file, and checks that nothing is printed.
Result decode_silently(const File& file) {
  Result result;
  CHECK(standard_error_of([&] { result = decode(file); }) == "");
  return result;
}

// Inserts a chunk after the header of a PNG. `crc_error` is added to its checksum.
File with_chunk(File png, const std::string& type, const std::string& content, uint32_t crc_error) {
  File chunk;
  const auto put = [&](uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<uint8_t>(number >> shift));
  };
  put(static_cast<uint32_t>(content.size()));
  const std::string checked = type + content;
  chunk.insert(chunk.end(), checked.begin(), checked.end());
  put(static_cast<uint32_t>(
          crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()))) +
      crc_error);
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());
  return png;
}

}  // namespace

TEST_CASE("a JPEG without its tables is not decoded with those of the image before") {
  File whole, cut;
  cv::imencode(".jpg", make_photo({40, 30}, 3), whole, {cv::IMWRITE_JPEG_QUALITY, 30});
  const File other = write_jpeg(make_photo({40, 30}, 3), jpeg_kinds().front());
  const uint8_t kDefinesQuantization[] = {0xFF, 0xDB};
  cut = whole;
  for (auto at = cut.begin(); (at = std::search(at, cut.end(), std::begin(kDefinesQuantization),
                                                std::end(kDefinesQuantization))) != cut.end();)
    at = cut.erase(at, at + 2 + at[2] * 256 + at[3]);
  REQUIRE(cut.size() < whole.size());
  CHECK(decode(cut).refusal.find("Quantization table 0x00 was not defined") != std::string::npos);
  images::Decoder decoder;
  for (const File& before : {whole, other}) {
    images::decode_image(before, images::read_image_info(before, "photo"), "photo", decoder);
    CHECK_THROWS_AS(images::decode_image(cut, images::read_image_info(cut, "photo"), "photo", decoder),
                    tenon::DataError);
  }
}

TEST_CASE("no decoder prints to standard error about a damaged file") {
  images::silence_opencv();
  std::vector<DamagedBase> bases;
  for (const auto& entry : std::filesystem::directory_iterator(kReferences)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".ppm" && path.stem().has_extension()) continue;  // an expected result
    bases.push_back({path.extension(), read_base(path.filename())});
  }
  std::sort(bases.begin(), bases.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  std::mt19937 random(31);
  int refused = 0;
  const std::string printed = standard_error_of([&] {
    for (int i = 0; i < 3000; ++i) refused += !decode(damage(bases, random).bytes).refusal.empty();
  });
  CHECK(printed == "");
  CHECK(refused > 1000);
}

TEST_CASE("a PNG with damaged data is refused with libpng's reason") {
  File png = read_base("colour.png");
  constexpr std::string_view kData = "IDAT";
  const auto data = std::search(png.begin(), png.end(), kData.begin(), kData.end());
  REQUIRE(data != png.end());
  *(data + 30) ^= 0x10;
  CHECK(decode_silently(png).refusal.find("photo: is damaged and cannot be decoded: IDAT: ") == 0);
}

TEST_CASE("a PNG with a wrong colour profile is decoded, because the profile is not used") {
  const File png = with_chunk(read_base("colour.png"), "iCCP", std::string("sRGB\0\0x", 7), 0);
  const Result result = decode_silently(png);
  CHECK(result.refusal == "");
  CHECK(result.warning == "");
}

TEST_CASE("a PNG with damaged text is decoded with a warning") {
  const Result result = decode_silently(with_chunk(read_base("colour.png"), "tEXt", "Author", 1));
  CHECK(result.refusal == "");
  CHECK(result.warning == "tEXt: CRC error");
}

TEST_CASE("damage to the JPEG data in a TIFF is refused") {
  images::silence_opencv();
  const File file = read_base("jpeg.tiff");
  REQUIRE(decode_silently(file).refusal == "");
  const images::TiffTags tags(file);
  const size_t begin = tags.get(images::tiff_tag::kStripOffsets, 0);
  const size_t size = tags.get(images::tiff_tag::kStripByteCounts, 0);
  const size_t size_at = *tags.position(images::tiff_tag::kStripByteCounts);
  REQUIRE(size > 200);
  for (size_t cut = 3; cut < size; cut += 7) {
    File damaged = file;
    damaged[size_at] = static_cast<uint8_t>(size - cut);
    damaged[size_at + 1] = static_cast<uint8_t>((size - cut) >> 8);
    CAPTURE(cut);
    CHECK(decode_silently(damaged).refusal.find("photo: is damaged: its strip 1 cannot be decompressed: ") == 0);
  }
  // A marker within the coded data ends them early.
  File damaged = file;
  damaged[begin + size * 3 / 4] = 0xFF;
  damaged[begin + size * 3 / 4 + 1] = 0xD9;
  CHECK(decode_silently(damaged).refusal.find("photo: is damaged: its strip 1 cannot be decompressed: ") == 0);
}

TEST_CASE("a TIFF in a compression in which damage cannot be found is refused by its name") {
  const File file = read_base("bits.tiff");
  const size_t compression = *images::TiffTags(file).position(images::tiff_tag::kCompression);
  for (const auto& [number, name] : {std::pair{2, "CCITT RLE"}, {3, "CCITT Group 3"}, {4, "CCITT Group 4"}}) {
    File other = file;
    other[compression] = static_cast<uint8_t>(number);
    CHECK(decode_silently(other).refusal ==
          std::string("photo: is a TIFF in the compression ") + name +
              ", in which damage cannot be found; expected none, LZW, Deflate, PackBits or JPEG; convert it");
  }
}

TEST_CASE("a text PNM is read to its last digit, and refused if numbers are missing or are none") {
  images::silence_opencv();
  const auto refusal = [](const std::string& text) { return decode_silently({text.begin(), text.end()}).refusal; };
  CHECK(refusal("P2 2 2 255 1 2 3 4") == "");
  CHECK(refusal("P1 4 2 0110 # half\n1001") == "");
  CHECK(refusal("P2 2 2 255 1 2 3").find("photo: is truncated after 16 bytes") == 0);
  CHECK(refusal("P1 4 2 0110 100").find("photo: is truncated after") == 0);
  CHECK(refusal("P2 2 2 255 1 2 x 4").find("photo: is damaged: it has a character that is no digit at byte 15") == 0);
}
