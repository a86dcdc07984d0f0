"""Build the compiled kernels where a compiler is; without one, the package works without them."""

import sys
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("spacy_multihash", "compute")

setup(
    ext_modules=[
        Extension(
            "spacy_multihash.compute.kernels",
            [str(FOLDER / name) for name in ("kernels.pyx", "baseline.c", "avx2.c", "plain.c")],
            depends=[str(path) for path in sorted(FOLDER.glob("*.h"))],
            # Without errno, a square root is an instruction; NaN and infinity stay as they are.
            extra_compile_args=(
                [] if sys.platform == "win32" else ["-O3", "-g0", "-fno-math-errno"]
            ),
            optional=True,
        )
    ]
)
