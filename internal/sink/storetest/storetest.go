package storetest

import (
	"testing"
)

// Run runs the test suite. The function destination creates an empty destination for each test.
func Run(t *testing.T, destination func(t *testing.T) Destination) {
	t.Helper()
	tests := []struct {
		name string
		test func(t *testing.T, d Destination)
	}{
		{"a file is invisible until it is committed", invisible},
		{"files of every size come back whole", whole},
		{"a draft is read back", readBack},
		{"aborting leaves nothing behind", aborted},
		{"committing twice is committing once", committedTwice},
		{"a lost staged file is reported", lost},
		{"two files can be staged for a path", stagedTwice},
		{"sweeping drops the staged files of one owner", swept},
		{"a document is written under its condition", conditions},
		{"only one of many writers creates a document", firstWriter},
		{"no conditional write is lost", counter},
		{"listing is in order and by prefix", listing},
		{"unusual names are valid", oddNames},
		{"a path cannot leave the destination", badPaths},
		{"removing is idempotent", removing},
		{"files and documents are written concurrently", concurrent},
		{"checking leaves nothing behind", check},
		{"readers learn how to reach the destination", described},
		{"an exclusive lock excludes others", locks},
		{"a shared lock admits shared locks only", sharedLocks},
		{"a cancelled context stops every call", cancelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(t, destination(t))
		})
	}
}
