// `geiger preload`: has the loader put geiger's library into every program of the machine.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "analysis/ingest/files.h"
#include "cli/help/command_line.h"
#include "cli/verbs/commands.h"
#include "query/text_file.h"
#include "run/environment.h"
#include "run/host_preload.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct PreloadArguments {
  std::string action;
  bool is_dry_run = false;
};

/// The list as it is; `status` of no file has the owner and the mode of a new one.
struct HostList {
  std::string text;
  bool exists = false;
  struct stat status {};
};

base::Outcome<HostList> read_list() {
  HostList list;
  list.status.st_mode = 0644;
  const auto file = GEIGER_TRY(query::open_own_file(run::kHostPreloads));
  if (!file.is_open()) return list;
  list.exists = true;
  if (fstat(file.get(), &list.status) != 0) return base::Failure{std::strerror(errno)};
  list.text = GEIGER_TRY(query::read_text(file, run::kHostPreloads));
  return list;
}

/// Replaces the file at once: the loader reads the old list or the new one. Removes it for an empty
/// list.
base::Outcome<void> write_list(const HostList& list, const std::string& text) {
  if (text.empty()) {
    if (unlink(run::kHostPreloads) == 0 || errno == ENOENT) return {};
    return base::Failure{fmt::format("{}: {}", run::kHostPreloads, std::strerror(errno))};
  }
  ingest::OutputFile file;
  const auto taken = [](const ingest::FileOutcome& outcome) -> base::Outcome<void> {
    if (!outcome.has_value()) return base::Failure{outcome.failure().text()};
    return {};
  };
  GEIGER_TRY(taken(file.create(run::kHostPreloads, list.status.st_mode & 07777)));
  GEIGER_TRY(taken(file.write(std::as_bytes(std::span(text)))));
  GEIGER_TRY(taken(file.make_durable(list.status.st_uid, list.status.st_gid)));
  return taken(file.commit(true));
}

/// The word for LD_PRELOAD and for the list.
base::Outcome<std::string> preload_word() {
  const auto library = GEIGER_TRY(run::PreloadPath::library());
  if (library.find_first_of(" :$#\t\n") != std::string::npos) {
    return base::Failure{
        fmt::format("the loader's list cannot hold '{}': install geiger below folders without "
                    "blanks, : $ and #",
                    library)};
  }
  return GEIGER_TRY(run::PreloadPath::locate()).word();
}

/// Fails where the list is better left alone.
base::Outcome<void> check_library(const std::string& word) {
  GEIGER_TRY(run::check_only_root_writes());
  return run::try_preload(word);
}

void say_done(const std::string& word) {
  terminal::complain(
      word.empty() ? "programs that start from now on do not load geiger; those that run keep it "
                     "until they end"
                   : fmt::format("programs that start from now on load {}, dormant until 'geiger "
                                 "ctl PID start'; 'geiger preload disable' ends that",
                                 word));
}

/// Puts `word` into the list; an empty one: takes geiger's out of it.
base::Outcome<int> change_list(const std::string& word, bool is_dry_run) {
  const auto list = GEIGER_TRY(read_list().with_prefix(std::string(run::kHostPreloads) + ": "));
  const std::string wanted = run::with_runtime_word(list.text, word);
  if (!word.empty()) GEIGER_TRY(check_library(word));
  if (wanted == list.text) {
    terminal::complain(fmt::format("nothing to do: {} {}", run::kHostPreloads,
                                   word.empty() ? "does not name geiger" : "names " + word));
    return kExitOk;
  }
  if (is_dry_run) {
    terminal::complain(fmt::format("would {} {}{}", wanted.empty() ? "remove" : "write",
                                   run::kHostPreloads, wanted.empty() ? "" : ":"));
    return terminal::print_data(wanted) ? kExitOk : kExitFailed;
  }
  if (geteuid() != 0)
    return base::Failure{fmt::format("only root may change {}", run::kHostPreloads)};
  GEIGER_TRY(write_list(list, wanted));
  if (!word.empty()) {
    // musl has no such list, and a security module may hide it.
    if (const auto loads = run::try_preload(""); !loads.has_value()) {
      GEIGER_TRY(write_list(list, list.text));
      return base::Failure{fmt::format("{} is as it was: {}", run::kHostPreloads, loads.reason())};
    }
  }
  say_done(word);
  return kExitOk;
}

base::Outcome<int> preload(const PreloadArguments& options) {
  if (options.action == "disable") return change_list("", options.is_dry_run);
  const auto word = GEIGER_TRY(preload_word());
  if (options.action == "enable") return change_list(word, options.is_dry_run);
  return terminal::print_data(word + "\n") ? kExitOk : kExitFailed;
}

}  // namespace

void register_preload(CLI::App& app, Work& work) {
  auto options = std::make_shared<PreloadArguments>();
  CLI::App* verb =
      app.add_subcommand("preload", "Load geiger's library into every program that starts");
  verb->add_option("ACTION", options->action,
                   "enable, disable: change /etc/ld.so.preload; path: print the\n"
                   "library's path for LD_PRELOAD, as in a systemd unit")
      ->required()
      ->check(one_of({"enable", "disable", "path"}))
      ->type_name("");
  verb->add_flag("-n,--dry-run", options->is_dry_run,
                 "Print what the file would contain; change nothing");
  verb->footer(
      "\nPrograms that start after 'enable' are dormant: nothing is recorded until\n"
      "'geiger ctl PID start' (docs/guide/production.md). The file is replaced at once and\n"
      "keeps its other lines, owner and mode. 'enable' refuses a library that a program\n"
      "cannot load or that other users than root can replace. 'disable' also removes paths of\n"
      "other installations of geiger. Removing the Debian packages does so too.\n"
      "\nExit code: 0 done, or nothing to do, 1 refused (the file is unchanged),\n"
      "2 usage error.\n"
      "\nExamples:\n"
      "  sudo geiger preload enable --dry-run\n"
      "  sudo geiger preload enable\n"
      "  LD_PRELOAD=$(geiger preload path) PROGRAM");
  verb->callback([options, &work] { work = [options] { return preload(*options); }; });
}

}  // namespace geiger::cli
