package simulator

import (
	"net/url"
	"slices"
	"time"
)

// Request is an entry of the request log. It is written before the answer is sent, so that the entry exists as soon as
// the client has the answer.
type Request struct {
	// Seq counts requests in order of arrival, from 1.
	Seq  int64
	Time time.Time
	// InFlight counts the requests, including this one, that had arrived and whose answers had not begun. The client had
	// at least that many requests in flight.
	InFlight int
	Method   string
	// Operation is a dataset's name, "token", or "" for an unknown path. Template is the path of the operation in the
	// specification.
	Operation string
	Template  string
	// Path is the escaped path as received, below the base path.
	Path  string
	Query url.Values
	// School and District are the bids of the call's school and of its district or perspective, as received. For a read
	// by id, which does not specify a school, School is the school of the record.
	School   string
	District string
	// Try is the number of this request among those with the same operation, path and query since SetFaults, counted from
	// 1. It is 0 if the request was rejected.
	Try int
	// Fault is the fault that the request met, or "" if it met none.
	Fault FaultKind
	// Status is 0 if the connection was cut without an answer.
	Status int
	// Bytes is the intended size of the body, uncompressed.
	Bytes int
}

// requestLog keeps the newest requests. The server's lock guards it.
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
