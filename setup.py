"""All that `pyproject.toml` cannot say: a build begins without what an earlier one has left.

setuptools copies modules into the folder build/ and takes whatever is there into the wheel, such
as a module that has been removed since.
"""

import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class CleanBuild(build_py):
    """Copy the modules into an empty folder."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": CleanBuild})
