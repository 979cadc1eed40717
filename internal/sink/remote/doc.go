// Package remote contains the parts that cloud stores share: a draft in a scratch file, an object that is read by
// ranges, requests that are cancelled when they transfer nothing, and waits. It does not depend on the protocol of a
// store.
package remote
