#include "tests/exported/archives.h"

#include <caffe2/serialize/inline_container.h>

#include "tests/bundled/opened_components.h"
#include "tests/test_folder.h"

namespace tenon::exported {

namespace fs = std::filesystem;

fs::path archive_folder() { return TENON_SOURCE_DIR "/tests/parity/reference/exported"; }

fs::path archive_path(const std::string& name) { return archive_folder() / (name + ".pt2"); }

components::Model open_archive(const fs::path& path, const config::Values& params) {
  config::Values all = params;
  all["path"] = path.string();
  components::Model model = bundled::open_model("exported", all);
  model.build();
  return model;
}

Records read_records(const fs::path& path) {
  caffe2::serialize::PyTorchStreamReader reader(path.string());
  Records records;
  for (const std::string& name : reader.getAllRecords()) {
    std::string& bytes = records[name];
    bytes.resize(reader.getRecordSize(name));
    reader.getRecord(name, bytes.data(), bytes.size());
  }
  return records;
}

fs::path write_records(const Records& records, const std::string& name) {
  fs::path path = test_folder() / (name + ".pt2");
  caffe2::serialize::PyTorchStreamWriter writer(path.string());
  for (const auto& [record, bytes] : records)
    if (!record.starts_with(".data/")) writer.writeRecord(record, bytes.data(), bytes.size());
  writer.writeEndOfFile();
  return path;
}

}  // namespace tenon::exported
