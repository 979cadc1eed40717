package extract

import (
	"maps"
	"sync"
)

// Tally is the cost of one call.
type Tally struct {
	Requests int64 // sent for the call, including repeats with a new token and canaries
	Retries  int64 // attempts after the first, over all pages
	Pages    int64 // complete pages accepted
}

// Stats are the totals of a client. Requests does not include token requests. It is the sum of the requests of all
// tallies, and also the sum of the counts in ByStatus.
type Stats struct {
	Requests       int64
	Retries        int64
	TokenRequests  int64            // sent to the token endpoint
	TokenRefreshes int64            // tokens after the first
	ByStatus       map[string]int64 // by status code, "timeout", "network", "unreadable" (an unusable 200) or "cancelled"
	InFlight       int64            // requests in flight now, including token requests
	Limit          int64            // limit of concurrent reads: --concurrency, or less while the service throttles
}

// counters holds the totals of a client and may be used concurrently.
type counters struct {
	mu     sync.Mutex
	totals Stats
}

// update changes the totals with the lock held.
func (c *counters) update(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.totals)
}

func (c *counters) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	totals := c.totals
	totals.ByStatus = maps.Clone(totals.ByStatus)
	return totals
}
