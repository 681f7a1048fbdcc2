// A callback that writes the settings and the values of a run to a file for another program.
#include <filesystem>
#include <fstream>
#include <tenon/plugin.hpp>

namespace {

class LogValues final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<tenon::Path>("file").doc("file to append the lines to")};
  }
  explicit LogValues(const tenon::Params& params) : path_(params.path("file")) {}

  // After the callbacks that add values to the history.
  int32_t priority() const { return 900; }

  void on_run_start(const tenon::Run& run) {
    if (run.rank() != 0) return;  // all ranks have the same values
    file_.open(path_, std::ios::app);
    file_.precision(17);  // without rounding
    for (const auto& [key, value] : tenon::read_settings(run))
      file_ << "setting " << key << " = " << value << '\n';
  }
  void on_log(const tenon::Run& run) { write("log", run); }
  void on_validation_end(const tenon::Run& run) { write("validation", run); }
  void on_epoch_end(const tenon::Run& run) { write("epoch", run); }
  void on_run_end(const tenon::Run& run) { write("end", run); }

  // A killed run repeats what followed its last checkpoint. These lines must not be there twice.
  std::string save_state() const {
    return file_.is_open() ? std::to_string(std::filesystem::file_size(path_)) : "";
  }
  void load_state(std::string_view bytes) {
    if (file_.is_open()) std::filesystem::resize_file(path_, std::stoull(std::string(bytes)));
  }

 private:
  void write(const char* event, const tenon::Run& run) {
    if (run.rank() != 0) return;
    for (const tenon::RunValue& logged : tenon::read_values(run))
      file_ << event << ' ' << run.step() << ' ' << logged.name << ' ' << logged.value << '\n';
    if (!file_.flush())
      throw tenon::Error(path_ + " cannot be written; expected enough space and the permission");
  }

  std::string path_;
  std::ofstream file_;
};

}  // namespace

TENON_PLUGIN("log_values", "1.0.0", "MIT", "Writes the values of a run to a file.",
             tenon::callback<LogValues>("log_values",
                                        "writes the settings and values of the run to a file"))
