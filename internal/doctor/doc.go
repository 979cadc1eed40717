// Package doctor checks the requirements of a run: the service and its credentials, every kind of write at the
// destination, and free space. Each check yields one Finding with its state, the details, and advice.
//
// The checks read the school list and one page of one school, which they discard. Everything that they write at a
// destination is named like a run, invisible to readers, and removed at the end. The next doctor removes the leftovers
// of a killed one.
//
// The package prints nothing; settings and exit codes belong to the command.
package doctor
