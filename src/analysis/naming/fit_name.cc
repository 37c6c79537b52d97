#include <algorithm>
#include <vector>

#include "analysis/naming/brackets.h"
#include "analysis/naming/columns.h"
#include "analysis/naming/display_name.h"
#include "analysis/naming/fitting.h"
#include "analysis/naming/path.h"

namespace geiger::naming {
namespace {

using Kind = Component::Kind;

bool is_balanced(std::string_view text) {
  const Brackets brackets(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_opener = text[i] == '<' || text[i] == '(' || text[i] == '[' || text[i] == '{';
    if (!is_opener) continue;
    const std::size_t close = brackets.closing(i);
    if (close == kNone) return false;
    i = close;
  }
  return text.empty() || text.find_first_of(">)]}") == std::string_view::npos ||
         std::ranges::count(text, '<') == std::ranges::count(text, '>');
}

/// The middle of a list gone; at least "…".
std::string shortened_list(std::string_view list, std::size_t columns) {
  if (columns_of(list) <= columns) return std::string(list);
  if (columns < 4) return "…";
  std::string middle = elide(list, columns);
  // What was folded to an ellipsis before may lie beside the new one.
  constexpr std::string_view kTwice = "……";
  for (std::size_t at; (at = middle.find(kTwice)) != std::string::npos;) {
    middle.erase(at, kTwice.size() / 2);
  }
  return is_balanced(middle) ? middle : std::string("…");
}

/// A name in pieces: what may be shortened, and what lies between.
class Pieces {
 public:
  explicit Pieces(std::string_view name) : text_(name), function_(parse_function(text_)) {
    const auto& components = function_.path.components;
    if (components.empty()) return;
    for (const Component& component : components) {
      const bool is_impl = component.kind == Kind::kImpl;
      begins_.push_back(is_impl ? component.name.begin - 1 : component.name.begin);
      lists_.push_back(is_impl ? component.name : component.arguments);
    }
    own_ = components.size() - 1;
    if (own_ > 0 && components[own_].kind == Kind::kLambda) --own_;
    end_ = function_.has_parameters ? function_.parameters.begin - 1 : name.size();
  }

  [[nodiscard]] bool is_foreign() const { return begins_.empty(); }
  [[nodiscard]] std::size_t own() const { return own_; }

  [[nodiscard]] std::size_t columns_from(std::size_t k) const {
    return columns_of(text_.text().substr(begins_[k]));
  }

  /// What the template arguments from component `k` on can save, and the parameters.
  [[nodiscard]] std::size_t saved_by_arguments(std::size_t k) const {
    std::size_t columns = 0;
    for (std::size_t i = k; i < lists_.size(); ++i) columns += saved(lists_[i]);
    return columns;
  }
  [[nodiscard]] std::size_t saved_by_parameters() const { return saved(function_.parameters); }

  /// From component `k` on in `columns`: template arguments give way, then parameters.
  [[nodiscard]] std::string from(std::size_t k, std::size_t columns) const {
    const std::string_view name = text_.text();
    std::size_t excess = columns_of(name.substr(begins_[k]));
    excess = excess > columns ? excess - columns : 0;
    std::string out;
    std::size_t at = begins_[k];
    std::vector<Span> lists(lists_.begin() + static_cast<std::ptrdiff_t>(k), lists_.end());
    if (function_.has_parameters) lists.push_back(function_.parameters);
    for (const Span& list : lists) {
      if (list.is_empty() || excess == 0) continue;
      const std::string_view whole = text_.part(list.begin, list.end);
      const std::size_t width = columns_of(whole);
      const std::string shorter = shortened_list(whole, width > excess ? width - excess : 1);
      excess -= std::min(excess, width - columns_of(shorter));
      out += text_.part(at, list.begin);
      out += shorter;
      at = list.end;
    }
    return out += name.substr(at);
  }

  /// The function's own name without lists, with `qualifiers` components before it.
  [[nodiscard]] std::string bare(std::size_t qualifiers = 0) const {
    std::string out;
    for (std::size_t k = own_ - std::min(own_, qualifiers); k < lists_.size(); ++k) {
      const std::size_t next = k + 1 < begins_.size() ? begins_[k + 1] : end_;
      const bool has_list =
          !lists_[k].is_empty() && function_.path.components[k].kind != Kind::kImpl;
      out += text_.part(begins_[k], has_list ? lists_[k].begin - 1 : next);
      if (has_list) out += text_.part(lists_[k].end + 1, next);
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t saved(const Span& list) const {
    const std::size_t columns = columns_of(text_.part(list.begin, list.end));
    return columns > 1 ? columns - 1 : 0;
  }

  Brackets text_;
  Function function_;
  std::vector<std::size_t> begins_;
  std::vector<Span> lists_;
  std::size_t own_ = 0, end_ = 0;
};

/// With as many of the namespaces as fit if the lists save so much.
std::string from_fitting(const Pieces& pieces, std::size_t columns, bool saves_arguments,
                         bool saves_parameters) {
  for (std::size_t k = 0; k <= pieces.own(); ++k) {
    const std::size_t mark = k > 0 ? 1 : 0;
    const std::size_t saved = (saves_arguments ? pieces.saved_by_arguments(k) : 0) +
                              (saves_parameters ? pieces.saved_by_parameters() : 0);
    if (pieces.columns_from(k) - saved + mark > columns) continue;
    return (k > 0 ? "…" : "") + pieces.from(k, columns - mark);
  }
  return {};
}

}  // namespace

std::string fitted(std::string_view display, std::size_t columns, GivesWay first) {
  if (columns_of(display) <= columns) return std::string(display);
  const Pieces pieces(display);
  if (pieces.is_foreign()) return elide(display, columns);
  std::string out;
  if (first == GivesWay::kNamespaces) out = from_fitting(pieces, columns, false, false);
  if (out.empty()) out = from_fitting(pieces, columns, true, false);
  if (out.empty()) out = from_fitting(pieces, columns, true, true);
  if (!out.empty()) return out;
  std::string own = pieces.bare();
  if (columns_of(own) + 1 <= columns) return "…" + own;
  return elide(own, columns);
}

bool is_function_name(std::string_view display) { return !Pieces(display).is_foreign(); }

std::size_t least_columns(std::string_view display) {
  const Pieces pieces(display);
  if (pieces.is_foreign()) return columns_of(display);
  const std::size_t own = columns_of(pieces.bare());
  return own < columns_of(display) ? own + 1 : own;
}

std::size_t telling_columns(std::string_view display) {
  const Pieces pieces(display);
  if (pieces.is_foreign()) return columns_of(display);
  const std::size_t telling = columns_of(pieces.bare(1));
  return telling < columns_of(display) ? telling + 1 : telling;
}

std::string fit_name(std::string_view display, std::size_t columns) {
  return fitted(display, columns, GivesWay::kArguments);
}

}  // namespace geiger::naming
