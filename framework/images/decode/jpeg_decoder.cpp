#include "framework/images/decode/decoders.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>
#include <tenon/error.hpp>

#include <jerror.h>  // must follow jpeglib.h, which decides which codes exist

#ifndef LIBJPEG_TURBO_VERSION_NUMBER
#error "expected libjpeg-turbo; other versions of libjpeg lack jpeg_crop_scanline and jpeg_skip_scanlines"
#endif

namespace images {
namespace {

// Far more scans than any encoder writes. Each scan of a small file may cost a pass over a large image.
constexpr int kMaxScans = 100;

// libjpeg reports errors through these functions, which must not return. They jump back into run(), over stack frames
// of libjpeg and of run()'s step. None of these frames has objects to destroy.
struct Errors : jpeg_error_mgr {
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

Errors& errors_of(j_common_ptr state) { return *static_cast<Errors*>(state->err); }

[[noreturn]] void jump_back(j_common_ptr state) {
  Errors& errors = errors_of(state);
  errors.format_message(state, errors.text);
  std::longjmp(errors.back, 1);
}

// Returns whether a warning means lost pixels. libjpeg then continues with grey or guessed pixels.
bool loses_data(int warning) {
  switch (warning) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC: return true;
    default: return false;
  }
}

void take_message(j_common_ptr state, int level) {
  if (level < 0 && loses_data(state->err->msg_code)) jump_back(state);
}

void print_nothing(j_common_ptr) {}

void count_scans(j_common_ptr state) {
  if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= kMaxScans) return;
  Errors& errors = errors_of(state);
  std::snprintf(errors.text, sizeof errors.text, "it has more than %d scans", kMaxScans);
  std::longjmp(errors.back, 1);
}

bool has_inks(const jpeg_decompress_struct& jpeg) { return jpeg.num_components == 4; }

// Accepts 4:4:4, 4:2:2, 4:4:0, 4:2:0 and grey. For other samplings, libjpeg-turbo up to 3.1 crops incorrectly when it
// also scales.
bool has_usual_sampling(const jpeg_decompress_struct& jpeg) {
  if (jpeg.max_h_samp_factor > 2 || jpeg.max_v_samp_factor > 2) return false;
  for (int i = 0; i < jpeg.num_components; ++i) {
    const jpeg_component_info& component = jpeg.comp_info[i];
    const bool is_full = component.h_samp_factor == jpeg.max_h_samp_factor &&  //
                         component.v_samp_factor == jpeg.max_v_samp_factor;
    const bool is_chroma = i == 1 || i == 2;
    if (!is_full && !(is_chroma && component.h_samp_factor == 1 && component.v_samp_factor == 1)) return false;
  }
  return true;
}

// Returns whether libjpeg interpolates fine structure from neighbouring blocks. It does so if a progressive file leaves
// some out.
// REQUIRES: decompression has started.
bool is_smoothed(const jpeg_decompress_struct& jpeg) {
  if (!jpeg.progressive_mode || !jpeg.coef_bits) return false;
  for (int i = 0; i < jpeg.num_components; ++i) {
    const int* bits = jpeg.coef_bits[i];
    if (std::any_of(bits + 1, bits + 10, [](int unknown) { return unknown != 0; })) return true;
  }
  return false;
}

cv::Rect scale_outwards(cv::Rect window, int eighths, cv::Size scaled) {
  const int left = window.x * eighths / 8;
  const int top = window.y * eighths / 8;
  const int right = std::min((window.br().x * eighths + 7) / 8, scaled.width);
  const int bottom = std::min((window.br().y * eighths + 7) / 8, scaled.height);
  return {left, top, right - left, bottom - top};
}

uint8_t multiply(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

// Inks and RGB are as Adobe stores them: 255 is no ink.
void convert_inks(const uint8_t* inks, int count, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, inks += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>(inks[3] - multiply(255 - inks[c], inks[3]));
  }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct jpeg = {};
  Errors errors = {};
  jpeg_progress_mgr progress = {};

  State() {
    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = jump_back;
    errors.emit_message = take_message;
    errors.output_message = print_nothing;
    progress.progress_monitor = count_scans;
    if (!renew()) throw tenon::Error(std::string("libjpeg: ") + errors.text);
  }
  ~State() { jpeg_destroy_decompress(&jpeg); }

  // Calls step, which calls libjpeg. Returns false if that failed; errors.text then has the reason, and the image is
  // aborted.
  // REQUIRES: step has no local variable with a destructor.
  template <class Step>
  bool run(Step step) {
    if (setjmp(errors.back) != 0) {
      jpeg_abort_decompress(&jpeg);
      return false;
    }
    step();
    return true;
  }

  // Forgets the image before. libjpeg keeps its quantization and Huffman tables, and would decode a file without tables
  // with those.
  bool renew() {
    jpeg_destroy_decompress(&jpeg);
    return run([&] {
      jpeg_create_decompress(&jpeg);
      jpeg.progress = &progress;
    });
  }

  bool read_header(Bytes file) {
    return run([&] {
      jpeg_abort_decompress(&jpeg);  // the tables before it may have an image
      jpeg_mem_src(&jpeg, file.data(), file.size());
      jpeg_read_header(&jpeg, TRUE);
    });
  }

  bool read_tables(Bytes tables) {
    return run([&] {
      jpeg_mem_src(&jpeg, tables.data(), tables.size());
      jpeg_read_header(&jpeg, FALSE);
    });
  }

  // Decodes the image without conversion into one row. Errors beyond the last row count too.
  bool check_rows(uint8_t* row) {
    return run([&] {
      jpeg.out_color_space = jpeg.jpeg_color_space;
      jpeg_start_decompress(&jpeg);
      while (jpeg.output_scanline < jpeg.output_height) jpeg_read_scanlines(&jpeg, &row, 1);
      jpeg_finish_decompress(&jpeg);
    });
  }

  bool start(int eighths) {
    return run([&] {
      jpeg.scale_num = static_cast<unsigned int>(eighths);
      jpeg.scale_denom = 8;
      jpeg.out_color_space = has_inks(jpeg) ? JCS_CMYK : JCS_RGB;
      jpeg.dct_method = JDCT_ISLOW;
      jpeg.do_fancy_upsampling = TRUE;
      jpeg_start_decompress(&jpeg);
    });
  }

  // Sets the columns to decode. The range has one more column than the part at each side, because chroma is upsampled
  // with its neighbours. libjpeg begins at a whole block, so this rarely adds a block. The range also has a minimum
  // width, because chroma of one or two columns is upsampled without neighbours.
  bool crop(cv::Rect part, JDIMENSION& left, JDIMENSION& width) {
    constexpr int kLeast = 8;
    const auto most = static_cast<int>(jpeg.output_width);
    const int first = std::max(std::min(part.x - 1, most - kLeast), 0);
    const int end = std::min(std::max(part.br().x + 1, first + kLeast), most);
    left = static_cast<JDIMENSION>(first);
    width = static_cast<JDIMENSION>(end - first);
    return run([&] { jpeg_crop_scanline(&jpeg, &left, &width); });
  }

  bool read_rows(int top, int count, uint8_t* rows, size_t row_bytes) {
    return run([&] {
      if (top > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(top));
      for (int have = 0; have < count;) {
        constexpr int kAtOnce = 8;
        JSAMPROW pointers[kAtOnce];
        const int expected = std::min(kAtOnce, count - have);
        for (int i = 0; i < expected; ++i) pointers[i] = rows + static_cast<size_t>(have + i) * row_bytes;
        have += static_cast<int>(jpeg_read_scanlines(&jpeg, pointers, static_cast<JDIMENSION>(expected)));
      }
      jpeg_abort_decompress(&jpeg);
    });
  }
};

std::string describe_jpeg_decoder() { return "libjpeg-turbo " + std::to_string(LIBJPEG_TURBO_VERSION_NUMBER); }

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;

std::string find_jpeg_damage(Bytes tables, Bytes part, const ExpectedJpeg& expected) {
  JpegDecoder::State state;
  const jpeg_decompress_struct& jpeg = state.jpeg;
  if (!tables.empty() && !state.read_tables(tables)) return state.errors.text;
  if (!state.read_header(part)) return state.errors.text;
  const auto width = static_cast<int>(jpeg.image_width), height = static_cast<int>(jpeg.image_height);
  if (width != expected.size.width || (height != expected.size.height && height != expected.whole_rows))
    return "it has " + std::to_string(width) + " x " + std::to_string(height) + " pixels; the file's header gives " +
           std::to_string(expected.size.width) + " x " + std::to_string(expected.size.height);
  if (jpeg.num_components != expected.components)
    return "it has " + std::to_string(jpeg.num_components) + " channels; the file's header gives " +
           std::to_string(expected.components);
  if (!expected.may_subsample && (jpeg.max_h_samp_factor > 1 || jpeg.max_v_samp_factor > 1))
    return "its channels differ in size";
  std::vector<uint8_t> row(static_cast<size_t>(width) * static_cast<size_t>(expected.components));
  return state.check_rows(row.data()) ? "" : state.errors.text;
}

JpegPart JpegDecoder::decode(Bytes file, const std::string& path, cv::Size stored, cv::Rect window, int eighths,
                             PixelBuffer& pixels, PixelBuffer& inks) {
  jpeg_decompress_struct& jpeg = state_->jpeg;
  const auto check = [&](bool is_good) {
    if (!is_good) {
      throw tenon::DataError(path + ": is damaged and cannot be decoded: " + state_->errors.text +
                             "; fetch the file again or remove it");
    }
  };
  check(state_->renew() && state_->read_header(file));
  if (static_cast<int>(jpeg.image_width) != stored.width || static_cast<int>(jpeg.image_height) != stored.height) {
    jpeg_abort_decompress(&jpeg);
    throw tenon::DataError(path + ": is damaged, its header gives two sizes; fetch the file again or remove it");
  }
  const bool is_usual = has_usual_sampling(jpeg);
  if (!is_usual) eighths = 8;
  check(state_->start(eighths));
  const bool in_part = is_usual && !is_smoothed(jpeg);

  const cv::Size scaled(static_cast<int>(jpeg.output_width), static_cast<int>(jpeg.output_height));
  const cv::Rect part = scale_outwards(window, eighths, scaled);
  JDIMENSION left = 0;
  JDIMENSION width = jpeg.output_width;
  if (in_part) check(state_->crop(part, left, width));
  const int top = in_part ? part.y : 0;

  const cv::Size size(static_cast<int>(width), part.br().y - top);
  cv::Mat rgb = pixels.make(size, CV_8UC3);
  if (has_inks(jpeg)) {
    const cv::Mat raw = inks.make(size, CV_8UC4);
    check(state_->read_rows(top, size.height, raw.data, raw.step));
    for (int y = 0; y < size.height; ++y) convert_inks(raw.ptr(y), size.width, rgb.ptr(y));
  } else {
    check(state_->read_rows(top, size.height, rgb.data, rgb.step));
  }
  const cv::Rect inside(part.x - static_cast<int>(left), part.y - top, part.width, part.height);
  return {rgb(inside), part, eighths};
}

}  // namespace images
