#include "plugins/datasets/parquet/row_index.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plugins/content_hash.h"
#include "plugins/datasets/parquet/partitioned_file.h"

namespace parquet_dataset {
namespace {

// A process may usually open 1024 files.
constexpr size_t kMaxOpenFiles = 128;

}  // namespace

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
  components::ContentHash hash;
  for (const auto& file : files_) {
    hash.add(file->footer_hash());
    const components::RegularFile contents(file->path(), "a Parquet file");
    hash.add(contents, 0, contents.size());
  }
  for (const Column& column : chosen_->columns()) hash.add(column.name + ',');
  return hash.value();
}

}  // namespace parquet_dataset
