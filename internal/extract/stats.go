package extract

import (
	"maps"
	"sync"
)

// Tally is the cost of one call.
type Tally struct {
	Requests int64 // requests sent for the call, including canaries and requests sent again with a new token
	Retries  int64 // attempts after the first, over all pages
	Pages    int64 // pages that were complete and accepted
}

// Stats are the totals of a client. Requests is the sum of the requests of all tallies, and also the sum of the counts
// in ByStatus. It does not include token requests.
type Stats struct {
	Requests       int64
	Retries        int64
	TokenRequests  int64            // sent to the token endpoint
	TokenRefreshes int64            // new tokens after the first
	ByStatus       map[string]int64 // by status code, "timeout", "network", "unreadable" (an unusable 200) or "cancelled"
	InFlight       int64            // current number of requests in flight, including token requests
	Limit          int64            // limit of concurrent reads: --concurrency, or less while the service throttles
}

// counters contains the totals of a client. It is safe for concurrent use.
type counters struct {
	mu     sync.Mutex
	totals Stats
}

// update calls change with the totals while it holds the lock.
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
