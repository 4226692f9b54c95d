# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The recipe for Spack 1.0 or later. docs/packages.md has the commands."""

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Sparsecoll(CMakePackage, CudaPackage):
    """Sparse collectives for networks that are too slow for dense ones."""

    # The repository in which this file is. In a copy of the file, name it.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    variant("shared", default=True, description="Programs link the shared library, else the static one")
    variant("mpi", default=True, description="Communicators over MPI")
    variant("ucx", default=True, description="Communicators over UCX")
    variant("nccl", default=False, when="+cuda", description="Communicators over NCCL")
    variant("hwloc", default=True, description="Place threads and memory by what hwloc finds")
    variant("fortran", default=False, description="The Fortran module")
    variant("python", default=False, when="+shared", description="The Python module")
    variant("tools", default=True, description="sparsecoll-info")
    variant("perf", default=False, description="The measuring programs and sparsecoll-tune")
    variant("docs", default=False, description="Manual pages and the reference as HTML")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.24:", type="build")
    depends_on("pkgconfig", type="build", when="+hwloc")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("cli11", type="build", when="+perf")
    depends_on("doxygen", type="build", when="+docs")
    depends_on("python@3.9:", type="build", when="+docs")
    depends_on("mpi", when="+mpi")
    # UCX is loaded at run time. Spack's compiler writes its folder into the library's search path.
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.28:", when="+nccl")

    extends("python", when="+python")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-numpy", type="run", when="+python")
    depends_on("py-mpi4py", type="run", when="+python+mpi")

    # The code is C++20.
    conflicts("%gcc@:11", msg="sparsecoll needs g++ 12")
    conflicts("%clang@:13", msg="sparsecoll needs clang 14")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SPARSECOLL_MPI", "mpi"),
            self.define_from_variant("SPARSECOLL_UCX", "ucx"),
            self.define_from_variant("SPARSECOLL_NCCL", "nccl"),
            self.define_from_variant("SPARSECOLL_CUDA", "cuda"),
            self.define_from_variant("SPARSECOLL_HWLOC", "hwloc"),
            self.define_from_variant("SPARSECOLL_FORTRAN", "fortran"),
            self.define_from_variant("SPARSECOLL_BUILD_TOOLS", "tools"),
            self.define_from_variant("SPARSECOLL_BUILD_PERF", "perf"),
            self.define_from_variant("SPARSECOLL_DOCS", "docs"),
            self.define("SPARSECOLL_BUILD_TESTS", False),
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = self.spec.variants["cuda_arch"].value
            if "none" not in architectures:  # else those of cmake/SparsecollCuda.cmake
                args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(architectures)))
        return args

    @run_after("install", when="+python")
    def install_python(self):
        """Installs the module without a library of its own: it loads that of the prefix."""
        install_tree(join_path("src", "python", "sparsecoll"), join_path(python_platlib, "sparsecoll"))

    def setup_run_environment(self, env):
        if self.spec.satisfies("+python"):
            env.set("SPARSECOLL_LIBRARY", join_path(self.prefix.lib, "libsparsecoll.so"))
