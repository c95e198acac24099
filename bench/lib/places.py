# SPDX-License-Identifier: MIT
"""Where things are: in a build tree of these sources, or installed beside the program `cairn`."""
import glob
import os
import time

LAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Of the source tree, or the folder of an installed lab.
ROOT = os.path.dirname(LAB)
INSTALLED = not os.path.exists(os.path.join(ROOT, "CMakeLists.txt"))


def default_build():
    """What `cairn` says when it starts a script; otherwise the build that is shipped."""
    return os.environ.get("CAIRN_BUILD") or os.path.join(ROOT, "build", "release")


def programs(build):
    """The folder of the workloads."""
    installed = os.path.join(build, "libexec", "cairn", "bench")
    return installed if os.path.isdir(installed) else os.path.join(build, "bin", "bench")


def program(build, name):
    return os.path.join(programs(build), name)


def library(build, name):
    """A library of Cairn's own, or None. Its folder is lib, lib64 or one for the kind of machine."""
    for folder in ("lib", "lib64", os.path.join("lib", "*-linux-*")):
        for path in glob.glob(os.path.join(glob.escape(build), folder, name)):
            return os.path.abspath(path)
    return None


def results_folder():
    """For results that nobody gave a name."""
    if not INSTALLED:
        return os.path.join(LAB, "results", "local")
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "cairn", "bench")


def unnamed_results(started):
    """The file of results that nobody gave a name, in a folder that is made. Another run may have started in the same second."""
    os.makedirs(results_folder(), exist_ok=True)
    name = "%s-%d.json" % (time.strftime("%Y%m%d-%H%M%S", time.localtime(started)), os.getpid())
    return os.path.join(results_folder(), name)
