// The zip archive that torch.export writes, a .pt2 file. https://docs.pytorch.org/docs/stable/export/pt2_archive.html
#pragma once

#include <caffe2/serialize/inline_container.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/models/exported/json.h"
#include "plugins/regular_file.h"

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

}  // namespace exported
