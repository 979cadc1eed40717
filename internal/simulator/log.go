package simulator

import (
	"net/url"
	"slices"
	"time"
)

// Request is an entry of the request log. It is written before the answer is sent: a client that has an answer finds its entry.
type Request struct {
	// Seq counts requests in the order of their arrival, from 1.
	Seq  int64
	Time time.Time
	// InFlight is the number of requests that had arrived when this one did, itself included, and whose answers had not begun: never
	// more than the client had in flight.
	InFlight int
	Method   string
	// Operation is a dataset's name, "token", or empty for a path that no operation has; Template is its path in the specification.
	Operation string
	Template  string
	// Path is the escaped path as it came, below the base path.
	Path  string
	Query url.Values
	// School and District are the bids of the school and of the district or perspective that the call is for, as they came; of a read
	// by id, which names no school, that of what was read.
	School   string
	District string
	// Authorized says whether key and token were right.
	Authorized bool
	// Try counts requests with the same operation, path and query since SetFaults, from 1; 0 if the request was refused.
	Try int
	// Fault is what befell the request, empty for none.
	Fault FaultKind
	// Status is the status answered; 0 if the connection was cut without one.
	Status int
	// Bytes is the size of the body that was meant to be sent, uncompressed.
	Bytes int
}

// requestLog keeps the newest requests. It is guarded by the server's lock.
type requestLog struct {
	limit   int
	entries []Request
}

func (l *requestLog) add(r *Request) {
	if len(l.entries) >= 2*l.limit {
		l.entries = slices.Delete(l.entries, 0, len(l.entries)-l.limit)
	}
	l.entries = append(l.entries, *r)
}

func (l *requestLog) list() []Request {
	newest := l.entries[max(0, len(l.entries)-l.limit):]
	sorted := slices.Clone(newest)
	slices.SortFunc(sorted, func(a, b Request) int { return int(a.Seq - b.Seq) })
	return sorted
}
