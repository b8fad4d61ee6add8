# find_package(Redline) of an installed tree: the target Redline::redline.
include(CMakePackageConfigHelpers)
set(_package lib/cmake/Redline)
configure_package_config_file("${CMAKE_SOURCE_DIR}/cmake/RedlineConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/RedlineConfig.cmake" INSTALL_DESTINATION ${_package})
# Before 1.0 each minor version may change the API.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/RedlineConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/RedlineConfig.cmake" "${CMAKE_BINARY_DIR}/RedlineConfigVersion.cmake"
  DESTINATION ${_package})
install(EXPORT RedlineTargets NAMESPACE Redline:: DESTINATION ${_package})
