// The zip archive that torch.export writes, a .pt2 file. https://docs.pytorch.org/docs/stable/export/pt2_archive.html
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <caffe2/serialize/inline_container.h>

#include "framework/formats/regular_file.h"
#include "plugins/models/exported/schema.h"

namespace exported {

class Archive {
 public:
  // Opens the file and checks its format and version. Throws tenon::DataError naming the file.
  explicit Archive(const std::string& path);

  const std::string& path() const { return path_; }
  // The names of the models: `train` for models/train.json. Sorted.
  const std::vector<std::string>& models() const { return models_; }

  // The records that start with `prefix`. Sorted.
  std::vector<std::string> list(const std::string& prefix) const;

  // Each function throws tenon::DataError naming the file and the record.
  Json read_json(const std::string& record);
  std::vector<char> read(const std::string& record);

  [[noreturn]] void refuse(const std::string& record, const std::string& problem) const;

 private:
  void check_value(const std::string& record, std::string_view expected, const std::string& meaning);

  std::string path_;
  uint64_t bytes_ = 0;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
  std::vector<std::string> models_;
};

// Calls `body`, and adds the file and the record to what it throws.
template <class Body>
auto within(const Archive& archive, const std::string& record, Body&& body) {
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    archive.refuse(record, error.what());
  } catch (const Json::exception& error) {
    archive.refuse(record, error.what());
  }
}

// The tensors of an archive: weights with their names in state_dict(), and constants.
struct StoredTensor {
  std::string record;  // equal for names that share one tensor
  at::Tensor tensor;   // dense, on the CPU
  bool is_trained;     // a parameter that requires a gradient
  bool is_parameter;   // false: a buffer
};
using StoredTensors = std::map<std::string, StoredTensor>;

// Reads the tensors that a configuration such as data/weights/model_weights_config.json lists. `prefix` is the folder
// of their records. Throws tenon::DataError.
StoredTensors read_tensors(Archive& archive, const std::string& config, const std::string& prefix);

}  // namespace exported
