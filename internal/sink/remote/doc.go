// Package remote contains the code that the cloud stores share: drafts in scratch files, objects that are read in
// ranges, a client that cancels stalled requests, and waits between attempts. It does not depend on the protocol of a
// store.
package remote
