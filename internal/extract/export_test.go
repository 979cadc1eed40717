package extract

// NewHTTPTransport is newHTTPTransport, for tests with a proxy.
var NewHTTPTransport = newHTTPTransport //nolint:gochecknoglobals // It is a function.
