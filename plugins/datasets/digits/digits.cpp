// Handwritten digits, 8 x 8 pixels: a real dataset that a model learns in seconds. See README.md for its source.
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>

// The assembler embeds the unchanged file digits.csv. This needs no generated source, and no file at run time.
asm(R"(
  .pushsection .rodata
  .globl digits_csv_begin
  .globl digits_csv_end
  .hidden digits_csv_begin
  .hidden digits_csv_end
digits_csv_begin:
  .incbin ")" DIGITS_CSV R"("
digits_csv_end:
  .popsection
)");

extern "C" {
extern const char digits_csv_begin[] __attribute__((visibility("hidden")));
extern const char digits_csv_end[] __attribute__((visibility("hidden")));
}

namespace {

constexpr int64_t kPixels = 64;
constexpr uint64_t kClasses = 10;
constexpr float kWhite = 16;  // the largest value of the file

struct Digit {
  std::array<uint8_t, kPixels> pixels;
  int64_t label;
};

// Removes one number and the separator after it from the front of `text`, and returns the number.
uint8_t take_number(std::string_view& text) {
  uint8_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  const size_t read = static_cast<size_t>(result.ptr - text.data());
  if (result.ec != std::errc() || read >= text.size()) throw tenon::Error("the embedded digits.csv is damaged");
  text.remove_prefix(read + 1);
  return number;
}

// The rows are sorted by writer. Every fifth row goes to the test part, so each part has digits of every writer. The
// split is easy and simple to repeat in any language (rows[4::5]). It checks whether training works. It does not
// measure how well a model reads the handwriting of new writers. The classes are uneven (21 to 52 images).
bool is_test_row(int64_t row) { return row % 5 == 4; }

class Digits final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("split", "train")
                .choices({"train", "test"})
                .doc("part of the dataset; test: every fifth image (row % 5 == 4, 359 images); train: the other 1438")};
  }

  explicit Digits(const tenon::Params& params) {
    const bool use_test = params.text("split") == "test";
    std::string_view text = {digits_csv_begin, static_cast<size_t>(digits_csv_end - digits_csv_begin)};
    for (int64_t row = 0; !text.empty(); ++row) {
      Digit digit;
      for (uint8_t& pixel : digit.pixels) pixel = take_number(text);
      digit.label = take_number(text);
      if (is_test_row(row) == use_test) digits_.push_back(digit);
    }
  }

  std::vector<tenon::Field> fields() const {
    return {{"image", TENON_FLOAT32, {1, 8, 8}, "brightness in [0, 1], 0 is background"},
            {"label", TENON_INT64, {}, "the digit, 0 to 9"}};
  }

  std::vector<tenon::ClassNames> class_names() const { return {{"label", {}, kClasses}}; }

  std::vector<tenon::Preprocessing> preprocessing() const {
    return {{"image", R"([{"name": "normalize", "divide_by": 16, "mean": 0, "std": 1}])"}};
  }

  int64_t size() const { return static_cast<int64_t>(digits_.size()); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const Digit& digit = digits_[static_cast<size_t>(sample.index)];
    float* image = sink.slot<float>("image");
    for (size_t i = 0; i < digit.pixels.size(); ++i) image[i] = static_cast<float>(digit.pixels[i]) / kWhite;
    sink.put<int64_t>("label", digit.label);
  }

 private:
  std::vector<Digit> digits_;
};

}  // namespace

TENON_PLUGIN("digits", "0.1.0", "Apache-2.0", "Handwritten digits, embedded in the plugin; no download needed.",
             tenon::dataset<Digits>("digits", "1797 grey images of 8 x 8 pixels, ten classes (UCI, CC BY 4.0)"))
