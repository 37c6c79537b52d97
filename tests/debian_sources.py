"""Debian's source packages, for the suites that build or run what upstream ships."""
import os
import subprocess


def call(command, cwd=None, codes=(0,), **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, timeout=900,
                          check=False, **options)
    if done.returncode not in codes:
        raise AssertionError(f"{command} ended with {done.returncode}\n"
                             f"{done.stdout.decode(errors='replace')[-2000:]}\n"
                             f"{done.stderr.decode(errors='replace')[-2000:]}")
    return done


class Sources:
    """Debian's source packages, fetched with lists of their own."""
    lists = """
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "{0}/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Sandbox::User "root";
"""

    def __init__(self, directory):
        self.directory = directory
        (directory / "lists" / "partial").mkdir(parents=True)
        (directory / "sources.list").write_text(
            "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
            " http://deb.debian.org/debian bookworm main\n")
        (directory / "apt.conf").write_text(self.lists.format(directory))
        self.environment = {**os.environ, "APT_CONFIG": str(directory / "apt.conf")}
        call(["apt-get", "update"], env=self.environment)

    def unpack(self, package, pattern):
        """The folder of the upstream sources, without Debian's changes."""
        call(["apt-get", "source", "--download-only", package], cwd=self.directory,
             env=self.environment)
        archive, = self.directory.glob(f"{package}_*.orig.tar.*")
        call(["tar", "xf", archive], cwd=self.directory)
        folder, = [path for path in self.directory.glob(pattern) if path.is_dir()]
        return folder
