// Lists the Parquet files of a dataset and their splits.
#pragma once

#include <string>
#include <vector>

namespace parquet_dataset {

// A part of a folder's name, `year=2024`, as Hive, Spark and pyarrow write it: a column with one value for the file.
struct Partition {
  std::string column;
  std::string value;
  bool is_number = false;  // whether it is a whole number in all files that have a value
  // Hive's name for a missing value.
  bool is_missing() const { return value == "__HIVE_DEFAULT_PARTITION__"; }
};

struct ListedFile {
  std::string path;
  std::string name;   // relative to the folder, for sample names
  std::string split;  // "" if the name has none
  std::vector<Partition> partitions = {};
};

// Returns the split that a relative path names, as Hugging Face's datasets package names files:
// `data/train-00000-of-00002.parquet`, `train.parquet`, `sst2-dev.parquet` (validation) or `test/0000.parquet`.
std::string split_of(const std::string& relative_path);

// `path` is a file, a pattern such as `data/train-*.parquet` or `{a,b}.parquet`, or a folder: all .parquet files in it
// at any depth, without names that begin with a dot or an underscore, also of folders, as in Spark. They
// are sorted by path in byte order. Partitions are the parts of the folders in `path`, and those directly before it or
// before a file. `split` selects the files of one split, or all if it is "all". An empty `split` of
// a folder requires that all its files belong to the same split. Throws tenon::DataError naming the path, and the
// splits that there are.
std::vector<ListedFile> list_files(const std::string& path, const std::string& split);

}  // namespace parquet_dataset
