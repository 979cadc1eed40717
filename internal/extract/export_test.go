package extract

// NewHTTPTransport is newHTTPTransport, for tests with a proxy.
var NewHTTPTransport = newHTTPTransport //nolint:gochecknoglobals // It is a function.

// Beside counts a call of another school that waits for its answer until end is called. While it does, failures of others
// do not mean that everything fails.
func (c *Client) Beside() (end func()) { return c.breaker.countCall(&Call{School: "waiting"}) }
