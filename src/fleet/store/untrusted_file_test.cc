#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fleet/document/test_documents.h"
#include "fleet/store/sqlite_store.h"
#include "fleet/store/store.h"

namespace geiger::fleet {
namespace {

class UntrustedFile : public testing::Test {
 protected:
  UntrustedFile() {
    std::string pattern = testing::TempDir() + "store-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/fleet.db";
  }
  ~UntrustedFile() override { std::filesystem::remove_all(directory_); }

  /// A store with a document, changed by the statements.
  void make(const std::string& statements) {
    std::filesystem::remove(path_);
    {
      const auto store = open_sqlite(path_, true);
      ASSERT_TRUE(store.has_value()) << store.reason();
      ASSERT_TRUE(store.value()->put(documents_of(random_recording(1)).front()).has_value());
    }
    sqlite::Database(path_, SQLITE_OPEN_READWRITE).execute(statements);
  }
  /// Why it cannot be opened, to be asked and to be filled; empty where it can.
  std::string why() {
    const auto asked = open_sqlite(path_, false), filled = open_sqlite(path_, true);
    EXPECT_EQ(asked.reason(), filled.reason());
    return asked.reason();
  }

  std::string directory_, path_;
};

int mode_of(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 ? static_cast<int>(file.st_mode & 07777) : -1;
}

TEST_F(UntrustedFile, AViewInThePlaceOfATableIsRefused) {
  make(
      "ALTER TABLE windows RENAME TO kept; "
      "CREATE VIEW windows AS SELECT *, randomblob(1000000000) FROM kept");
  EXPECT_NE(why().find("was not made by geiger"), std::string::npos);
}

TEST_F(UntrustedFile, ATableWithOtherColumnsIsRefused) {
  make("ALTER TABLE gaps ADD COLUMN more AS (hex(zeroblob(100000000)))");
  EXPECT_EQ(why(), path_ + ": its table gaps was not made by geiger");
}

TEST_F(UntrustedFile, TriggersAreRefused) {
  make("CREATE TRIGGER t AFTER INSERT ON gaps BEGIN DELETE FROM windows; END");
  EXPECT_EQ(why(), path_ + ": its trigger t was not made by geiger");
}

TEST_F(UntrustedFile, OtherTablesAndViewsMayBeThere) {
  make("CREATE TABLE notes (note); CREATE VIEW recent AS SELECT * FROM windows");
  EXPECT_EQ(why(), "");
}

TEST_F(UntrustedFile, NothingThatASchemaSaysActs) {
  make("CREATE TABLE notes (note)");
  sqlite::Database database(path_, SQLITE_OPEN_READWRITE);
  EXPECT_EQ(database.integer_of("PRAGMA trusted_schema"), 0);
  EXPECT_EQ(database.integer_of("PRAGMA cell_size_check"), 1);
  EXPECT_THROW(database.execute("SELECT load_extension('x')"), sqlite::Error);
  EXPECT_THROW(database.execute("SELECT zeroblob(100000000)"), sqlite::Error);
  database.execute("PRAGMA writable_schema = ON");
  EXPECT_THROW(database.execute("UPDATE sqlite_master SET sql = ''"), sqlite::Error);
}

TEST_F(UntrustedFile, DamageIsReportedInALine) {
  make("CREATE TABLE notes (note)");
  const auto size = std::filesystem::file_size(path_);
  for (std::uintmax_t at = 100; at < size; at += 4096) {
    make("CREATE TABLE notes (note)");
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at)) << std::string(600, '\x5a');
    file.close();
    const auto store = open_sqlite(path_, false);
    if (!store.has_value()) {
      EXPECT_EQ(store.reason().find('\n'), std::string::npos) << store.reason();
      continue;
    }
    for (const auto& answer : {store.value()->services(), store.value()->label_values({}, "a")}) {
      EXPECT_EQ(answer.reason().find('\n'), std::string::npos) << answer.reason();
    }
  }
}

TEST_F(UntrustedFile, LinksBesideItAreRefused) {
  const std::string other = directory_ + "/other";
  std::ofstream(other) << "another file";
  for (const char* end : {"-wal", "-shm", "-journal"}) {
    make("CREATE TABLE notes (note)");
    std::filesystem::remove(path_ + end);
    std::filesystem::create_symlink(other, path_ + end);
    EXPECT_EQ(why(), path_ + end + ": is not a regular file");
    std::filesystem::remove(path_ + end);
  }
  EXPECT_EQ(std::filesystem::file_size(other), 12U);
}

TEST_F(UntrustedFile, AJournalOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to give a file to another user";
  make("CREATE TABLE notes (note)");
  std::ofstream(path_ + "-journal") << "";
  EXPECT_EQ(why(), "");
  std::ofstream(path_ + "-journal") << "";
  ASSERT_EQ(chown((path_ + "-journal").c_str(), 65534, 65534), 0);
  EXPECT_EQ(why(), path_ + "-journal: is owned by another user");
}

TEST_F(UntrustedFile, AStoreIsForItsOwnerWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U, 077U}) {
    std::filesystem::remove(path_);
    const mode_t before = umask(mask);
    {
      const auto store = open_sqlite(path_, true);
      ASSERT_TRUE(store.value()->put(documents_of(random_recording(1)).front()).has_value());
      for (const char* end : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path_ + end), 0600) << end;
    }
    umask(before);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0664), 0);
  EXPECT_EQ(why(), "");
  EXPECT_EQ(mode_of(path_), 0664) << "its owner chose it";
}

}  // namespace
}  // namespace geiger::fleet
