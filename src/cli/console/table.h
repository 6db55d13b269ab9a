// A table as plain text, printed row by row. The width of a column is known from its heading, so
// that a row can be shown as soon as it is measured.
#pragma once

#include <string>
#include <vector>

namespace syncopate::cli {

struct Column {
  std::string heading;
  int width = 0;      ///< At least; a heading that is longer makes it wider.
  bool text = false;  ///< Text stands at the left, numbers at the right.
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  /// The headings; `mark` is put before them, as in "# bytes".
  std::string header(const std::string& mark = "") const;
  /// One row. Missing cells at the end stay empty; the rows are moved in by as much as `mark`
  /// takes.
  std::string row(const std::vector<std::string>& cells, const std::string& mark = "") const;

 private:
  std::vector<Column> columns_;
};

/// Three significant digits or whole numbers, whichever is longer: "0.23", "14.5", "1830".
std::string format_number(double value);

}  // namespace syncopate::cli
