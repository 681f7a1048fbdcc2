// A dataset of image files. tenon/draft/images.hpp describes what it can do, also with boxes, keypoints and masks.
#include <filesystem>
#include <fstream>
#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  using Worker = tenon::draft::ImageWorker;  // the buffers of a thread

  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = tenon::draft::image_params();  // transforms, cache, ...
    params.push_back(tenon::required<tenon::Path>("path").doc("list: in each line a class and the path of an image"));
    return params;
  }

  explicit MyName(const tenon::Params& params) : images_(params) {
    const std::filesystem::path list = params.path("path");
    std::ifstream lines(list);
    for (std::string line; std::getline(lines, line);) {
      if (line.substr(0, 2) != "0 " && line.substr(0, 2) != "1 ")
        throw tenon::DataError(list.string() + ":" + std::to_string(files_.size() + 1) +
                               ": expected a line like \"1 photos/a.jpg\"");
      labels_.push_back(line[0] - '0');
      files_.push_back((list.parent_path() / line.substr(2)).string());
    }
    if (files_.empty()) throw tenon::DataError(list.string() + ": has no lines, or cannot be read");
    // Reads some of the images, and warns of what the transforms would lose.
    images_.examine(files_.size(), [&](size_t i) { return std::make_unique<tenon::draft::ImageFile>(files_[i]); });
  }

  // A sample. Models, losses and metrics are connected to the fields by name, dtype and shape.
  std::vector<tenon::Field> fields() const {
    return {images_.field("image", "the photo"), {"label", TENON_INT64, {}, "the class, from 0"}};
  }
  std::vector<tenon::Preprocessing> preprocessing() const { return {images_.preprocessing("image")}; }
  std::vector<tenon::ClassNames> class_names() const { return {{"label", {"circle", "square"}}}; }
  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  std::string sample_name(int64_t index) const { return files_[static_cast<size_t>(index)]; }
  Worker open_worker(uint64_t, uint64_t) const { return images_.open_worker(); }

  // Several threads call this at the same time, each with another worker. The pixels go into the memory of the batch.
  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const auto i = static_cast<size_t>(sample.index);
    worker.write(tenon::draft::ImageFile(files_[i]), sample.seed, sink, "image");
    sink.put<int64_t>("label", labels_[i]);
  }

 private:
  tenon::draft::ImagePipeline images_;
  std::vector<std::string> files_;
  std::vector<int64_t> labels_;
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The dataset my_name.",
             tenon::dataset<MyName>("my_name", "images of a list, with their classes"))
