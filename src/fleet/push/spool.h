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
#include <utility>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "fleet/push/parcel.h"

namespace geiger::fleet {

// A directory whose files are there whole after a crash, or not at all.
//
// It is opened once, and its files are found from there: a user who can rename a directory above it
// cannot have other files read or written.

class DurableDirectory {
 public:
  /// Makes it, for this user alone, with those above it. One that root uses must be root's, and
  /// not writable by others: they could have chosen what the files in it say. It may be like /tmp,
  /// as the root of a volume is: what is used in it is checked.
  [[nodiscard]] static base::Outcome<DurableDirectory> open(const std::string& path);
  /// A directory in it, which must not be like /tmp, nor a link.
  [[nodiscard]] base::Outcome<DurableDirectory> open_inside(const std::string& name) const;

  /// For messages.
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file under a temporary name, waits for the disk, and renames it: what was there under
  /// the name is replaced. From the return on it survives a crash.
  [[nodiscard]] base::Outcome<void> write(const std::string& name, std::string_view bytes) const;
  /// Renames within a file system, and waits for the disk.
  [[nodiscard]] base::Outcome<void> move(const std::string& name, const DurableDirectory& to,
                                         const std::string& new_name) const;
  /// Fails if it is larger than `most`.
  [[nodiscard]] base::Outcome<std::string> read(const std::string& name, std::size_t most) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Does nothing if there is no such file.
  void remove(const std::string& name) const;
  /// Sizes by name, after what a crash left of temporary files was removed.
  [[nodiscard]] std::map<std::string, Bytes> tidied() const;
  /// Holds a lock as long as the descriptor is open; that is closed if another process holds it.
  [[nodiscard]] base::Outcome<base::UniqueFd> lock(const std::string& name) const;

 private:
  DurableDirectory(std::string path, base::UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  enum class Sharing : bool { kNone, kAsTmp };

  [[nodiscard]] static base::Outcome<DurableDirectory> checked(std::string path,
                                                               base::UniqueFd directory,
                                                               Sharing sharing);
  [[nodiscard]] base::Failure failure_of(const std::string& name) const;
  [[nodiscard]] base::Outcome<void> write_new(const std::string& name,
                                              std::string_view bytes) const;

  std::string path_;
  base::UniqueFd directory_;
};

class Spool {
 public:
  static constexpr Bytes kMostBytes = Bytes{64} << 20;
  /// Takes lines for people, without a new line.
  using Log = std::function<void(const std::string&)>;

  /// Makes it if it is not there. Fails if another process uses it, or other users could have
  /// written into one of root's.
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
