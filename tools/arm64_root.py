#!/usr/bin/env python3
"""Fetches what cross-building and running for arm64 needs, without installing anything.

Usage: tools/arm64_root.py FOLDER [GROUP...]

Debian packages are fetched by apt with a state of its own inside FOLDER and unpacked there: neither
the host's packages nor its list of architectures change, and root is not needed. (Installing
Debian's cross compiler would remove gcc-multilib, which other tests need.) Groups, all but the last three by default:

  compiler   FOLDER/compiler    g++ 12 and binutils for arm64, to run on this machine (amd64)
  build      FOLDER/bookworm    the sysroot: libraries and headers of Debian 12
  programs   FOLDER/bookworm    programs of Debian 12, for the comparison of walks
  signed     FOLDER/trixie      the same of Debian 13, built with pointer authentication
  kernels    FOLDER/kernels     Debian's, with pages of 4 KiB (4k) and of 16 KiB (16k), for qemu-system
  packages   FOLDER/packages    what dpkg-shlibdeps has to know of the sysroot's libraries
  walk       FOLDER/bookworm    of `build` and `programs` what a single comparison of walks needs

A group that is there already is left as it is. Exit code 3: the network, apt or the right machine
is missing.
"""
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
UNAVAILABLE = 3

COMPILER = ["binutils-aarch64-linux-gnu", "cpp-12-aarch64-linux-gnu", "gcc-12-aarch64-linux-gnu",
            "g++-12-aarch64-linux-gnu", "libgcc-12-dev-arm64-cross",
            "libstdc++-12-dev-arm64-cross"]
BUILD = ["libc6-dev", "libstdc++-12-dev", "libgtest-dev", "libgmock-dev", "libboost-math-dev",
         "libcli11-dev", "libcpp-httplib-dev", "libcurl4-openssl-dev", "libbz2-dev", "libdw-dev",
         "libelf-dev", "libfmt-dev", "liblttng-ust-dev", "liblzma-dev", "libncurses-dev",
         "libprotozero-dev", "libre2-dev", "libsimdjson-dev", "libsqlite3-dev", "libxxhash-dev",
         "libzstd-dev", "libzydis-dev", "llvm-14-dev", "nlohmann-json3-dev", "robin-map-dev",
         "systemtap-sdt-dev", "zlib1g-dev"]
PROGRAMS = ["busybox-static", "git", "libpython3-stdlib", "ninja-build", "perl", "python3-minimal",
            "sqlite3"]
WALK = ["libc6-dev", "libstdc++-12-dev", "sqlite3"]
# File: (suite, the package that depends on the one with the image)
KERNELS = {"4k": ("bookworm", "linux-image-arm64"), "16k": ("trixie", "linux-image-arm64-16k")}

# Whose libraries geiger's Debian packages depend on.
LIBRARIES = ["libc6", "libcpp-httplib0.11", "libcurl4", "libdw1", "libelf1", "libfmt9", "libgcc-s1",
             "liblttng-ust1", "libncursesw6", "libre2-9", "libsqlite3-0", "libstdc++6", "libtinfo6",
             "libzstd1", "libzydis4.0", "zlib1g"]

# Group: (where, suite, architecture, packages, whether what they depend on comes along)
GROUPS = {
    "compiler": ("compiler", "bookworm", "amd64", COMPILER, False),
    "build": ("bookworm", "bookworm", "arm64", BUILD, True),
    "programs": ("bookworm", "bookworm", "arm64", PROGRAMS, True),
    "signed": ("trixie", "trixie", "arm64", PROGRAMS, True),
    "walk": ("bookworm", "bookworm", "arm64", WALK, True),
}
DEFAULT = ("compiler", "build", "programs", "signed")
SEPARATE = ("kernels", "packages")
# Of the right names, and of no use here: large, or to be run by a package manager.
UNWANTED = ("debconf", "perl-modules-5.36-doc", "clang-14", "libclang", "libllvm14", "llvm-14-tools",
            "llvm-14_", "llvm-14-runtime", "libicu", "libpfm4", "libz3", "python3-pygments",
            "python3-yaml", "git-man")


class Unavailable(Exception):
    pass


class Apt:
    """apt with the lists of one suite and architecture, and the archives of one group."""

    def __init__(self, folder, suite, architecture, group):
        self.state = folder / "apt" / f"{suite}-{architecture}"
        self.archives = folder / "apt" / group
        for place in (self.state / "lists/partial", self.state / "etc", self.archives / "partial"):
            place.mkdir(parents=True, exist_ok=True)
        (self.state / "status").touch()
        (self.state / "sources.list").write_text(
            f"deb [signed-by={KEYRING}] {MIRROR} {suite} main\n")
        self.options = []
        for option in (f"APT::Architecture={architecture}", f"APT::Architectures={architecture}",
                       f"Dir::State={self.state}", f"Dir::State::status={self.state}/status",
                       f"Dir::State::lists={self.state}/lists", f"Dir::Cache={self.state}",
                       f"Dir::Cache::archives={self.archives}",
                       f"Dir::Etc::sourcelist={self.state}/sources.list",
                       f"Dir::Etc::sourceparts={self.state}/etc",
                       f"Dir::Etc::main={self.state}/none", f"Dir::Etc::parts={self.state}/etc",
                       f"Dir::Etc::preferencesparts={self.state}/etc",
                       "APT::Install-Recommends=false", "APT::Sandbox::User=",
                       "Debug::NoLocking=true", "Acquire::Languages=none"):
            self.options += ["-o", option]

    def run(self, *arguments, tool="apt-get"):
        done = subprocess.run([tool, "-q", *self.options, *arguments], text=True,
                              capture_output=True, cwd=self.archives, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{tool} {arguments[0]} fails: {done.stderr.strip()[-300:]}")
        return done.stdout

    def update(self):
        if not any((self.state / "lists").glob("*_Packages*")):
            self.run("update")

    def fetch(self, packages, with_dependencies):
        """The .deb files, those of dependencies too."""
        self.update()
        if with_dependencies:
            self.run("install", "--download-only", "--yes", *packages)
        else:
            self.run("download", *packages)
        return sorted(self.archives.glob("*.deb"))


def unpack(archives, folder):
    """As packages of a merged /usr: the old folders at the top are links."""
    for name in ("bin", "lib", "sbin"):
        (folder / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to("usr/" + name)
    for archive in archives:
        if archive.name.startswith(UNWANTED):
            continue
        contents = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)],
                                    stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner",
                        "--exclude=./usr/share/doc", "--exclude=./usr/share/man",
                        "--exclude=./usr/share/locale", "-C", str(folder)],
                       stdin=contents.stdout, check=True)
        if contents.wait() != 0:
            raise Unavailable(f"{archive} cannot be unpacked")


def bring_inside(folder):
    """Links to absolute paths mean those of the root."""
    for path in folder.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = folder / os.readlink(path).lstrip("/")
            path.unlink()
            path.symlink_to(os.path.relpath(target, path.parent))


def wrap_compiler(folder):
    """Its programs find each other wherever they lie, but not the libraries of binutils."""
    programs = folder / "bin"
    for tool in (folder / "compiler" / "usr" / "bin").iterdir():
        name = tool.name.removesuffix("-12")
        programs.mkdir(exist_ok=True)
        (programs / name).write_text(
            "#!/bin/sh\n"
            f"root='{folder.resolve()}/compiler/usr'\n"
            "export LD_LIBRARY_PATH=$root/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"
            f'exec "$root/bin/{tool.name}" "$@"\n')
        (programs / name).chmod(0o755)


def provide_kernel(folder, name):
    """The image alone, of the package that another one of a lasting name depends on."""
    target = folder / "kernels" / name
    if target.exists():
        return
    suite, package = KERNELS[name]
    apt = Apt(folder, suite, "arm64", "kernels")
    apt.update()
    depends = apt.run("depends", package, tool="apt-cache")
    image = re.search(r"Depends: (linux-image-\S+)", depends)[1]
    (archive,) = apt.fetch([image], False)
    contents = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(archive)], check=True,
                              capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(contents)) as files:
        member = next(file for file in files if file.name.startswith("./boot/vmlinuz-"))
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(files.extractfile(member).read())
    shutil.rmtree(apt.archives)
    print(f"{image}: {target}")


def register(archive, database, sysroot):
    """As dpkg would have it, were the package installed in the sysroot."""
    def output_of(*command, **options):
        return subprocess.run(command, check=True, capture_output=True, **options).stdout
    fields = output_of("dpkg-deb", "--field", archive, text=True)
    name = re.search(r"(?m)^Package: (\S+)", fields)[1]
    with open(database / "status", "a") as status:
        status.write(f"{fields}Status: install ok installed\n\n")
    paths = output_of("tar", "-t", input=output_of("dpkg-deb", "--fsys-tarfile", archive)).decode()
    libraries = [sysroot / path for path in paths.splitlines() if re.search(r"\.so\.\d", path)]
    found = {path.parent.resolve() / path.name for path in libraries}
    info = database / "info" / name
    info.with_name(f"{info.name}.list").write_text("".join(f"{path}\n" for path in sorted(found)))
    with tempfile.TemporaryDirectory() as control:
        output_of("dpkg-deb", "--control", archive, control)
        for kind in ("symbols", "shlibs"):
            if (file := pathlib.Path(control, kind)).exists():
                shutil.copy(file, info.with_name(f"{info.name}.{kind}"))


def provide_packages(folder):
    """A database for dpkg-shlibdeps, and in FOLDER/bin a call of it with that: CPack calls it by name."""
    database = folder / "packages"
    if (database / "status").exists():
        return
    apt = Apt(folder, "bookworm", "arm64", "packages")
    archives = apt.fetch(LIBRARIES, False)
    (database / "info").mkdir(parents=True, exist_ok=True)
    sysroot = folder / "bookworm"
    for archive in archives:
        register(archive, database, sysroot)
    shutil.rmtree(apt.archives)
    wrapper = folder / "bin" / "dpkg-shlibdeps"
    wrapper.write_text(f"#!/bin/sh\nDEB_HOST_ARCH=arm64 exec {shutil.which('dpkg-shlibdeps')} "
                       f"'--admindir={database}' '-l{sysroot}/usr/lib/aarch64-linux-gnu' \"$@\"\n")
    wrapper.chmod(0o755)
    print(f"packages: {database}")


def provide(folder, group):
    where, suite, architecture, packages, with_dependencies = GROUPS[group]
    stamp = folder / f"{group}.unpacked"
    wanted = " ".join(packages) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    root = folder / where
    root.mkdir(parents=True, exist_ok=True)
    apt = Apt(folder, suite, architecture, group)
    unpack(apt.fetch(packages, with_dependencies), root)
    shutil.rmtree(apt.archives)
    bring_inside(root)
    if group == "compiler":
        wrap_compiler(folder)
    stamp.write_text(wanted)
    print(f"{group}: {root}")


def main(folder, groups):
    folder = pathlib.Path(folder).resolve()
    try:
        missing = [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]
        if missing or os.uname().machine != "x86_64":
            raise Unavailable(f"{missing or os.uname().machine}: needs Debian's tools on x86-64")
        for group in groups:
            for name in KERNELS if group == "kernels" else ():
                provide_kernel(folder, name)
            if group == "packages":
                provide_packages(folder)
            if group in GROUPS:
                provide(folder, group)
    except Unavailable as reason:
        print(f"arm64_root.py: {reason}", file=sys.stderr)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= {*GROUPS, *SEPARATE}:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:] or DEFAULT))
