// Tests what is read from a file, and what is refused, before decoding.
#include "framework/images/decode/image_info.h"

#include <doctest/doctest.h>

#include <algorithm>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "tests/datasets/written_images.h"
#include "tests/images/written_jpeg.h"

using images::Format;
using images::ImageInfo;
using images::read_image_info;

namespace {

using File = std::vector<uint8_t>;

ImageInfo reference(const std::string& name) {
  const std::string path = TENON_SOURCE_DIR "/tests/images/reference/decode/" + name;
  File file;
  images::read_file(path, file);
  return read_image_info(file, path);
}

// "FORMAT WIDTHxHEIGHT CHANNELS BITS ORIENTATION"
std::string describe(const ImageInfo& info) {
  const char* const formats[] = {"jpeg", "png", "webp", "tiff", "bmp", "pnm"};
  return std::string(formats[static_cast<int>(info.format)]) + ' ' + std::to_string(info.size.width) + 'x' +
         std::to_string(info.size.height) + ' ' + std::to_string(info.channels) + ' ' + std::to_string(info.bits) +
         ' ' + std::to_string(info.orientation);
}

std::string refusal(const File& file, const images::Limits& limits = {}) {
  return error_of<tenon::DataError>([&] { read_image_info(file, "a.jpg", limits); });
}

File text(const std::string& content) { return File(content.begin(), content.end()); }

// Returns the JPEG with another value in its frame header, `offset` bytes after the marker.
File with_frame_byte(File jpeg, size_t offset, uint8_t value) {
  for (size_t i = 2; i + 1 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xC0) {
      jpeg[i + 1 + offset] = value;
      return jpeg;
    }
  }
  throw std::runtime_error("no frame header");
}

File photo() { return write_jpeg(make_photo({40, 30}, 3), {"4:2:0", 3, {2, 2}}); }

}  // namespace

TEST_CASE("the header gives format, upright size, channels, bits and orientation") {
  CHECK(describe(reference("420.jpg")) == "jpeg 29x22 3 8 1");
  CHECK(describe(reference("cmyk.jpg")) == "jpeg 29x22 4 8 1");
  CHECK(describe(reference("turned_3.jpg")) == "jpeg 29x22 3 8 3");
  CHECK(describe(reference("turned_6.jpg")) == "jpeg 22x29 3 8 6");
  CHECK(describe(reference("turned_6.png")) == "png 22x29 3 8 6");
  CHECK(describe(reference("turned_6.webp")) == "webp 22x29 3 8 6");
  CHECK(describe(reference("turned_6.tiff")) == "tiff 22x29 3 8 6");
  CHECK(describe(reference("bits.png")) == "png 29x22 1 1 1");
  CHECK(describe(reference("deep_colour.png")) == "png 29x22 3 16 1");
  CHECK(describe(reference("grey_alpha.png")) == "png 29x22 2 8 1");
  CHECK(describe(reference("lossy.webp")) == "webp 29x22 3 8 1");
  CHECK(describe(reference("lossless.webp")) == "webp 29x22 3 8 1");
  CHECK(describe(reference("lossless_alpha.webp")) == "webp 29x22 4 8 1");
  CHECK(describe(reference("lossy_alpha.webp")) == "webp 29x22 4 8 1");
  CHECK(describe(reference("deep_grey.tiff")) == "tiff 29x22 1 16 1");
  CHECK(describe(reference("colour.bmp")) == "bmp 29x22 3 8 1");
  CHECK(describe(reference("deep_grey.pgm")) == "pnm 29x22 1 16 1");
  CHECK(describe(reference("bits.pbm")) == "pnm 29x22 1 1 1");
}

TEST_CASE("the content decides the format, not the file's name") {
  CHECK(read_image_info(encode(".png", make_gradient(8, 4)), "a.jpg").format == Format::png);
  CHECK(read_image_info(photo(), "a.png").format == Format::jpeg);
}

TEST_CASE("an unsupported format is named, with the supported formats") {
  const std::string expected = "; expected JPEG, PNG, WebP, TIFF, BMP or PNM; ";
  CHECK(refusal(text("GIF89a")) == "a.jpg: is a GIF" + expected + "convert it");
  CHECK(refusal(text("....ftypavif....")) == "a.jpg: is an AVIF" + expected + "convert it");
  CHECK(refusal({1, 2, 3}) == "a.jpg: is not an image in a supported format" + expected + "remove it");
  CHECK(refusal({}) == "a.jpg: is empty; expected an image");
}

TEST_CASE("a file that is no image although its name is that of one is named as what it is") {
  const auto found = [](const File& file) {
    const std::string before = "a.jpg: is no image but ";
    const std::string after = "; expected JPEG, PNG, WebP, TIFF, BMP or PNM; fetch the image again or remove the file";
    const std::string all = refusal(file);
    REQUIRE(all.starts_with(before));
    REQUIRE(all.ends_with(after));
    return all.substr(before.size(), all.size() - before.size() - after.size());
  };
  const std::string page = "an HTML page, such as the error page of a download";
  for (const char* html :
       {"<html><body>404</body></html>", "\n <!DOCTYPE HTML>", "\xEF\xBB\xBF<HTML lang=\"en\">", "<head>"})
    CHECK(found(text(html)) == page);
  CHECK(found(text("<?xml version=\"1.0\"?><svg xmlns=")) == "an SVG");
  CHECK(found(text("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>")) ==
        "XML, such as the error message of a download");
  CHECK(found(text("version https://git-lfs.github.com/spec/v1\noid sha256:0")) ==
        "a pointer of Git LFS; git lfs pull fetches the image");
  CHECK(found(text("%PDF-1.7")) == "a PDF");
  CHECK(found(text("PK\x03\x04zip")) == "a ZIP archive");
  CHECK(found(text("\x1F\x8B\x08")) == "a gzip file");
  CHECK(found(File(100)) == "zeros only, as after a copy that was interrupted");
  CHECK(found(text("{\"error\": 404}")) == "a text");
}

TEST_CASE("a file that ends before its image is refused by name") {
  for (const char* extension : {".jpg", ".png", ".webp", ".tiff"}) {
    CAPTURE(extension);
    File file = encode(extension, make_photo({64, 64}, 3));
    file.resize(file.size() / 2);
    const std::string expected = std::string(extension) == ".tiff" ? "a.jpg: " : "a.jpg: is truncated after ";
    CHECK(refusal(file).find(expected) == 0);
  }
}

TEST_CASE("a TIFF with strips beyond its end is truncated") {
  File file;
  images::read_file(TENON_SOURCE_DIR "/tests/images/reference/decode/colour.tiff", file);
  file.resize(file.size() - 1);
  CHECK(refusal(file).find("a.jpg: is truncated after " + std::to_string(file.size()) + " bytes, before") == 0);
}

TEST_CASE("more pixels than allowed are refused before memory is allocated") {
  CHECK(refusal(photo(), {int64_t{40} * 30}) == "");
  CHECK(refusal(photo(), {int64_t{40} * 30 - 1}) ==
        "a.jpg: has 40 x 30 pixels, 1200 in all; expected at most 1199; raise max_pixels if this size is intended");
  const File vast = with_frame_byte(with_frame_byte(photo(), 4, 0xFF), 6, 0xFF);
  CHECK(refusal(vast).find("a.jpg: has 65320 x 65310 pixels, 4266049200 in all; expected at most 178956970") == 0);
  CHECK(refusal(text("P6\n2000000 10\n255\n")).find("a.jpg: has 2000000 x 10 pixels; expected at most 1048576") == 0);
}

TEST_CASE("tiles that have far more pixels than allowed together are refused") {
  // Tags with one 32-bit number: 100 x 1 pixels of grey in tiles of 1 x 16.
  const std::vector<std::pair<uint16_t, uint32_t>> tags = {{256, 100}, {257, 1}, {258, 8},  {259, 1}, {262, 1},
                                                           {277, 1},   {322, 1}, {323, 16}, {324, 8}, {325, 16}};
  File file = {'I', 'I', 42, 0, 8, 0, 0, 0, static_cast<uint8_t>(tags.size()), 0};
  for (const auto& [tag, number] : tags) {
    for (const uint32_t value : {tag | 4u << 16, 1u, number})
      for (int byte = 0; byte < 4; ++byte) file.push_back(static_cast<uint8_t>(value >> 8 * byte));
  }
  file.resize(file.size() + 4 + 1600);
  CHECK(refusal(file, {400}) == "");
  CHECK(refusal(file, {399}) ==
        "a.jpg: its 100 tiles of 16 pixels have more than 4 times 399 pixels together; convert it");
}

TEST_CASE("an image of no size is refused") {
  CHECK(refusal(with_frame_byte(with_frame_byte(photo(), 4, 0), 5, 0)).find("a size of 40 x 0 pixels") !=
        std::string::npos);
}

TEST_CASE("unsupported kinds of images are refused with a hint") {
  CHECK(refusal(with_frame_byte(photo(), 3, 12)) == "a.jpg: is a JPEG of 12 bits; expected 8; convert it");
  CHECK(refusal(with_frame_byte(photo(), 8, 2)) == "a.jpg: is a JPEG of 2 components; expected 1, 3 or 4; convert it");
  CHECK(refusal(with_frame_byte(photo(), 0, 0xC3)).find("a.jpg: is a lossless or hierarchical JPEG; expected") == 0);
  CHECK(refusal(text("P5\n4 4\n100\n0123456789abcdef"))
            .find("a.jpg: is a PNM with the maximum value 100; expected 255 or") == 0);
  const cv::Mat deep(4, 4, CV_64FC1, cv::Scalar(0.5));
  CHECK(refusal(encode(".tiff", deep))
            .find("a.jpg: is a TIFF of 64 bits in the sample format 3; expected unsigned integers") == 0);
}

TEST_CASE("a TIFF of 16 bits that is neither grey nor RGB is refused") {
  File file = encode(".tiff", cv::Mat(4, 4, CV_16UC1, cv::Scalar(1)));
  REQUIRE(refusal(file) == "");
  const File photometric = {0x06, 0x01, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00};  // tag 262, one 16-bit value
  const auto at = std::search(file.begin(), file.end(), photometric.begin(), photometric.end());
  REQUIRE(at != file.end());
  at[8] = 0;  // white is 0
  CHECK(refusal(file).find("a.jpg: is a TIFF of 16 bits in the photometric interpretation 0; expected 1 (grey)") == 0);
}

TEST_CASE("damaged EXIF leaves the image in its stored orientation") {
  File file = with_orientation(photo(), 6);
  REQUIRE(read_image_info(file, "a.jpg").orientation == 6);
  file[19] = 0xFF;  // offset of the directory
  CHECK(read_image_info(file, "a.jpg").orientation == 1);
  CHECK(read_image_info(with_orientation(photo(), 9), "a.jpg").orientation == 1);
}

TEST_CASE("a file that cannot be read is refused by name") {
  File file;
  const auto read = [&](const std::string& path) {
    return error_of<tenon::DataError>([&] { images::read_file(path, file); });
  };
  CHECK(read("no/such.jpg") == "no/such.jpg: cannot be read: No such file or directory; expected an image");
  const std::string folder = make_empty_folder("folder").string();
  CHECK(read(folder) == folder + ": is a folder; expected a regular file");
  write_file(folder + "/empty.jpg", {});
  CHECK(read(folder + "/empty.jpg") == folder + "/empty.jpg: is empty; expected an image");
}
