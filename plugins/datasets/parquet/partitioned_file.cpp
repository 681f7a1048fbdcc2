#include "plugins/datasets/parquet/partitioned_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include <tenon/plugin.h>

namespace parquet_dataset {
namespace {

// The columns of a row group: some of the file, by index, and some with one value.
class PartitionedRows final : public RowGroup {
 public:
  struct Cell {
    size_t of_file = 0;                    // index into the columns that were read
    const Partition* partition = nullptr;  // null: of the file
  };

  PartitionedRows(std::shared_ptr<const RowGroup> rows, std::vector<Cell> cells)
      : rows_(std::move(rows)), cells_(std::move(cells)) {}

  uint64_t bytes() const override { return rows_->bytes(); }
  int64_t list_length(size_t column, int64_t row) const override {
    return rows_->list_length(cells_[column].of_file, row);
  }
  void copy_numbers(size_t column, int64_t row, void* out) const override {
    const Partition* const partition = cells_[column].partition;
    if (!partition) return rows_->copy_numbers(cells_[column].of_file, row, out);
    int64_t number = 0;
    std::from_chars(partition->value.data(), partition->value.data() + partition->value.size(), number);
    std::memcpy(out, &number, sizeof number);
  }
  std::string_view text(size_t column, int64_t row) const override {
    const Partition* const partition = cells_[column].partition;
    return partition ? partition->value : rows_->text(cells_[column].of_file, row);
  }

 private:
  std::shared_ptr<const RowGroup> rows_;
  std::vector<Cell> cells_;
};

class PartitionedFile final : public ParquetFile {
 public:
  PartitionedFile(std::unique_ptr<const ParquetFile> file, std::vector<Partition> partitions)
      : file_(std::move(file)), partitions_(std::move(partitions)), columns_(file_->columns()) {
    for (const Partition& partition : partitions_) {
      Column column{partition.column, "a part of the folder's name"};
      column.kind = partition.is_number ? Column::Kind::number : Column::Kind::text;
      column.dtype = partition.is_number ? TENON_INT64 : 0;
      column.is_partition = true;
      columns_.push_back(std::move(column));
    }
  }

  const std::string& path() const override { return file_->path(); }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::string& huggingface_metadata() const override { return file_->huggingface_metadata(); }
  const std::string& pandas_metadata() const override { return file_->pandas_metadata(); }
  const std::vector<int64_t>& row_groups() const override { return file_->row_groups(); }
  uint64_t footer_hash() const override { return file_->footer_hash(); }
  bool has_uneven_lists(size_t column) const override { return is_of_file(column) && file_->has_uneven_lists(column); }
  bool counts_nulls(size_t row_group, size_t column) const override {
    return is_of_file(column) && file_->counts_nulls(row_group, column);
  }

  std::shared_ptr<const RowGroup> read(size_t row_group, int64_t first_row,
                                       const std::vector<size_t>& columns) const override {
    std::vector<size_t> of_file;
    std::vector<PartitionedRows::Cell> cells;
    for (const size_t column : columns) {
      if (is_of_file(column)) {
        cells.push_back({of_file.size()});
        of_file.push_back(column);
      } else {
        cells.push_back({0, &partitions_[column - file_->columns().size()]});
      }
    }
    return std::make_shared<PartitionedRows>(file_->read(row_group, first_row, of_file), std::move(cells));
  }

 private:
  bool is_of_file(size_t column) const { return column < file_->columns().size(); }

  std::unique_ptr<const ParquetFile> file_;
  std::vector<Partition> partitions_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<const ParquetFile> add_partitions(std::unique_ptr<const ParquetFile> file,
                                                  const std::vector<Partition>& partitions) {
  std::vector<Partition> added = partitions;
  std::erase_if(added, [&](const Partition& partition) {
    const auto has_name = [&](const Column& column) { return column.name == partition.column; };
    return std::any_of(file->columns().begin(), file->columns().end(), has_name);
  });
  if (added.empty()) return file;
  return std::make_unique<PartitionedFile>(std::move(file), std::move(added));
}

}  // namespace parquet_dataset
