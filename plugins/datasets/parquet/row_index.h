// The rows of all files of a dataset, by number.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/datasets/parquet/chosen_columns.h"
#include "plugins/datasets/parquet/list_files.h"
#include "plugins/datasets/parquet/parquet_file.h"

namespace parquet_dataset {

// Decoded row groups, in bounded memory that all workers share.
class RowGroupCache {
 public:
  using Load = std::function<std::shared_ptr<const RowGroup>(size_t number)>;

  // Keeps the row groups used last, in `max_bytes` of memory, and always the latest one. `load` decodes a row group;
  // several threads call it, each with another number.
  RowGroupCache(uint64_t max_bytes, Load load) : max_bytes_(max_bytes), load_(std::move(load)) {}

  // Returns a row group. Waits if another thread decodes it. Rethrows what `load` throws.
  std::shared_ptr<const RowGroup> get(size_t number);

  uint64_t bytes() const;

 private:
  struct Entry {
    std::shared_ptr<const RowGroup> rows;  // null while a thread decodes it
    std::list<size_t>::iterator place;     // in order_, if rows is set
  };

  void keep(size_t number, std::shared_ptr<const RowGroup> rows);

  const uint64_t max_bytes_;
  const Load load_;
  mutable std::mutex mutex_;
  std::condition_variable decoded_;
  std::unordered_map<size_t, Entry> entries_;
  std::list<size_t> order_;  // the row group used last is the first
  uint64_t bytes_ = 0;
};

class RowIndex {
 public:
  struct Group {
    size_t file;
    size_t number;      // in its file
    int64_t first_row;  // in its file
    int64_t end;        // number of rows up to its end, over all files
    int64_t rows;
  };
  struct Row {
    size_t group;
    int64_t in_group;
  };

  // Opens the files and reads their footers. Throws tenon::DataError naming the file if one is damaged, has another
  // schema than the first, or says that it has a null in a chosen column, or if there are no rows.
  RowIndex(std::vector<ListedFile> files, const tenon::Params& params);

  const ChosenColumns& chosen() const { return *chosen_; }
  int64_t rows() const { return groups_.empty() ? 0 : groups_.back().end; }
  const std::vector<Group>& groups() const { return groups_; }
  size_t files() const { return files_.size(); }

  Row find(int64_t row) const;
  // Returns for example `data/train-00000-of-00001.parquet:17`. Rows of a file are counted from 0.
  std::string name(int64_t row) const;
  // Returns for example `/data/train-00000-of-00001.parquet: row 17: the column "image"`.
  std::string place(const Row& row, const std::string& column) const;
  const std::string& path(const Row& row) const { return files_[groups_[row.group].file]->path(); }

  // Decodes the chosen columns of a row group. Any thread may call it.
  std::shared_ptr<const RowGroup> read(size_t group) const;
  // Returns the distinct texts of a chosen column, also of its lists, in byte order. Throws tenon::DataError for an
  // empty one.
  std::vector<std::string> list_texts(size_t column) const;

  // Whether a chosen column has lists that differ in length for sure.
  bool has_uneven_lists(size_t column) const {
    for (size_t file = 0; file < files_.size(); ++file)
      if (files_[file]->has_uneven_lists(columns_[file][column])) return true;
    return false;
  }

  // Of the footers, and so of the sizes and statistics of all columns, and of pieces of the files.
  uint64_t hash() const;

 private:
  std::vector<ListedFile> listed_;
  std::vector<std::unique_ptr<const ParquetFile>> files_;
  std::unique_ptr<ChosenColumns> chosen_;
  std::vector<std::vector<size_t>> columns_;  // of each file: the indices of the chosen columns
  std::vector<Group> groups_;
};

}  // namespace parquet_dataset
