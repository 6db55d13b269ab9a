#include "cli/console/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace syncopate::cli {

namespace {

/// Headings may hold letters of several bytes; all that we use are one column wide.
int width_of(const std::string& text) {
  return int(
      std::count_if(text.begin(), text.end(), [](char letter) { return (letter & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.width = std::max(column.width, width_of(column.heading));
}

std::string Table::header(const std::string& mark) const {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  return row(headings, mark);
}

std::string Table::row(const std::vector<std::string>& cells, const std::string& mark) const {
  std::string line = mark;
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const std::string padding(std::size_t(std::max(columns_[i].width - width_of(cells[i]), 0)),
                              ' ');
    if (i > 0) line += "  ";
    line += columns_[i].text ? cells[i] + padding : padding + cells[i];
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string format_number(double value) {
  const double size = std::abs(value);
  const int digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}", value, digits);
}

}  // namespace syncopate::cli
