// A dataset of images without labels: each image is rotated by 0, 90, 180 or 270 degrees, and the rotation is the class
// to predict (Gidaris et al., arXiv:1803.07728). Reads files with OpenCV.
#include <algorithm>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <tenon/opencv.hpp>
#include <tenon/plugin.hpp>

namespace {

namespace fs = std::filesystem;

class Rotations final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<tenon::Path>("path").doc("folder with images, also in its subfolders"),
            tenon::param("size", 32).range("[8, 4096]").doc("height and width of a sample in pixels"),
            tenon::param("validation", false).doc("whether to use every fifth image, instead of the others")};
  }

  explicit Rotations(const tenon::Params& params) : size_(static_cast<int>(params.integer("size"))) {
    cv::setNumThreads(1);  // the data workers of the host are the threads
    const fs::path folder = params.path("path");
    std::vector<fs::path> all;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (entry->is_regular_file(error) && cv::haveImageReader(entry->path().string())) all.push_back(entry->path());
    if (error) throw tenon::DataError(folder.string() + ": " + error.message());
    std::sort(all.begin(), all.end());  // the order of a folder differs between machines
    for (size_t i = 0; i < all.size(); ++i)
      if ((i % 5 == 0) == params.boolean("validation")) files_.push_back(std::move(all[i]));
    if (files_.empty()) throw tenon::DataError(folder.string() + ": has too few images; expected 5 or more");
  }

  std::vector<tenon::Field> fields() const {
    return {{"image", TENON_FLOAT32, {3, size_, size_}, "red, green and blue in [0, 1]"},
            {"rotation", TENON_INT64, {}, "0 to 3: quarter turns clockwise"}};
  }

  int64_t size() const { return static_cast<int64_t>(files_.size()); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const std::string file = files_[static_cast<size_t>(sample.index)].string();
    const cv::Mat stored = cv::imread(file, cv::IMREAD_COLOR);
    if (stored.empty()) throw tenon::DataError(file + ": cannot be read as an image");

    cv::Mat image;
    cv::resize(stored, image, {size_, size_}, 0, 0, cv::INTER_AREA);
    // Only sample.seed may decide: the same samples for any number of workers, and again after a resume.
    tenon::Random random(sample.seed);
    const int64_t turns = random.integer(4);
    if (turns > 0) cv::rotate(image, image, static_cast<int>(turns) - 1);  // ROTATE_90_CLOCKWISE is 0

    tenon::put_bgr(image, sink, "image", 1.0 / 255);  // planes of red, green and blue
    sink.put<int64_t>("rotation", turns);
  }

 private:
  int size_;
  std::vector<fs::path> files_;
};

}  // namespace

TENON_PLUGIN("rotations", "1.0.0", "MIT", "Predicts how images are rotated.",
             tenon::dataset<Rotations>("rotations", "rotated images of a folder"))
