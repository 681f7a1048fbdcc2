// Tests the image caches, in the built plugins and as separate parts.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "framework/images/reader/image_cache.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"
#include "tests/datasets/written_tar.h"

namespace image_cache_test {

namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

const std::string kFolder = TENON_BINARY_DIR "/plugins/image_folder.so";

ParamValues make_params(const fs::path& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path.string()},
                       {"transforms", Texts{"resize(24)", "random_crop(20)", "normalize()"}},
                       {"cache_dir", (path / ".cache").string()}},
                      changes);
}

// One class with noise of several sizes. A shift by one pixel would change the result.
fs::path make_images(const std::string& name) {
  const fs::path root = make_empty_folder(name);
  cv::RNG random(3);
  int number = 0;
  for (const cv::Size size : {cv::Size(101, 67), cv::Size(48, 48), cv::Size(49, 97), cv::Size(24, 24),
                              cv::Size(333, 200), cv::Size(96, 192), cv::Size(20, 31)}) {
    cv::Mat image(size, CV_8UC3);
    random.fill(image, cv::RNG::UNIFORM, 0, 256);
    cv::GaussianBlur(image, image, {5, 5}, 1.5);
    const std::string file = std::to_string(number++);
    write_file(root / "a" / (file + ".jpg"), encode(".jpg", image));
    if (number % 3 == 0) write_file(root / "a" / (file + ".png"), encode(".png", image));
  }
  return root;
}

// Reads all samples with three seeds.
std::vector<SampleBytes> read_all(const std::string& plugin, const ParamValues& params) {
  const OpenedDataset data(plugin, params);
  std::vector<SampleBytes> samples;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    for (int64_t i = 0; i < data.size(); ++i) samples.push_back(data.get(i, seed));
  }
  return samples;
}

std::vector<fs::path> list_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TarBytes read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Replaces the bytes by others of the same length and keeps the time. Only reading the file shows the change.
void exchange_unseen(const fs::path& file, const TarBytes& bytes) {
  REQUIRE(fs::file_size(file) == bytes.size());
  struct stat before;
  REQUIRE(stat(file.c_str(), &before) == 0);
  write_file(file, bytes);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

// The cache distinguishes images by their place.
struct NumberedImage final : images::ImageFile {
  explicit NumberedImage(size_t number) : number(number) {}
  std::string place() const override { return std::to_string(number); }
  void read(std::vector<uint8_t>&) const override {}
  std::string identity() const override { return ""; }

  size_t number;
};

}  // namespace

TEST_CASE("the pixels are the same with and without a cache, for all transforms") {
  const fs::path root = make_images("cached_pixels");
  const Texts chains[] = {
      {"resize(24)", "random_crop(20)", "normalize()"},
      {"resize(24)", "center_crop(22)", "horizontal_flip()", "color_jitter(0.4, 0.4, 0.4, 0.1)", "normalize()"},
      {"resize(24)", "center_crop(20)", "normalize()"},
      {"resize(24)", "center_crop(20)"},
      {"resize((30, 20))", "random_resized_crop(16)", "random_erasing(p=1)"},
      {"resize(24)", "random_resized_crop(7)", "normalize()"},
      {"center_crop(64)", "random_resized_crop(8)", "normalize()"},
      {"center_crop(40)", "resize(11)", "random_crop(16, padding=4)"},
      {"resize(24, antialias=false)", "random_crop(9)"},
      {"resize(25, interpolation=bicubic)", "random_crop(24)"},
      {"resize(25, interpolation=nearest)", "random_crop(24)"},
      {"resize(24)", "random_rotation(30)"},
  };
  for (const Texts& transforms : chains) {
    CAPTURE(transforms[0]);
    CAPTURE(transforms[1]);
    for (const bool scaled : {true, false}) {
      CAPTURE(scaled);
      const ParamValues params = make_params(root, {{"transforms", transforms}, {"scaled_decoding", scaled}});
      const auto plain = read_all(kFolder, params);
      for (const std::string kind : {"memory", "disk", "disk"})
        CHECK(read_all(kFolder, with_changes(params, {{"cache", kind}})) == plain);
    }
  }
  const Texts drawn = {"random_resized_crop(16)", "normalize()"};
  const ParamValues whole = make_params(root, {{"transforms", drawn}, {"scaled_decoding", false}});
  CHECK(read_all(kFolder, with_changes(whole, {{"cache", "memory"}})) == read_all(kFolder, whole));
}

TEST_CASE("a cache in memory avoids decoding, up to its size limit") {
  const fs::path root = make_images("memory_cache");
  const OpenedDataset data(kFolder, make_params(root, {{"cache", "memory"}}));
  const SampleBytes before = data.get(0);
  const SampleBytes second = data.get(1);
  const TarBytes garbage(fs::file_size(root / "a/0.jpg"), 0);
  write_file(root / "a/0.jpg", garbage);
  CHECK(data.get(0) == before);
  const OpenedDataset small(kFolder, make_params(root, {{"cache", "memory"}, {"cache_bytes", int64_t{100}}}));
  CHECK(small.get(1) == second);
  CHECK_THROWS_AS(small.get(0), Refused);
}

TEST_CASE("a cache on disk is shared, and not used for an image that has changed") {
  const fs::path root = make_images("disk_cache");
  const ParamValues params = make_params(root, {{"cache", "disk"}});
  const auto before = read_all(kFolder, params);
  CHECK(list_files(root / ".cache").size() == 9);
  const TarBytes first = read_bytes(root / "a/0.jpg");
  exchange_unseen(root / "a/0.jpg", TarBytes(first.size(), 0));
  CHECK(read_all(kFolder, params) == before);

  write_file(root / "a/0.jpg", encode(".jpg", make_gradient(50, 50)));
  const auto after = read_all(kFolder, params);
  CHECK(after != before);
  CHECK(after == read_all(kFolder, make_params(root)));
  CHECK(list_files(root / ".cache").size() == 10);
  // Other transforms have separate entries.
  read_all(kFolder, with_changes(params, {{"transforms", Texts{"resize(25)", "random_crop(20)", "normalize()"}}}));
  CHECK(list_files(root / ".cache").size() == 19);
}

TEST_CASE("damaged entries of a cache on disk are rewritten") {
  const fs::path root = make_images("damaged_cache");
  const ParamValues params = make_params(root, {{"cache", "disk"}});
  const auto before = read_all(kFolder, params);
  const std::vector<fs::path> entries = list_files(root / ".cache");
  std::vector<TarBytes> sound;
  for (const fs::path& entry : entries) sound.push_back(read_bytes(entry));
  for (size_t i = 0; i < entries.size(); ++i) {
    TarBytes bytes = sound[i];
    if (i % 5 == 0) bytes.back() ^= 1;
    if (i % 5 == 1) bytes.resize(bytes.size() / 2);
    if (i % 5 == 2) bytes.clear();
    if (i % 5 == 3) bytes = sound[i - 1];
    if (i % 5 == 4) bytes[20] ^= 0x80;
    write_file(entries[i], bytes);
  }
  CHECK(read_all(kFolder, params) == before);
  for (size_t i = 0; i < entries.size(); ++i) CHECK(read_bytes(entries[i]) == sound[i]);
  CHECK(list_files(root / ".cache") == entries);  // and no other files
}

TEST_CASE("an unwritable cache is reported once, and the images are still read") {
  const fs::path root = make_images("lost_cache");
  const OpenedDataset data(kFolder, make_params(root, {{"cache", "disk"}}));
  fs::remove_all(root / ".cache");
  write_file(root / ".cache", {1});
  const OpenedDataset plain(kFolder, make_params(root));
  for (int64_t i = 0; i < 3; ++i) CHECK(data.get(i) == plain.get(i));
  REQUIRE(data.log().size() == 1);
  CHECK(
      data.log()[0].find("cannot be written: Not a directory; images missing from the cache are decoded every time") !=
      std::string::npos);
  CHECK_THROWS_AS(OpenedDataset(kFolder, make_params(root, {{"cache", "disk"}})), Refused);
}

TEST_CASE("a cache that would change the pixels is refused, and so is one without a folder") {
  const fs::path root = make_images("refused_cache");
  const auto refusal = [&](const ParamValues& changes) {
    return error_of<Refused>([&] { OpenedDataset(kFolder, make_params(root, changes)); });
  };
  CHECK(refusal({{"cache", "memory"}, {"transforms", Texts{"random_resized_crop(8)"}}}) ==
        "parameter \"cache\" is \"memory\", and \"transforms\" begins with neither resize nor center_crop, so each "
        "sample decodes its JPEG at a different scale; begin with one of them, or set scaled_decoding = false to cache "
        "whole images");
  CHECK(refusal({{"cache", "disk"}, {"cache_dir", ""}}) ==
        "parameter \"cache\" is \"disk\", and \"cache_dir\" is empty; expected a folder");
}

TEST_CASE("images of shards are cached by shard and offset, images of a table by row and column") {
  const fs::path root = make_images("other_caches");
  const TarBytes first = read_bytes(root / "a/0.jpg");
  const TarBytes second = read_bytes(root / "a/1.jpg");
  WrittenTar tar;
  tar.add("0.left.jpg", first).add("0.right.jpg", second).add("0.cls", "1");
  tar.add("1.left.jpg", second).add("1.right.jpg", first).add("1.cls", "2");
  write_file(root / "a.tar", tar.bytes());
  const std::string table = "first,second,label\na/0.jpg,a/1.jpg,x\na/4.jpg,a/0.jpg,y\n";
  write_file(root / "t.csv", {table.begin(), table.end()});
  for (const std::string plugin : {"tar_shards", "pairs"}) {
    CAPTURE(plugin);
    const std::string file = TENON_BINARY_DIR "/plugins/" + plugin + ".so";
    const ParamValues params = make_params(root, {{"path", (root / (plugin == "pairs" ? "t.csv" : "a.tar")).string()},
                                                  {"first", "first"},
                                                  {"second", "second"},
                                                  {"labels", Texts{"label"}}});
    const auto plain = read_all(file, params);
    for (const std::string kind : {"memory", "disk", "disk"})
      CHECK(read_all(file, with_changes(params, {{"cache", kind}})) == plain);
  }
}

TEST_CASE("masks are transformed like their images, cached or not") {
  const fs::path root = make_empty_folder("cached_masks");
  for (int i = 0; i < 4; ++i) {
    const cv::Mat image = make_gradient(60 + i, 40);
    write_file(root / "images" / (std::to_string(i) + ".png"), encode(".png", image));
    cv::Mat mask(image.size(), CV_8UC1, cv::Scalar(i));
    mask(cv::Rect(10, 5, 20, 20)) = 7;
    write_file(root / "masks" / (std::to_string(i) + ".png"), encode(".png", mask));
  }
  const ParamValues params = make_params(
      root, {{"images", "images"}, {"masks", "masks"}, {"classes", int64_t{8}}, {"ignore_index", int64_t{255}}});
  const std::string plugin = TENON_BINARY_DIR "/plugins/segmentation.so";
  const auto plain = read_all(plugin, params);
  CHECK(read_all(plugin, with_changes(params, {{"cache", "memory"}})) == plain);
}

TEST_CASE("a cache in memory keeps the first image of several threads, and respects its limit") {
  constexpr size_t kImages = 64;
  const cv::Mat pixels(4, 5, CV_8UC3, cv::Scalar::all(1));
  images::MemoryCache cache(20 * 100);
  std::array<size_t, 4> wrong = {};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      images::ImageCache::Buffer buffer;
      for (size_t round = 0; round < 200; ++round) {
        for (size_t number = 0; number < kImages; ++number) {
          const NumberedImage image(number);
          const auto found = cache.find(image, buffer);
          if (!found) cache.keep(image, {{static_cast<int>(number), 1}, pixels}, buffer);
          if (found && (found->whole.width != static_cast<int>(number) || found->pixels.at<cv::Vec3b>(3, 4)[2] != 1)) {
            ++wrong[t];
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::array<size_t, 4>{});
  images::ImageCache::Buffer buffer;
  size_t kept = 0;
  for (size_t number = 0; number < kImages; ++number) kept += cache.find(NumberedImage(number), buffer).has_value();
  CHECK(kept > 0);
  CHECK(kept < kImages);
  CHECK(cache.bytes() <= 20 * 100);
}

}  // namespace image_cache_test
