// Package doctor checks what a run needs: the service and its credentials, every kind of write at the destination, and
// free space. Each check yields one Finding with its state, what was found and what to do about it.
//
// The checks read the school list and one page of one school, which they discard. Everything they write at a
// destination is named like a run of its own, invisible to readers, and removed at the end; what a killed doctor leaves
// behind, the next one removes.
//
// The package prints nothing; settings and exit codes belong to the command.
package doctor
