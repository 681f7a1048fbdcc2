#include "framework/artifacts/drawing/render_samples.h"

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <tenon/abi.h>

#include <span>

#include "framework/artifacts/files/encode.h"
#include "tests/artifacts/drawn_fields.h"
#include "tests/messages.h"

using namespace tenon::artifacts;
using tenon::count_parts;

namespace {

// Returns the image with this index of the page.
std::vector<std::byte> find_image(const std::string& page, size_t number) {
  const std::string mark = "base64,";
  size_t begin = 0;
  for (size_t i = 0; i <= number; ++i) {
    begin = page.find(mark, begin);
    REQUIRE(begin != page.npos);
    begin += mark.size();
  }
  const std::string text = page.substr(begin, page.find('"', begin) - begin);
  std::vector<std::byte> bytes(text.size());
  REQUIRE(EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                          reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size())) > 0);
  return bytes;
}

}  // namespace

TEST_CASE("a PNG keeps every pixel") {
  for (const int64_t channels : {1, 3}) {
    std::vector<uint8_t> pixels;
    for (int64_t i = 0; i < 35 * channels; ++i) pixels.push_back(static_cast<uint8_t>(37 * i));
    std::vector<std::byte> file;
    encode_png(std::as_bytes(std::span(pixels)), 5, 7, channels, file);
    CHECK(decode_png(file, channels) == pixels);
  }
}

TEST_CASE("numbers of classes are followed by their names") {
  const std::vector<int64_t> labels = {1, 5, -1};
  const std::vector<float> value = {1};
  const std::string page =
      make_contact_sheet("page",
                         {{"sample 3",
                           {view("label", TENON_INT64, {3}, labels), view("other", TENON_INT64, {3}, labels),
                            view("value", TENON_FLOAT32, {}, value)}}},
                         {{"label", {"cat", "a < b"}}, {"value", {"cat", "dog"}}});
  CHECK(page.find("label: 1 (a &lt; b) 5 -1<br>other: 1 5 -1<br>value: 1</figcaption>") != page.npos);
}

TEST_CASE("bytes are rendered unchanged, and numbers as text") {
  const std::vector<uint8_t> pixels = {1, 2, 3, 250, 251, 252};
  const std::vector<int64_t> label = {7};
  const std::string page = make_contact_sheet(
      "a < b", {{"sample 3", {view("image", TENON_UINT8, {1, 2, 3}, pixels), view("label", TENON_INT64, {}, label)}}});
  CHECK(decode_png(find_image(page, 0), 3) == pixels);
  CHECK(page.find("a &lt; b") != page.npos);
  CHECK(page.find("sample 3<br>label: 7</figcaption>") != page.npos);
}

TEST_CASE("floats are scaled by the range of the whole page, which the page shows") {
  const std::vector<float> dark = {-1, 0, 0, 1};
  const std::vector<float> bright = {1, 3, 2, 1};
  const std::string page = make_contact_sheet("page", {{"0", {view("x", TENON_FLOAT32, {1, 2, 2}, dark)}},
                                                       {"1", {view("x", TENON_FLOAT32, {1, 2, 2}, bright)}}});
  CHECK(page.find("x: black is -1, white is 3.") != page.npos);
  CHECK(decode_png(find_image(page, 0), 1) == std::vector<uint8_t>{0, 64, 64, 128});
  CHECK(decode_png(find_image(page, 1), 1) == std::vector<uint8_t>{128, 255, 191, 128});
}

TEST_CASE("colour planes become pixels") {
  const std::vector<float> planes = {0, 255, 10, 20, 30, 40};  // red, green and blue of two pixels
  const std::string page = make_contact_sheet("page", {{"0", {view("x", TENON_FLOAT32, {3, 1, 2}, planes)}}});
  CHECK(decode_png(find_image(page, 0), 3) == std::vector<uint8_t>{0, 10, 30, 255, 20, 40});
}

TEST_CASE("a mask is rendered over a copy of its image") {
  const std::vector<uint8_t> pixels = {100, 100, 100, 100};
  const std::vector<int64_t> mask = {0, 1, 2, 255};
  const std::string page = make_contact_sheet(
      "page", {{"0", {view("mask", TENON_INT64, {2, 2}, mask), view("image", TENON_UINT8, {2, 2, 1}, pixels)}}});
  CHECK(count_parts(page, "<img") == 2);
  CHECK(decode_png(find_image(page, 0), 1) == pixels);
  const std::vector<uint8_t> drawn = decode_png(find_image(page, 1), 3);
  const auto pixel = [&](ptrdiff_t i) {
    return std::vector<uint8_t>(drawn.begin() + 3 * i, drawn.begin() + 3 * i + 3);
  };
  CHECK(pixel(0) == std::vector<uint8_t>{100, 100, 100});
  CHECK(pixel(1) != pixel(0));
  CHECK(pixel(2) != pixel(1));
  CHECK(pixel(3) == std::vector<uint8_t>{255, 255, 255});
  CHECK(count_parts(page, "Colours of classes:") == 1);
  CHECK(page.find("background:#ffffff\"></span> ignored</span>") != page.npos);
}

TEST_CASE("fields that are not images are text, and long ones are truncated") {
  const std::vector<float> values(100, 0.5f);
  const std::vector<uint16_t> halves(4);
  const std::string page = make_contact_sheet(
      "page", {{"0",
                {view("list", TENON_FLOAT32, {100}, values), view("halves", TENON_FLOAT16, {4}, halves),
                 view("mask", TENON_UINT8, {10, 10}, values)}}});
  CHECK(count_parts(page, "<img") == 0);
  for (const char* part : {"list: 0.5 0.5", "0.5 ... (100 values)", "halves: 4 values"})
    CHECK_MESSAGE(page.find(part) != std::string::npos, part);
}

TEST_CASE("a page has the true colours of normalised images, further lines, and the colours of the report") {
  // (pixel / 255 - 0.5) / 0.25 of the pixels 0 and 255.
  const std::vector<float> planes = {-2, 2, -2, 2, -2, 2};
  const std::string page =
      make_contact_sheet("page", {{"0", {view("x", TENON_FLOAT32, {3, 1, 2}, planes)}, {"predicted: a < b"}}}, {},
                         {{{"x", {{0.5}, {0.25}}}}});
  CHECK(decode_png(find_image(page, 0), 3) == std::vector<uint8_t>{0, 0, 0, 255, 255, 255});
  CHECK(page.find("black is") == page.npos);
  CHECK(page.find("0<br>predicted: a &lt; b</figcaption>") != page.npos);
  for (const char* part : {"prefers-color-scheme:dark", "name=\"viewport\"", "font:16px/1.5 system-ui"})
    CHECK_MESSAGE(page.find(part) != page.npos, part);
}
