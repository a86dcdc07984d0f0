"""Build the compiled kernels where a compiler is; without one, the package works without them."""

import os
import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup

FOLDER = Path("spacy_multihash", "compute")
# Flags of the environment come last, so that a build for sanitizers can ask for less than -O3.
# Without errno, a square root is an instruction; NaN and infinity stay as they are.
FLAGS = (
    ["/std:c11", "/O2"]
    if sys.platform == "win32"
    else ["-O3", "-g0", "-fno-math-errno", *os.environ.get("CFLAGS", "").split()]
)

setup(
    ext_modules=[
        Extension(
            "spacy_multihash.compute.kernels",
            [
                str(FOLDER / name)
                for name in ("kernels.pyx", "baseline.c", "avx2.c", "avx512.c", "plain.c")
            ],
            depends=[str(path) for path in sorted(FOLDER.glob("*.h"))],
            include_dirs=[numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            extra_compile_args=FLAGS,
            optional=True,
        )
    ]
)
