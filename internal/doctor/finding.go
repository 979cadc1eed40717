package doctor

import (
	"fmt"

	"example.org/growthexport/internal/wording"
)

// State is the outcome of a check.
type State string

// The states of a check.
const (
	OK   State = "ok"
	Warn State = "warn" // a run would work
	Fail State = "fail" // a run would fail
	Skip State = "skip" // not checked, usually because a check that it depends on failed
)

// The names of the checks, in their order.
const (
	BaseURL     = "base URL"
	TLS         = "TLS"
	Clock       = "clock"
	Credentials = "credentials"
	Token       = "token"
	Schools     = "school list"
	Results     = "test results"
	Agreements  = "agreements" // present only if some schools are denied

	Network           = "network" // present only if data is sent unencrypted to the destination
	DestinationAccess = "destination"
	List              = "list"
	Stage             = "stage and drop"
	Commit            = "commit"
	Encryption        = "encryption" // present only if uploads request it
	Conditions        = "conditional write"
	Lock              = "lock" // present only if the store has locks
	Delete            = "delete"
	Snapshot          = "snapshot"
	PrivacyKey        = "privacy key"      // present only if the profile needs it or there is a problem with it
	Purges            = "purges"           // present only if there is a problem
	Suppression       = "suppression list" // present only if it lists students or should list some
	FreeSpace         = "free space"       // present only if the destination is on disk
	Scratch           = "scratch"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"outcome"`
	Text   string `json:"finding"`
	Advice string `json:"advice,omitempty"`

	// Err is the reason why the check failed, or nil. A run would end with the same error.
	Err error `json:"-"`
}

// findings collects findings in the order of the checks.
type findings []Finding

func (f *findings) ok(check, format string, args ...any) {
	*f = append(*f, Finding{Check: check, State: OK, Text: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(check, text, advice string) {
	*f = append(*f, Finding{Check: check, State: Warn, Text: text, Advice: advice})
}

// fail adds a failed check. The advice is empty if the error contains it.
func (f *findings) fail(check string, err error, advice string) {
	*f = append(*f, Finding{Check: check, State: Fail, Text: wording.OneLine(err), Advice: advice, Err: err})
}

func (f *findings) skip(reason string, checks ...string) {
	for _, check := range checks {
		*f = append(*f, Finding{Check: check, State: Skip, Text: reason})
	}
}
