// Measures decoding of JPEGs with two common sizes: full images, and windows of random resized crops to 224 x 224, at
// full size and scaled by the decoder. The photos are generated: noise with coarse and fine detail, about 0.3 bytes per
// pixel.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "framework/images/decode/decode_image.h"

namespace {

const cv::Size kSample(224, 224);

cv::Mat make_photo(cv::Size size) {
  cv::RNG random(1);
  cv::Mat photo(size, CV_32FC3, cv::Scalar::all(128));
  for (int side = 4; side <= size.width; side *= 2) {
    cv::Mat noise(std::max(size.height * side / size.width, 1), side, CV_32FC3);
    random.fill(noise, cv::RNG::NORMAL, 0, std::max(40.0 * 16 / (side + 16), 3.0));
    cv::Mat spread;
    cv::resize(noise, spread, size, 0, 0, cv::INTER_CUBIC);
    photo += spread;
  }
  cv::Mat pixels;
  photo.convertTo(pixels, CV_8U);
  return pixels;
}

struct Photo {
  std::vector<uint8_t> file;
  images::ImageInfo info;
  std::vector<cv::Rect> windows;
};

// Samples a window with an area of 8 to 100 % and an aspect ratio of 3/4 to 4/3.
cv::Rect pick_window(cv::Size size, std::mt19937& random) {
  std::uniform_real_distribution<double> share(0.08, 1.0);
  std::uniform_real_distribution<double> ratio(std::log(0.75), std::log(4.0 / 3.0));
  for (;;) {
    const double area = share(random) * size.area();
    const double aspect = std::exp(ratio(random));
    const int width = static_cast<int>(std::lround(std::sqrt(area * aspect)));
    const int height = static_cast<int>(std::lround(std::sqrt(area / aspect)));
    if (width < 1 || height < 1 || width > size.width || height > size.height) continue;
    const auto x = static_cast<int>(random() % static_cast<uint32_t>(size.width - width + 1));
    const auto y = static_cast<int>(random() % static_cast<uint32_t>(size.height - height + 1));
    return {x, y, width, height};
  }
}

Photo make_file(cv::Size size) {
  Photo photo;
  if (!cv::imencode(".jpg", make_photo(size), photo.file, {cv::IMWRITE_JPEG_QUALITY, 90})) {
    throw std::runtime_error("OpenCV cannot write JPEG");
  }
  photo.info = images::read_image_info(photo.file, "photo");
  std::mt19937 random(1);
  for (int i = 0; i < 256; ++i) photo.windows.push_back(pick_window(size, random));
  return photo;
}

void report(benchmark::State& state, const Photo& photo) {
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes_a_pixel"] = static_cast<double>(photo.file.size()) / photo.info.size.area();
}

cv::Size size_of(const benchmark::State& state) {
  return {static_cast<int>(state.range(0)), static_cast<int>(state.range(1))};
}

void decode_whole(benchmark::State& state) {
  const Photo photo = make_file(size_of(state));
  images::Decoder decoder;
  for (auto _ : state) benchmark::DoNotOptimize(images::decode_image(photo.file, photo.info, "photo", decoder).data);
  report(state, photo);
}

void decode_windows(benchmark::State& state, images::Scaling scaling) {
  const Photo photo = make_file(size_of(state));
  images::Decoder decoder;
  size_t i = 0;
  for (auto _ : state) {
    const cv::Rect window = photo.windows[i++ % photo.windows.size()];
    const auto part =
        images::decode_window(photo.file, photo.info, "photo", window, {window.size(), kSample}, decoder, scaling);
    benchmark::DoNotOptimize(part.image.data);
  }
  report(state, photo);
}

void read_headers(benchmark::State& state) {
  const Photo photo = make_file(size_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(images::read_image_info(photo.file, "photo").size);
  report(state, photo);
}

}  // namespace

BENCHMARK(read_headers)->Args({500, 375})->Args({1280, 960});
BENCHMARK(decode_whole)->Args({500, 375})->Args({1280, 960})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode_windows, at_full_size, images::Scaling::none)
    ->Args({500, 375})
    ->Args({1280, 960})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode_windows, scaled, images::Scaling::dct)
    ->Args({500, 375})
    ->Args({1280, 960})
    ->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();
