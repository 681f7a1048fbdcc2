#include "plugins/datasets/shared/image_reader.h"

#include "plugins/images/decode/read_file.h"

namespace datasets {

std::vector<tenon::Param> ImageReader::schema() {
  const std::vector<std::string> transforms = {"resize(256)", "center_crop(224)", "normalize()"};
  return {
      tenon::param("transforms", transforms)
          .doc("what is done to each image, in this order, see docs/transforms.md; the default is for validation"),
      tenon::param("scaled_decoding", true)
          .doc("whether a JPEG is decoded at 1/2, 1/4 or 1/8 where it is shrunk that far anyway: faster, with slightly "
               "other pixels"),
      tenon::param("max_pixels", images::Limits().max_pixels)
          .range("[1, inf)")
          .doc("largest width x height of an image that is decoded; a larger one ends the run"),
  };
}

ImageReader::ImageReader(const tenon::Params& params)
    : chain_(params.texts("transforms")),
      scaling_(params.boolean("scaled_decoding") ? images::Scaling::dct : images::Scaling::none),
      limits_{params.integer("max_pixels")} {
  images::load_decoders();
  cv::setNumThreads(1);  // the loader's workers are the threads
}

ImageReader::Worker ImageReader::open_worker() const {
  cv::setNumThreads(1);  // another library may have raised it since
  return {};
}

tenon::Field ImageReader::field(const std::string& name, const std::string& what) const {
  if (chain_.normalizes()) {
    return {name, TENON_FLOAT32, chain_.shape(), what + ": red, green and blue, normalised"};
  }
  return {name, TENON_UINT8, chain_.shape(), what + ": red, green and blue, 0 to 255"};
}

std::vector<int64_t> ImageReader::extents() const {
  const std::vector<int64_t> shape = chain_.shape();
  return chain_.normalizes() ? std::vector<int64_t>{shape[1], shape[2]} : std::vector<int64_t>{shape[0], shape[1]};
}

images::DrawnTransforms ImageReader::write(Worker& worker, const std::string& path, uint64_t seed,
                                           const tenon::Sink& sink, const std::string& field, cv::Size* size) const {
  images::read_file(path, worker.file);
  return write_read(worker, path, seed, sink, field, size);
}

images::DrawnTransforms ImageReader::write_read(Worker& worker, const std::string& path, uint64_t seed,
                                                const tenon::Sink& sink, const std::string& field,
                                                cv::Size* size) const {
  const images::ImageInfo info = images::read_image_info(worker.file, path, limits_);
  images::DrawnTransforms drawn = draw(info.size, seed, path);
  const images::DecodedWindow decoded =
      images::decode_window(worker.file, info, path, drawn.window(), drawn.at_least(), worker.decoder, scaling_);
  const int64_t height = drawn.size().height;
  const int64_t width = drawn.size().width;
  if (chain_.normalizes()) {
    drawn.write(decoded.image, decoded.place, worker.buffers, sink.slot<float>(field, {3, height, width}));
  } else {
    drawn.write(decoded.image, decoded.place, worker.buffers, sink.slot<uint8_t>(field, {height, width, 3}));
  }
  if (size) *size = info.size;
  return drawn;
}

images::DrawnTransforms ImageReader::draw(cv::Size size, uint64_t seed, const std::string& path) const {
  try {
    return chain_.draw(size, seed);
  } catch (const tenon::DataError& error) {
    throw tenon::DataError(path + ": " + error.what());
  }
}

}  // namespace datasets
