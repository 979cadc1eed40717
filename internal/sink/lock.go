package sink

import (
	"fmt"
	"time"
)

// LockMode determines whether other holders can have the lock at the same time.
type LockMode uint8

const (
	// Shared allows other holders in the same mode.
	Shared LockMode = iota
	// Exclusive does not allow other holders.
	Exclusive
)

// LockHolder is a process that holds a lock.
type LockHolder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Command string    `json:"command,omitempty"`
}

// String describes the process for errors and logs.
func (h LockHolder) String() string {
	text := fmt.Sprintf("process %d on host %s (", h.PID, h.Host)
	if h.Command != "" {
		text += "growth-export " + h.Command + ", "
	}
	return text + "since " + h.Since.UTC().Format("2006-01-02 15:04:05 UTC") + ")"
}

// LockedError reports that other processes hold a lock. It wraps ErrLocked.
type LockedError struct {
	// Holders are the processes listed in the lock's file, the latest first, except for processes on this host that have
	// ended.
	Holders []LockHolder
	// Waited is how long Lock waited, or zero if its patience was zero.
	Waited time.Duration
}

// Error returns a message that names the latest holder. If Lock waited, the message also says what to do.
func (e *LockedError) Error() string {
	text := "held by another process"
	if len(e.Holders) > 0 {
		text = "held by " + e.Holders[0].String()
	}
	if more := len(e.Holders) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if e.Waited > 0 {
		text += fmt.Sprintf(", gave up after %s: wait for that process or stop it, then run the command again", e.Waited.Round(time.Second))
	}
	return text
}

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }
