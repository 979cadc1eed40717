package extract

// NewHTTPTransport is newHTTPTransport, for tests with a proxy.
var NewHTTPTransport = newHTTPTransport //nolint:gochecknoglobals // It is a function.

// Beside counts a call of another school as waiting for its answer until end is called. Until then, failures of other
// schools do not mean that everything fails.
func (c *Client) Beside() (end func()) { return c.breaker.countCall(&Call{School: "waiting"}) }
