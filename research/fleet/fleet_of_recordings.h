// A fleet whose truth is known: hosts that allocate what real recordings allocated, more or less.
//
// A site is what one program point of the recordings allocates, with its sizes and how often. Each
// host varies by a factor, each site on a host by another one, and each hour by a third. What is
// tried is a whole number of objects; the samples are drawn by the law of the sampler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "fleet/document/document.h"
#include "fleet/turns/turn_keeper.h"

namespace geiger::research {

struct Design {
  std::uint32_t hosts = 200, hours = 24, groups = 1;
  double share = 1;            ///< Of the hosts, recorded in an hour.
  double samples = 200;        ///< Of a host in an hour, about.
  std::size_t sites = 300;     ///< That are told apart; the rest of the recordings is one more.
  double host_spread = .3;     ///< Standard deviation over mean, between hosts.
  double site_spread = .2;     ///< Of a site between hosts.
  double changed_share = .01;  ///< Of the bytes: which site changes.
  double change = 1.1;         ///< By which factor, in the version "changed".
  std::uint64_t seed = 1;
};

/// The versions: hosts run one each, in turn.
inline constexpr const char* kVersions[] = {"before", "again", "changed"};

/// Bytes that were allocated.
struct Truth {
  double all = 0, recorded = 0;
};

class FleetOfRecordings {
 public:
  /// Requires at least one sample in the recordings.
  FleetOfRecordings(const std::vector<profile::Recording>& recordings, const Design& design);

  /// The windows of a host, and their truth into `truth` by site; "" is the sum.
  [[nodiscard]] std::vector<fleet::Document> host(std::uint32_t number,
                                                  std::map<std::string, Truth>& truth) const;
  [[nodiscard]] std::string version_of(std::uint32_t host) const {
    return kVersions[host % std::size(kVersions)];
  }
  [[nodiscard]] std::uint32_t group_of(std::uint32_t host) const {
    return host / static_cast<std::uint32_t>(std::size(kVersions)) % design_.groups;
  }
  [[nodiscard]] const std::string& changed_site() const { return sites_[changed_].name; }
  /// Of the bytes of a host that varies by nothing.
  [[nodiscard]] double changed_share() const;
  [[nodiscard]] Bytes interval() const { return interval_; }

 private:
  struct Cell {
    Bytes size = 0;
    double objects = 0;  ///< In an hour.
  };
  struct Site {
    std::string name;
    std::vector<Cell> cells;
    fleet::Stack stack;
    fleet::Location location;
    double bytes = 0;
  };

  void choose_interval();
  void choose_changed();
  [[nodiscard]] fleet::Window window_of(std::uint32_t host, std::uint32_t hour) const;

  Design design_;
  std::vector<Site> sites_;
  std::size_t changed_ = 0;
  Bytes interval_ = 1;
};

}  // namespace geiger::research
