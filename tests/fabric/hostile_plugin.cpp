// What another user leaves where a plug-in might be looked for: it says that it was loaded.
#include <unistd.h>

namespace {

__attribute__((constructor)) void loaded() {
  constexpr char kWords[] = "a stranger's code runs here\n";
  (void)!write(STDOUT_FILENO, kWords, sizeof kWords - 1);
}

}  // namespace
