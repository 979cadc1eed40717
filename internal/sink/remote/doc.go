// Package remote is what the stores in clouds share: a draft in a scratch file, an object that is read by ranges, requests
// that end when they transfer nothing, and waits. It does not depend on a protocol.
package remote
