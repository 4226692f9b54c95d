# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# cpack runs this script before it makes packages of what it has installed. It adds the files that
# Debian wants in each package and nobody wants in an installation: copyright and changelog. It compresses
# manual pages.

set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sparsecoll

Files: *
Copyright: 2026 The sparsecoll authors
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
")
# With SOURCE_DATE_EPOCH the packages of two builds are the same.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog "sparsecoll (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")

file(GLOB manual_pages "${CPACK_TEMPORARY_DIRECTORY}/*${CPACK_PACKAGING_INSTALL_PREFIX}/share/man/man[1-8]/*.[1-8]")
if(manual_pages)
  execute_process(COMMAND gzip -9nf ${manual_pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
foreach(pair IN LISTS CPACK_SPARSECOLL_PACKAGES)
  string(REGEX MATCH "^(.*)=(.*)$" pair "${pair}")
  set(group "${CMAKE_MATCH_1}")
  set(folder "${CPACK_TEMPORARY_DIRECTORY}/${group}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${CMAKE_MATCH_2}")
  if(NOT IS_DIRECTORY "${CPACK_TEMPORARY_DIRECTORY}/${group}")
    message(FATAL_ERROR "nothing was installed for the package ${CMAKE_MATCH_2}")
  endif()
  file(WRITE "${folder}/copyright" "${copyright}")
  file(WRITE "${folder}/changelog.Debian" "${changelog}")
  execute_process(COMMAND gzip -9nf "${folder}/changelog.Debian" COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD "${folder}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                     WORLD_READ WORLD_EXECUTE)
  foreach(file IN ITEMS copyright changelog.Debian.gz)
    file(CHMOD "${folder}/${file}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endforeach()
endforeach()
