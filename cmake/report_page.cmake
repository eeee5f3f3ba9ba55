# The page of reports as a C++ source: cmake -DFOLDER=src/profile/report -DOUTPUT=report_page.cc -P report_page.cmake
# Style and scripts are put into page.html. Scripts are modules, for the tools that check them; in the page they are one script,
# so imports and the word "export" are left out, and a module comes behind those that it uses.
set(modules format data sharing view colours memory_map waterline elements table details moment headline tables gestures search page main)

set(script "'use strict';\n(() => {\n")
foreach(module IN LISTS modules)
  file(READ ${FOLDER}/${module}.js text)
  string(REGEX REPLACE "(^|\n)import [^\n]*" "" text "${text}")
  string(REGEX REPLACE "\nexport " "\n" text "${text}")
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")
file(READ ${FOLDER}/page.css style)
file(READ ${FOLDER}/page.html page)
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" data)
string(SUBSTRING "${page}" 0 ${data} before)
math(EXPR data "${data} + 6")
string(SUBSTRING "${page}" ${data} -1 after)
file(WRITE ${OUTPUT} "#include \"profile/report_page.h\"

namespace plimsoll::profile {

const std::string_view kReportPageBeforeData = R\"PLIMSOLL_PAGE(${before})PLIMSOLL_PAGE\";
const std::string_view kReportPageAfterData = R\"PLIMSOLL_PAGE(${after})PLIMSOLL_PAGE\";

}  // namespace plimsoll::profile
")
