#include "plugins/datasets/parquet/row_index.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <tenon/plugin.h>
#include <tenon/error.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/strings.h"

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
    const int64_t number = formats::parse_number<int64_t>(partition->value).value_or(0);
    std::memcpy(out, &number, sizeof number);
  }
  std::string_view text(size_t column, int64_t row) const override {
    const Partition* const partition = cells_[column].partition;
    return partition ? partition->value : rows_->text(cells_[column].of_file, row);
  }
  std::string_view list_text(size_t column, int64_t row, int64_t i) const override {
    return rows_->list_text(cells_[column].of_file, row, i);
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
    return is_of_file(column) ? file_->counts_nulls(row_group, column) : partition_of(column).is_missing();
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
        const Partition& partition = partition_of(column);
        if (partition.is_missing()) {
          throw tenon::DataError(path() + ": the column \"" + partition.column +
                                 "\" has no value, as the folder's name " + partition.column + '=' + partition.value +
                                 " says; expected a value; leave the folder out of the parameter \"path\", or leave "
                                 "the column out");
        }
        cells.push_back({0, &partition});
      }
    }
    return std::make_shared<PartitionedRows>(file_->read(row_group, first_row, of_file), std::move(cells));
  }

 private:
  bool is_of_file(size_t column) const { return column < file_->columns().size(); }
  const Partition& partition_of(size_t column) const { return partitions_[column - file_->columns().size()]; }

  std::unique_ptr<const ParquetFile> file_;
  std::vector<Partition> partitions_;
  std::vector<Column> columns_;
};

// Returns the cell as text if it has another value than the partition.
std::optional<std::string> find_other_value(const RowGroup& rows, int64_t row, const Column& column,
                                            const Partition& partition) {
  if (column.kind == Column::Kind::text) {
    const std::string_view text = rows.text(0, row);
    return text == partition.value ? std::nullopt : std::optional<std::string>(text);
  }
  int64_t number = 0;
  rows.copy_numbers(0, row, &number);
  const bool is_same = number == formats::parse_number<int64_t>(partition.value);
  return is_same ? std::nullopt : std::optional(std::to_string(number));
}

// Other programs take the value of the folder's name, or that of the column.
void check_values(const ParquetFile& file, size_t number, const Partition& partition) {
  const Column& column = file.columns()[number];
  const bool is_comparable =
      column.kind == Column::Kind::text || (column.kind == Column::Kind::number && column.dtype == TENON_INT64);
  if (!is_comparable || partition.is_missing()) return;
  int64_t first_row = 0;
  for (size_t group = 0; group < file.row_groups().size(); ++group) {
    const int64_t count = file.row_groups()[group];
    const auto rows = file.counts_nulls(group, number) ? nullptr : file.read(group, first_row, {number});
    for (int64_t row = 0; rows && row < count; ++row) {
      const std::optional<std::string> other = find_other_value(*rows, row, column, partition);
      if (!other) continue;
      throw tenon::DataError(file.path() + ": row " + std::to_string(first_row + row) + ": the column \"" +
                             column.name + "\" is \"" + *other + "\", and the folder is named " + partition.column +
                             '=' + partition.value +
                             "; expected the same value; remove the column from the file, or rename the folder");
    }
    first_row += count;
  }
}

// A process may usually open 1024 files.
constexpr size_t kMaxOpenFiles = 128;

// Adds a column for each partition to those of the file: numbers, or texts. Columns of the file with the same name
// stay. Throws tenon::DataError naming the row of a column with the same name and another value.
std::unique_ptr<const ParquetFile> add_partitions(std::unique_ptr<const ParquetFile> file,
                                                  const std::vector<Partition>& partitions) {
  std::vector<Partition> added = partitions;
  std::erase_if(added, [&](const Partition& partition) {
    const auto has_name = [&](const Column& column) { return column.name == partition.column; };
    const auto found = std::find_if(file->columns().begin(), file->columns().end(), has_name);
    if (found == file->columns().end()) return false;
    check_values(*file, static_cast<size_t>(found - file->columns().begin()), partition);
    return true;
  });
  if (added.empty()) return file;
  return std::make_unique<PartitionedFile>(std::move(file), std::move(added));
}

}  // namespace

std::shared_ptr<const RowGroup> RowGroupCache::get(size_t number) {
  {
    std::unique_lock lock(mutex_);
    for (auto found = entries_.find(number); found != entries_.end(); found = entries_.find(number)) {
      if (found->second.rows) {
        order_.splice(order_.begin(), order_, found->second.place);
        return found->second.rows;
      }
      decoded_.wait(lock);
    }
    entries_[number] = {};
  }
  std::shared_ptr<const RowGroup> rows;
  try {
    rows = load_(number);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    entries_.erase(number);
    decoded_.notify_all();
    throw;
  }
  const std::lock_guard lock(mutex_);
  keep(number, rows);
  decoded_.notify_all();
  return rows;
}

void RowGroupCache::keep(size_t number, std::shared_ptr<const RowGroup> rows) {
  bytes_ += rows->bytes();
  order_.push_front(number);
  entries_[number] = {std::move(rows), order_.begin()};
  while (bytes_ > max_bytes_ && order_.size() > 1) {
    const auto oldest = entries_.find(order_.back());
    bytes_ -= oldest->second.rows->bytes();
    entries_.erase(oldest);
    order_.pop_back();
  }
}

uint64_t RowGroupCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

RowIndex::RowIndex(std::vector<ListedFile> files, const tenon::Params& params) : listed_(std::move(files)) {
  for (const ListedFile& listed : listed_) {
    const size_t number = files_.size();
    files_.push_back(add_partitions(ParquetFile::open(listed.path, number < kMaxOpenFiles), listed.partitions));
    const ParquetFile& file = *files_.back();
    const auto features = read_features(file.huggingface_metadata(), file.path());
    if (!chosen_) chosen_ = std::make_unique<ChosenColumns>(file, features, params);
    columns_.push_back(chosen_->find_in(file, features));
    int64_t first_row = 0;
    for (size_t i = 0; i < file.row_groups().size(); ++i) {
      const int64_t count = file.row_groups()[i];
      groups_.push_back({number, i, first_row, rows() + count, count});
      first_row += count;
      const auto& columns = columns_.back();
      const bool has_nulls =
          std::any_of(columns.begin(), columns.end(), [&](size_t column) { return file.counts_nulls(i, column); });
      if (has_nulls) read(groups_.size() - 1);  // reports the row
    }
  }
  if (rows() == 0) {
    throw tenon::DataError(listed_.front().path + ": has no rows" +
                           (listed_.size() > 1 ? ", and neither do the other files" : "") + "; expected one or more");
  }
}

RowIndex::Row RowIndex::find(int64_t row) const {
  const auto group = std::upper_bound(groups_.begin(), groups_.end(), row,
                                      [](int64_t number, const Group& entry) { return number < entry.end; });
  return {static_cast<size_t>(group - groups_.begin()), row - (group->end - group->rows)};
}

std::string RowIndex::name(int64_t row) const {
  const Row found = find(row);
  const Group& group = groups_[found.group];
  return listed_[group.file].name + ':' + std::to_string(group.first_row + found.in_group);
}

std::string RowIndex::place(const Row& row, const std::string& column) const {
  return path(row) + ": row " + std::to_string(groups_[row.group].first_row + row.in_group) + ": the column \"" +
         column + '"';
}

std::shared_ptr<const RowGroup> RowIndex::read(size_t number) const {
  const Group& group = groups_[number];
  return files_[group.file]->read(group.number, group.first_row, columns_[group.file]);
}

std::vector<std::string> RowIndex::list_texts(size_t column) const {
  std::set<std::string, std::less<>> texts;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    const auto rows = files_[group.file]->read(group.number, group.first_row, {columns_[group.file][column]});
    const auto add = [&](std::string_view text, int64_t row) {
      if (text.empty()) {
        throw tenon::DataError(place({i, row}, chosen_->columns()[column].name) +
                               " is empty; expected the name of a class");
      }
      if (texts.find(text) == texts.end()) texts.emplace(text);
    };
    const bool has_lists = chosen_->columns()[column].kind == Column::Kind::texts;
    for (int64_t row = 0; row < group.rows; ++row) {
      const int64_t count = has_lists ? rows->list_length(0, row) : 1;
      for (int64_t k = 0; k < count; ++k) add(has_lists ? rows->list_text(0, row, k) : rows->text(0, row), row);
    }
  }
  return {texts.begin(), texts.end()};
}

uint64_t RowIndex::hash() const {
  formats::ContentHash hash;
  for (const auto& file : files_) {
    hash.add(file->footer_hash());
    const formats::RegularFile contents(file->path(), "a Parquet file");
    hash.add(contents, 0, contents.size());
  }
  for (const Column& column : chosen_->columns()) hash.add(column.name + ',');
  return hash.value();
}

}  // namespace parquet_dataset
