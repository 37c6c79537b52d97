// What waits to be sent, in a directory that survives crashes.
//
//   lock        held by the one that uses it
//   waiting/    documents and gaps; their names begin with their time
//   refused/    what a sink will never take
//   state/      the agent's (agent.h)
//
// From put() on the bytes of a document never change: rows of two versions would mix in a store.
// The whole keeps within a limit; where there is no room the oldest go, first the refused ones, and
// a gap takes the place of each document that was still to be sent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "fleet/push/durable_directory.h"
#include "fleet/push/parcel.h"

namespace geiger::fleet {

class Spool {
 public:
  static constexpr Bytes kMostBytes = Bytes{64} << 20;
  /// Takes lines for people, without a new line.
  using Log = std::function<void(const std::string&)>;

  /// Makes it if it is not there. Fails if another process uses it, or other users could have
  /// written into one of root's (durable_directory.h).
  [[nodiscard]] static base::Outcome<Spool> open(const std::string& path, Bytes most, Log log);

  /// Keeps a document. Known bytes are kept once; other bytes under the same key are a failure.
  /// Where it fails nothing was kept.
  [[nodiscard]] base::Outcome<void> put(const Key& key, std::string_view packed);
  /// Keeps a gap; one that it follows without a break grows instead.
  [[nodiscard]] base::Outcome<void> put(const GapRow& gap);
  [[nodiscard]] bool has(const Key& key) const { return waiting_.contains(name_of(key)); }

  /// The name of the oldest that waits and comes after `after`.
  [[nodiscard]] std::optional<std::string> next(const std::string& after = {}) const;
  [[nodiscard]] base::Outcome<std::string> read(const std::string& name) const;
  /// The sink has it.
  void remove(const std::string& name);
  /// The sink will never take it: it is set aside, and a gap is sent in its place.
  [[nodiscard]] base::Outcome<void> refuse(const std::string& name, const std::string& why);

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Of the agent.
  [[nodiscard]] const DurableDirectory& state() const { return places_.state; }

 private:
  using Files = std::map<std::string, Bytes>;
  struct Places {
    DurableDirectory waiting, refused, state;
  };

  Spool(std::string path, Bytes most, Log log, Places places, base::UniqueFd lock)
      : path_(std::move(path)),
        most_(most),
        log_(std::move(log)),
        places_(std::move(places)),
        lock_(std::move(lock)) {}

  [[nodiscard]] static std::string name_of(const Key& key);
  void read_names(const DurableDirectory& directory, Files& files);
  [[nodiscard]] base::Outcome<void> make_room(Bytes bytes);
  [[nodiscard]] base::Outcome<void> give_up_oldest();
  [[nodiscard]] base::Outcome<void> record_gap(const std::string& name, const std::string& reason);
  void erase(const DurableDirectory& directory, Files& files, const std::string& name);

  std::string path_;
  Bytes most_;
  Log log_;
  Places places_;
  base::UniqueFd lock_;
  Files waiting_, refused_;  ///< Sizes by name.
  Bytes bytes_ = 0;          ///< Of all of these.
};

}  // namespace geiger::fleet
