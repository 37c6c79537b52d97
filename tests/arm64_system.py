#!/usr/bin/env python3
"""AArch64 under a kernel: run, ctl, attach, rss, content, holders and doctor in an emulated machine, on pages of 4
and of 16 KiB.

Usage: arm64_system.py [4k] [16k] [TESTS.py...]

Boots Debian's kernels (tools/arm64_root.py) in qemu-system with the cross build in an initramfs;
tests/arm64_guest.py runs there, or those of its tests that are named. The processor has SVE, with
vectors of 128 bytes at most. Exit code 77, and the reason, where something that this needs is
missing. Emulated on x86-64 are neither the order of memory nor costs.
"""
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import arm64
import arm64_guest

SOURCE, BUILD, ROOT = arm64.SOURCE, arm64.BUILD, arm64.ROOT
SYSROOT = ROOT / "bookworm"
LIBRARIES = SYSROOT / "usr" / "lib" / "aarch64-linux-gnu"
HOSTS = ("asleep", "attached", "attached_static", "content", "frames", "holders", "in_register", "leaving",
         "list_growing", "loops", "loading", "outside", "plugin")
PAGES = {"4k": 4096, "16k": 16384}
SECONDS = 3000
APPLETS = ("cat", "chmod", "env", "id", "kill", "ls", "mount", "sh", "sleep", "true", "unshare")
PASSWD = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"


class Archive:
    """A cpio archive of the kind that kernels unpack, with the folders that its files are in."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.folders = {pathlib.PurePosixPath("/")}
        self.count = 0

    def add(self, name, mode, data=b""):
        name = pathlib.PurePosixPath(name)
        if name.parent not in self.folders:
            self.folders.add(name.parent)
            self.add(name.parent, stat.S_IFDIR | 0o755)
        self.write(str(name)[1:], mode, data)

    def write(self, name, mode, data):
        self.count += 1
        fields = (self.count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        for part in (head, data):
            self.file.write(part + b"\0" * (-len(part) % 4))

    def add_file(self, name, path, mode=0o755):
        self.add(name, stat.S_IFREG | mode, pathlib.Path(path).read_bytes())

    def add_text(self, name, text):
        self.add(name, stat.S_IFREG | 0o644, text.encode())

    def add_link(self, name, target):
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def close(self):
        self.write("TRAILER!!!", 0, b"")
        self.file.close()


def needed_libraries(files):
    """All that the loader maps for them, from the sysroot."""
    found, left = set(), list(files)
    while left:
        text = arm64.run("readelf", "-d", left.pop()).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
            library = LIBRARIES / name
            if library.exists() and library not in found:
                found.add(library)
                left.append(library)
    return found


def stripped(path, folder):
    """Without debug information, which is most of it."""
    copy = folder / str(path.relative_to(BUILD)).replace("/", "+")
    done = arm64.run(ROOT / "bin/aarch64-linux-gnu-objcopy", "--strip-debug", path, copy)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return copy


def write_initramfs(path, folder):
    archive = Archive(path)
    for name in ("bin", "sbin", "lib"):
        archive.add_link(f"/{name}", f"usr/{name}" if name != "sbin" else "usr/bin")
    archive.add_file("/init", SOURCE / "tests" / "arm64_guest.py")
    archive.add_text("/etc/passwd", PASSWD)
    archive.add_file("/usr/bin/busybox", SYSROOT / "usr/bin/busybox")
    for name in APPLETS:
        archive.add_link(f"/usr/bin/{name}", "busybox")
    python = SYSROOT / "usr" / "bin" / "python3.11"
    archive.add_file("/usr/bin/python3", python)
    files = [python]
    for source in (SYSROOT / "usr" / "lib" / "python3.11").rglob("*"):
        if source.is_file():
            archive.add_file(f"/{source.relative_to(SYSROOT)}", source)
            files += [source] if source.suffix == ".so" else []
    own = [BUILD / "bin" / "geiger"]
    own += [file for file in (BUILD / "lib" / "geiger").rglob("*") if file.is_file()]
    own += [BUILD / "hosts" / (f"lib{name}.so" if name == "plugin" else name) for name in HOSTS]
    for file in own:
        is_host = file.parent == BUILD / "hosts"  # Lines of theirs are expected.
        archive.add_file(f"/geiger/build/{file.relative_to(BUILD)}", file if is_host else stripped(file, folder))
    for file in (SOURCE / "tests").glob("*.py"):
        archive.add_file(f"/geiger/tests/{file.name}", file)
    for library in needed_libraries(files + own):
        archive.add_file(f"/{library.relative_to(SYSROOT)}", library.resolve())
    loader = "ld-linux-aarch64.so.1"
    archive.add_file(f"/usr/lib/{loader}", LIBRARIES / loader)
    archive.close()


def boot(pages, initramfs, tests):
    """Prints what the machine prints; true if all of it went well."""
    arguments = "console=ttyAMA0 quiet panic=-1 rdinit=/init"
    if tests:
        arguments += f" guest.tests={','.join(tests)}"
    command = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2",
               "-m", "2048", "-nographic", "-no-reboot", "-nic", "none",
               "-kernel", ROOT / "kernels" / pages, "-initrd", initramfs,
               "-append", arguments]
    text = ""
    with subprocess.Popen(["timeout", str(SECONDS), *map(str, command)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as machine:
        for line in machine.stdout:
            print(line.rstrip(), flush=True)
            text += line
    codes = re.findall(r"^guest: (?:.*: )?exit code (-?\d+)", text, re.MULTILINE)
    return (f"pages of {PAGES[pages]} bytes" in text and "guest: over" in text
            and codes == ["0"] * len(tests or arm64_guest.TESTS))


def prepare():
    if not shutil.which("qemu-system-aarch64"):
        return "not installed: qemu-system-aarch64"
    missing = arm64.prepare("geiger", "geiger_preload", *(f"host_{name}" for name in HOSTS))
    if missing:
        return missing
    fetched = arm64.run(sys.executable, SOURCE / "tools" / "arm64_root.py", ROOT, "kernels")
    return fetched.stdout.strip() if fetched.returncode != 0 else None


def main(words):
    reason = prepare()
    if reason:
        print(f"skipped: {reason}")
        return arm64.SKIPPED
    folder = BUILD / "system"
    folder.mkdir(exist_ok=True)
    initramfs = folder / "initramfs"
    write_initramfs(initramfs, folder)
    tests = [word for word in words if word not in PAGES]
    kinds = [word for word in words if word in PAGES] or PAGES
    failed = [pages for pages in kinds if not boot(pages, initramfs, tests)]
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    if not set(sys.argv[1:]) <= {*PAGES, *arm64_guest.TESTS}:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
