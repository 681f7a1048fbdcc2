#include "tests/images/written_jpeg.h"

#include <cstdlib>
#include <stdexcept>

#include <jpeglib.h>

#include "framework/images/decode/headers.h"

const std::vector<JpegKind>& jpeg_kinds() {
  static const std::vector<JpegKind> kinds = {
      {"4:4:4", 3, {1, 1}},
      {"4:2:2", 3, {2, 1}},
      {"4:4:0", 3, {1, 2}},
      {"4:2:0", 3, {2, 2}},
      {"4:1:1", 3, {4, 1}},
      {"4:1:0", 3, {4, 2}},
      {"grey", 1, {1, 1}},
      {"grey in blocks of 2 x 2", 1, {2, 2}},
      {"CMYK", 4, {1, 1}},
      {"CMYK 4:2:0", 4, {2, 2}},
      {"progressive 4:4:4", 3, {1, 1}, true},
      {"progressive 4:2:0", 3, {2, 2}, true},
      {"progressive grey", 1, {1, 1}, true},
      {"progressive 4:2:0 without its last scans", 3, {2, 2}, true, 5},
      {"progressive 4:4:4 without most scans", 3, {1, 1}, true, 8},
  };
  return kinds;
}

cv::Mat make_photo(cv::Size size, int components) {
  cv::Mat image(size, CV_8UC(components));
  uint32_t random = 1;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < components; ++c) {
        random = random * 1664525 + 1013904223;
        const int slope = (c % 2 ? 2 * y + x : 3 * x + y + 40 * c) % 200;
        const int edge = (x / 13 + y / 11 + c) % 3 == 0 ? 40 : 0;
        image.ptr(y, x)[c] = static_cast<uint8_t>(slope + edge + static_cast<int>(random >> 28));
      }
    }
  }
  return image;
}

namespace {

// Removes everything from the last `scans` starts of a scan on, except the end of the image.
void leave_out_scans(std::vector<uint8_t>& file, int scans) {
  std::vector<size_t> starts;
  for (size_t at = images::find_marker(file, 2); at < file.size(); at = images::find_marker(file, at + 1)) {
    if (file[at] == images::jpeg::kStartOfScan) starts.push_back(at - 1);
  }
  if (starts.size() <= static_cast<size_t>(scans)) throw std::runtime_error("a JPEG has too few scans");
  file.resize(starts[starts.size() - static_cast<size_t>(scans)]);
  file.push_back(0xFF);
  file.push_back(images::jpeg::kEndOfImage);
}

}  // namespace

std::vector<uint8_t> write_jpeg(const cv::Mat& image, const JpegKind& kind) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;  // its errors exit the program
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.cols);
  jpeg.image_height = static_cast<JDIMENSION>(image.rows);
  jpeg.input_components = kind.components;
  jpeg.in_color_space = kind.components == 1 ? JCS_GRAYSCALE : kind.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  if (kind.components == 4) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  jpeg_set_quality(&jpeg, 90, TRUE);
  for (int i = 0; i < kind.components; ++i) {
    const bool is_full = i == 0 || i == 3;
    jpeg.comp_info[i].h_samp_factor = is_full ? kind.sampling.width : 1;
    jpeg.comp_info[i].v_samp_factor = is_full ? kind.sampling.height : 1;
  }
  if (kind.is_progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPLE*>(image.ptr(static_cast<int>(jpeg.next_scanline)));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<uint8_t> file(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  if (kind.left_out_scans > 0) leave_out_scans(file, kind.left_out_scans);
  return file;
}

std::vector<uint8_t> with_orientation(std::vector<uint8_t> jpeg, int orientation) {
  const std::vector<uint8_t> segment = {0xFF, 0xE1,
                                        0x00, 0x22,
                                        'E',  'x',
                                        'i',  'f',
                                        0,    0,  // APP1
                                        'M',  'M',
                                        0x00, 0x2A,
                                        0x00, 0x00,
                                        0x00, 0x08,
                                        0x00, 0x01,  // big endian, one entry
                                        0x01, 0x12,
                                        0x00, 0x03,
                                        0x00, 0x00,
                                        0x00, 0x01,  // orientation, one 16-bit value
                                        0x00, static_cast<uint8_t>(orientation),
                                        0x00, 0x00,  //
                                        0x00, 0x00,
                                        0x00, 0x00};  // no further directory
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}
