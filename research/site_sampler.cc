#include "research/site_sampler.h"

namespace geiger::research {

SiteSampler::SiteSampler(const Site& site)
    : lambda_(estimation::rate_of_interval(static_cast<double>(site.interval))) {
  certain_.could_have_sampled(static_cast<double>(site.interval));
  for (const SizeGroup& group : site.objects) {
    truth_ += static_cast<double>(group.size) * static_cast<double>(group.count);
    const bool is_certain = site.interval == 1 || (group.size >= site.interval && !site.is_pure);
    if (is_certain) {
      certain_.add_certain(group.size, group.count);
    } else if (group.size > 0 && group.count > 0) {
      tried_.push_back(group);
    }
  }
  std::ranges::sort(tried_, {}, &SizeGroup::size);
  // One group per size: what has one size can be enumerated.
  std::size_t kept = 0;
  for (std::size_t i = 1; i < tried_.size(); ++i) {
    if (tried_[i].size == tried_[kept].size) {
      tried_[kept].count += tried_[i].count;
    } else {
      tried_[++kept] = tried_[i];
    }
  }
  if (!tried_.empty()) tried_.resize(kept + 1);
  for (const SizeGroup& group : tried_) {
    starts_.push_back(total_);
    total_ += group.size * group.count;
  }
}

}  // namespace geiger::research
