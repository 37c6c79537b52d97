// Tables with rows made from other properties than the stack, and the sums of their groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/sums.h"

namespace geiger::profile {

// Sums of the entries of a profile, group by group, the same to the bit in whatever order
// the traces were read.

/// Before there are names: adding up decides which groups become rows.
struct GroupSums {
  std::uint32_t group = 0;
  estimation::NodeSums sums;  ///< E is that of the profile.
};

/// The sums of every group that has entries, in an order that follows from the sums: adding them up
/// in this order gives the same bits wherever they came from. `group_of` gives a number below
/// `groups`.
[[nodiscard]] std::vector<GroupSums> sums_by(
    const Recording& recording, const Profile& profile, std::size_t groups,
    const std::function<std::uint32_t(const Entry&)>& group_of);

// Tables with rows made from other properties than the stack: threads, sizes, types, labels,
// lifetimes, heaps.

/// Functions, stacks, modules: what view.cc groups.
[[nodiscard]] bool is_of_stacks(GroupBy group);

/// The rows of any other grouping, in no particular order.
[[nodiscard]] std::vector<Row> table_of_groups(const Recording& recording, const Profile& profile,
                                               GroupBy group);

/// The objects of rows by type whose type is not known. They may be of the type of any other row.
[[nodiscard]] estimation::NodeSums of_unknown_type(const std::vector<Row>& rows);

/// Stands for all that was allocated outside of labels.
inline constexpr std::string_view kNoLabel = "[no label]";
/// A label with those around it, outermost first: "request / tenant=acme".
[[nodiscard]] std::string path_of_label(const Recording& recording, std::uint32_t label);
/// By label: whether what is allocated within it is within one that a glob matches, by its text or
/// with those around it. What a label whose record is lost was called, or was in, is unknown.
[[nodiscard]] std::vector<Answer> answers_of_labels(const Recording& recording,
                                                    const std::string& glob);

/// The class of sizes from 2^k to 2^(k+1) - 1 by number k + 1; 0: no bytes.
[[nodiscard]] std::uint32_t size_class_of(Bytes size);
inline constexpr std::size_t kSizeClasses = 65;
/// The smallest size of a class.
[[nodiscard]] Bytes least_of(std::size_t size_class);
/// "64-127 B", "1-2 KiB" (2 KiB excluded), "512 KiB-1 MiB".
[[nodiscard]] std::string name_of_size_class(std::uint32_t size_class);

/// "none requested", "64 B", "4 KiB".
[[nodiscard]] std::string name_of_alignment(std::uint32_t log2_alignment);

/// "[process]" or the heap's name.
[[nodiscard]] std::string name_of_heap(const Recording& recording, std::uint32_t heap);

}  // namespace geiger::profile
