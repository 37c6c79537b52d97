#!/usr/bin/env python3
"""Makes one archive of geiger that starts on any Linux of its architecture, from an installed tree.

usage: tools/make_tarball.py BUILD ARCHIVE [--arm64 BUILD]

BUILD/bin/geiger and what `cmake --install` puts beside it are packed with the loader and the
libraries that they need, which are this machine's; bin/geiger becomes a launcher that starts them
(cmake/tarball/launcher.c). --arm64 adds the preload library of a cross build.

The same files give the same bytes: names are sorted, times are those of the sources
(SOURCE_DATE_EPOCH, else the last commit), owners are root. share/doc/geiger/geiger.spdx.json lists
what is inside, in SPDX 2.3.
"""
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYSTEM = pathlib.PurePath("lib/geiger/system")
DOCUMENTS = pathlib.PurePath("share/doc/geiger")


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True).stdout


def source_date():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or output_of("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def files_of(tree):
    return sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())


def install(build, tree):
    for component in ("geiger", "libgeiger0"):
        output_of("cmake", "--install", build, "--prefix", tree, "--component", component)
    for path in files_of(tree):
        if is_elf(path):
            output_of("strip", "--strip-unneeded", path)


def needed_by(binaries):
    """Name -> path of each library, the loader's among them, and what they need in turn."""
    found = {}
    for binary in binaries:
        for line in output_of("ldd", binary).splitlines():
            match = re.match(r"\s*(?:(\S+) => )?(/\S+) \(0x", line)
            if match:
                found[match[1] or os.path.basename(match[2])] = pathlib.Path(match[2]).resolve()
    return found


def add_system(build, tree):
    """Returns where each file of the system comes from: name in the tree -> path here."""
    program = tree / "libexec" / "geiger-program"
    program.parent.mkdir()
    (tree / "bin" / "geiger").rename(program)
    shutil.copy(build / "bin" / "geiger-launcher", tree / "bin" / "geiger")
    libraries = needed_by([program, *(tree / "lib" / "geiger").glob("*.so")])
    loader = next(name for name in libraries if name.startswith("ld-linux"))
    origins = {pathlib.PurePath("libexec/geiger"): libraries.pop(loader)}
    origins.update({SYSTEM / name: path for name, path in libraries.items() if "geiger" not in name})
    (tree / SYSTEM).mkdir()
    for name, path in origins.items():
        shutil.copy(path, tree / name)
        (tree / name).chmod(0o755)
    return origins


def add_other_names(tree):
    """What loaders elsewhere than on Debian put for $LIB: lib64, and lib on Arch."""
    library = tree / "lib" / "geiger"
    debian = next(library.glob("lib/x86_64-*"), None) or next(library.glob("lib/aarch64-*"))
    (library / "lib64").symlink_to(f"lib/{debian.name}")
    for path in sorted(debian.glob("*.so")):
        (library / "lib" / path.name).symlink_to(f"{debian.name}/{path.name}")


def add_arm64(build, tree):
    name = "lib/geiger/lib/aarch64-linux-gnu/libgeiger-preload.so"
    (tree / name).parent.mkdir()
    output_of(ROOT / "build/arm64-root/bin/aarch64-linux-gnu-strip", "--strip-unneeded", "-o",
              tree / name, build / name)


# ------------------------------------------------------------------ what is inside ---

def package_of(path):
    """The Debian package that owns a file, which may know it by its name before /usr was merged."""
    for candidate in (path, pathlib.Path(str(path).removeprefix("/usr"))):
        done = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(":")[0].split(",")[0]
    raise SystemExit(f"make_tarball: {path} belongs to no package")


def licences_of(package):
    """The short names in a copyright file that machines can read."""
    text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(errors="replace")
    return sorted(set(re.findall(r"(?m)^License: *(\S[^\n]*)", text)))


def describe_package(package):
    version, source = output_of("dpkg-query", "--show", "--showformat=${Version}\t${source:Package}",
                                package).split("\t")
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package), "name": package,
            "versionInfo": version, "supplier": "Organization: Debian", "filesAnalyzed": False,
            "downloadLocation": f"https://snapshot.debian.org/package/{source}/{version}/",
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "licenseComments": "; ".join(licences_of(package)) or "see its copyright file",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{urllib.parse.quote(version)}"}]}


def describe_file(tree, path):
    data = path.read_bytes()
    name = path.relative_to(tree).as_posix()
    return {"SPDXID": "SPDXRef-File-" + hashlib.sha1(name.encode()).hexdigest()[:16],
            "fileName": f"./{name}", "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": kind, "checksumValue": hashlib.new(kind, data).hexdigest()}
                          for kind in ("SHA1", "SHA256")]}


def verification_code(files):
    """SPDX 2.3, 7.9."""
    sums = sorted(each["checksums"][0]["checksumValue"] for each in files)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def add_list(tree, origins, version, date):
    owners = {name: package_of(path) for name, path in origins.items()}
    licences = tree / DOCUMENTS / "licences"
    compiled_in = [path.stem for path in licences.iterdir()]  # cmake/Debian.cmake
    for package in set(owners.values()):
        shutil.copy(f"/usr/share/doc/{package}/copyright", licences / f"{package}.txt")
    files = [describe_file(tree, path) for path in files_of(tree)]
    packages = [describe_package(name) for name in sorted({*owners.values(), *compiled_in})]
    ids = {package["name"]: package["SPDXID"] for package in packages}
    by_name = {each["fileName"]: each["SPDXID"] for each in files}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-geiger")]
    relations += [("SPDXRef-geiger", "CONTAINS", each["SPDXID"]) for each in files]
    relations += [(by_name[f"./{name}"], "GENERATED_FROM", ids[owner]) for name, owner in owners.items()]
    relations += [("SPDXRef-geiger", "STATIC_LINK", ids[name]) for name in compiled_in]
    name = f"geiger-{version}"
    digest = verification_code(files)
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://geiger.invalid/spdx/{name}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date)),
                         "creators": ["Tool: make_tarball.py"]},
        "packages": [{"SPDXID": "SPDXRef-geiger", "name": "geiger", "versionInfo": version,
                      "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
                      "packageVerificationCode": {"packageVerificationCodeValue": digest},
                      "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                      "copyrightText": "NOASSERTION"}, *packages],
        "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations]}
    (tree / DOCUMENTS / "geiger.spdx.json").write_text(json.dumps(document, indent=1) + "\n")


# ------------------------------------------------------------------------- archive ---

def pack(tree, archive, date):
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = date
        entry.mode = 0o755 if entry.isdir() or entry.issym() or entry.mode & 0o100 else 0o644
        return entry
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=date) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in [tree, *sorted(tree.rglob("*"))]:
            tar.add(path, str(path.relative_to(tree.parent)), recursive=False, filter=plain)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("--arm64", type=pathlib.Path)
    options = parser.parse_args()
    date = source_date()
    version = output_of(options.build / "bin" / "geiger", "--version").split()[-1]
    with tempfile.TemporaryDirectory() as place:
        tree = pathlib.Path(place) / f"geiger-{version}"
        install(options.build, tree)
        origins = add_system(options.build, tree)
        add_other_names(tree)
        if options.arm64:
            add_arm64(options.arm64, tree)
        add_list(tree, origins, version, date)
        pack(tree, options.archive, date)
    size = options.archive.stat().st_size
    missing = [what for what, is_there in (
        ("the preload library for arm64 (--arm64)", options.arm64),
        ("the templates of report pages", (options.build / "share/geiger/report.html").exists()))
        if not is_there]
    print(f"{options.archive}: {size / 2**20:.1f} MiB" + (
        f", without {' and '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    sys.exit(main())
