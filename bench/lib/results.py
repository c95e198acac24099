# SPDX-License-Identifier: MIT
"""Result files: complete or absent, never half written."""
import json
import os
import tempfile


def write(path, results):
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=folder, prefix=".results-", suffix=".json")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
