# redline_embed(TARGET FUNCTION FILE): compiles a text file into TARGET, as the C++ function
# `const char* FUNCTION()` in namespace redline::trace. Run as a script (cmake -P), it writes that source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${IN}" text)
  file(WRITE "${OUT}" "namespace redline::trace {\nconst char* ${FUNCTION}();\nconst char* ${FUNCTION}() {\n  return R\"embedded(${text})embedded\";\n}\n}\n")
  return()
endif()

function(redline_embed target function file)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${function}.cc")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DOUT=${source}
            -DFUNCTION=${function} -P "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()
