// A text table for the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenon::reporting {

class TextTable {
 public:
  enum class Align { left, right };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns.
  void add(std::vector<std::string> cells);

  // Prints each row on a line after `margin`. Columns are two blanks apart. Lines have no trailing blanks.
  std::string print(const std::string& margin) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Prints 1234567 as "1,234,567".
std::string print_count(uint64_t number);

}  // namespace tenon::reporting
