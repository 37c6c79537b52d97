#!/usr/bin/env python3
"""The Debian packages, made of this build, in a bare Debian: installed, put into every program, used,
upgraded while programs start, and removed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import bare_debian
import harness

PACKAGES = ("geiger", "libgeiger0")
LIST = "/etc/ld.so.preload"
OTHERS = "# of the administrator\n/lib/x86_64-linux-gnu/libm.so.6\n"
UNIT = (harness.ROOT / "recipes/geiger.service").read_text()


def make_packages(place):
    subprocess.run(["cpack", "-G", "DEB", "--config", harness.BUILD / "CPackConfig.cmake", "-B", place,
                    "-D", "CPACK_COMPONENTS_ALL=" + ";".join(PACKAGES),
                    "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none"], check=True, capture_output=True)
    return [next(place.glob(f"{name}_*.deb")) for name in PACKAGES]


def newer(package, place):
    """The package as the next version."""
    tree = place / "tree"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    version = re.search(r"(?m)^Version: (.*)$", control.read_text())[1]
    control.write_text(control.read_text().replace(version, version + "+next"))
    subprocess.run(["dpkg-deb", "-Znone", "-b", tree, place / package.name], check=True, capture_output=True)
    shutil.rmtree(tree)


class DebianPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bare_debian.require()
        harness.require("cpack", "dpkg-deb", "dpkg-shlibdeps")
        cls.here = pathlib.Path(tempfile.mkdtemp(prefix="packages-", dir="/var/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.here, ignore_errors=True)
        made = make_packages(cls.here / "made")
        needed = set()
        for package in made:
            said = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, text=True,
                                  capture_output=True).stdout
            needed |= {re.match(r"\S+", each)[0] for each in said.strip().split(", ")} - set(PACKAGES)
        cls.root = cls.here / "root"
        kept = bare_debian.tree_with(*sorted(needed))
        subprocess.run(["cp", "-a", "--reflink=auto", kept, cls.root], check=True)
        cls.root.chmod(0o755)
        (cls.root / "next").mkdir()
        for package in made:
            shutil.copy(package, cls.root)
            newer(package, cls.root / "next")

    def inside(self, script, status=0):
        done = subprocess.run(
            ["unshare", "-m", "-p", "-f", "-R", self.root, "--mount-proc", "-w", "/root", "sh", "-euc",
             script], env={"PATH": bare_debian.SYSTEM_PATH, "DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True, text=True, timeout=bare_debian.LONGEST)
        self.assertEqual(done.returncode, status, f"{script}\n{done.stdout}{done.stderr}")
        return done

    def list_of_root(self):
        path = self.root / LIST[1:]
        return path.read_text() if path.exists() else None

    def assert_quiet(self):
        """Programs start as they did before there was geiger."""
        done = self.inside("true; perl -e 'print qq(well)'; getent passwd root >/dev/null")
        self.assertEqual((done.stdout, done.stderr), ("well", ""))

    def test_from_installing_to_removing(self):
        self.inside("apt-get install -qy --no-install-recommends /*.deb")
        self.report()
        word = self.inside("geiger preload path").stdout.strip()
        self.assertIn(f'"LD_PRELOAD={word}"', UNIT)
        self.enable(word)
        self.record_a_dormant_program()
        self.refuse_what_others_may_replace()
        self.upgrade(word)
        self.remove()

    def report(self):
        self.inside("geiger run -q -o perl.geiger -- perl -e 'my @kept = map { qq(text $_) } 1..200000'")
        if os.path.exists(harness.BUILD / "share/geiger/report.html"):
            self.inside("geiger report perl.geiger -o page.html && test -s page.html")
        self.inside("rm -r perl.geiger")

    def enable(self, word):
        dry = self.inside("geiger preload enable --dry-run").stdout
        self.assertEqual((dry, self.list_of_root()), (word + "\n", None))
        self.inside("geiger preload enable")
        self.assertEqual(self.list_of_root(), word + "\n")
        self.assert_quiet()
        self.inside("geiger preload disable")
        self.assertIsNone(self.list_of_root())
        # What is there already stays, with its owner and mode.
        (self.root / LIST[1:]).write_text(OTHERS + "/opt/geiger/$LIB/libgeiger-preload.so\n")
        self.inside(f"chown root:daemon {LIST}; chmod 640 {LIST}; umask 0; geiger preload enable")
        for _ in range(2):
            self.assertEqual(self.list_of_root(), f"{word}\n{OTHERS}")
            self.assertIn("nothing to do", self.inside("geiger preload enable").stderr)
        self.assertEqual(self.inside(f"stat -c %U:%G:%a {LIST}").stdout, "root:daemon:640\n")
        self.inside(f"chmod 644 {LIST}")

    def record_a_dormant_program(self):
        done = self.inside(
            "perl -e 'while (1) { my @kept = map { qq(text $_) } 1..2000 }' & perl=$!\n"
            "sleep 0.3; geiger ctl $perl start --wait 60s -d /root; geiger ctl $perl stop --wait 60s\n"
            "kill $perl; wait $perl || true\n"
            "geiger summary /root/*.geiger; rm /root/*.geiger")
        self.assertIn("perl", done.stdout)

    def refuse_what_others_may_replace(self):
        """Nothing changes where the library cannot be loaded, or is not safe."""
        before, library = self.list_of_root(), f"/usr/lib/geiger/lib/{harness.TRIPLET}/libgeiger-preload.so"
        for spoil, mend, reason in (
                ("chmod 777 /usr/lib/geiger", "chmod 755 /usr/lib/geiger", "other users than root can write"),
                (f"mv {library} /kept; : > {library}", f"mv /kept {library}", "file too short")):
            for action in ("true", f"rm {LIST}"):
                said = self.inside(f"{action}; {spoil}; geiger preload enable || echo refused; {mend}")
                self.assertIn("refused", said.stdout)
                self.assertIn(reason, said.stderr)
                self.assertEqual(self.list_of_root(), before if action == "true" else None)
                (self.root / LIST[1:]).write_text(before)
        self.inside(f"geiger preload disable -n; mv {LIST} /kept; ln -s /kept {LIST}; "
                    f"! geiger preload disable; rm {LIST}; mv /kept {LIST}")
        self.assertIn("only root", self.inside("setpriv --reuid 65534 geiger preload disable || true").stderr)
        self.assertEqual(self.list_of_root(), before)

    def upgrade(self, word):
        done = self.inside(
            "while true; do /bin/true; done 2>/root/said & loop=$!\n"
            "dpkg -i /next/*.deb >/dev/null; kill $loop; cat /root/said >&2; rm /root/said\n"
            "dpkg-query -W -f '${Version}' geiger")
        self.assertTrue(done.stdout.endswith("+next"))
        self.assertEqual((done.stderr, self.list_of_root()), ("", f"{word}\n{OTHERS}"))
        self.assert_quiet()

    def remove(self):
        self.inside("apt-get purge -qy geiger libgeiger0 >/dev/null")
        self.assertEqual(self.list_of_root(), OTHERS)
        self.assert_quiet()
        left = self.inside("find /usr /etc -path '*geiger*'").stdout
        self.assertEqual(left, "")


if __name__ == "__main__":
    unittest.main()
