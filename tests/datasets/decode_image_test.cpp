#include "plugins/datasets/image_folder/decode_image.h"

#include <doctest/doctest.h>

#include <tenon/error.hpp>

#include "tests/datasets/written_images.h"

namespace {

cv::Mat read(const std::filesystem::path& file) {
  std::vector<uint8_t> buffer;
  cv::Mat image;
  image_folder::read_image(file.string(), buffer, image);
  return image;
}

cv::Mat write_and_read(const std::string& name, const std::vector<uint8_t>& bytes) {
  const std::filesystem::path file = std::filesystem::path(TENON_TEST_DIR) / "decode" / name;
  write_file(file, bytes);
  return read(file);
}

std::string refusal(const std::string& name, const std::vector<uint8_t>& bytes) {
  return error_of<tenon::DataError>([&] { write_and_read(name, bytes); });
}

double difference(const cv::Mat& a, const cv::Mat& b) { return cv::norm(a, b, cv::NORM_INF); }

// EXIF that says: turn by 90 degrees clockwise to see it upright.
std::vector<uint8_t> turned(std::vector<uint8_t> jpeg) {
  const std::vector<uint8_t> segment = {
      0xFF, 0xE1, 0x00, 0x22, 'E',  'x',  'i',  'f',  0,    0,     // APP1
      'M',  'M',  0x00, 0x2A, 0x00, 0x00, 0x00, 0x08, 0x00, 0x01,  // big endian, one entry
      0x01, 0x12, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01,              // orientation, one short
      0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};             // 6; no further directory
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

}  // namespace

TEST_CASE("images of every kind become 8-bit colour") {
  const cv::Mat colour = make_gradient(20, 10);
  CHECK(difference(write_and_read("a.png", encode(".png", colour)), colour) == 0);
  CHECK(difference(write_and_read("a.bmp", encode(".bmp", colour)), colour) == 0);
  CHECK(difference(write_and_read("a.jpg", encode(".jpg", colour)), colour) < 16);

  const cv::Mat grey = write_and_read("grey.png", encode(".png", cv::Mat(10, 20, CV_8UC1, cv::Scalar(77))));
  CHECK(difference(grey, cv::Mat(10, 20, CV_8UC3, cv::Scalar(77, 77, 77))) == 0);
  const cv::Mat deep = write_and_read("deep.png", encode(".png", cv::Mat(10, 20, CV_16UC1, cv::Scalar(77 * 256))));
  CHECK(difference(deep, cv::Mat(10, 20, CV_8UC3, cv::Scalar(77, 77, 77))) == 0);
  const cv::Mat clear = write_and_read("clear.png", encode(".png", cv::Mat(10, 20, CV_8UC4, cv::Scalar(1, 2, 3, 0))));
  CHECK(difference(clear, cv::Mat(10, 20, CV_8UC3, cv::Scalar(1, 2, 3))) == 0);
}

TEST_CASE("a photo is turned upright") {
  const cv::Mat upright = write_and_read("turned.jpg", turned(encode(".jpg", make_gradient(32, 16))));
  REQUIRE(upright.size() == cv::Size(16, 32));
  CHECK(upright.at<cv::Vec3b>(31, 8)[0] > 200);  // what was bright at the right is now at the bottom
  CHECK(upright.at<cv::Vec3b>(0, 8)[0] < 50);
}

TEST_CASE("the image's memory is used again for one of the same size") {
  write_and_read("first.png", encode(".png", cv::Mat(10, 20, CV_8UC3, cv::Scalar(1, 1, 1))));
  write_and_read("second.png", encode(".png", cv::Mat(10, 20, CV_8UC3, cv::Scalar(2, 2, 2))));
  std::vector<uint8_t> buffer;
  cv::Mat image;
  const std::string folder = std::string(TENON_TEST_DIR) + "/decode/";
  image_folder::read_image(folder + "first.png", buffer, image);
  const uchar* memory = image.data;
  image_folder::read_image(folder + "second.png", buffer, image);
  CHECK(image.data == memory);
  CHECK(image.at<cv::Vec3b>(9, 19)[2] == 2);
}

TEST_CASE("a file that is no whole image is refused by name") {
  for (const char* extension : {".jpg", ".png"}) {
    std::vector<uint8_t> bytes = encode(extension, make_gradient(64, 64));
    bytes.resize(bytes.size() / 2);
    const std::string name = std::string("cut") + extension;
    const std::string expected =
        std::string(TENON_TEST_DIR) + "/decode/" + name + ": is truncated after " + std::to_string(bytes.size());
    CHECK(refusal(name, bytes).find(expected) == 0);
  }
  CHECK(refusal("empty.jpg", {}).find("empty.jpg: is empty") != std::string::npos);
  CHECK(refusal("text.jpg", {'h', 'e', 'l', 'l', 'o'}).find("text.jpg: is no image") != std::string::npos);
  std::vector<uint8_t> damaged = encode(".png", make_gradient(64, 64));
  damaged[20] ^= 0xFF;  // within the header, which has a checksum
  CHECK(refusal("damaged.png", damaged).find("damaged.png: is no image") != std::string::npos);
  const std::string missing = error_of<tenon::DataError>([] { read("no/such.jpg"); });
  CHECK(missing == "no/such.jpg: cannot be read: No such file or directory");
}

TEST_CASE("a folder in the place of a file is refused") {
  const std::filesystem::path folder = make_empty_folder("decode_folder");
  CHECK(error_of<tenon::DataError>([&] { read(folder); }).find("cannot be read: Is a directory") != std::string::npos);
}
