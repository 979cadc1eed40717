// Package doctor checks the requirements of a run: the service and its credentials, every kind of write at the
// destination, and free space. Each Finding has a state, a text and, where it helps, advice.
//
// The checks read the school list and one page of one school, which they discard. All files that they write at a
// destination are named like the files of a run, invisible to readers, and removed at the end. If doctor is killed, the
// next doctor command removes the leftovers.
//
// The package does not print anything. Settings and exit codes belong to the command.
package doctor
