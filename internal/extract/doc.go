// Package extract is the client of the service. It sends a [Call] and passes the body of each page to the caller as
// bytes. It owns escaping, the token, pacing, retries, Retry-After, cursors, size limits and errors. It does not depend
// on the tables, because a Call describes the request, and the caller's accept function decides whether a body is
// usable.
//
// A request passes through layers, each a roundTripper around the next:
//
//	Client           attempts and the delays between them                        retry.go, backoff.go
//	  breaker        circuit breaker: pauses all schools while the service fails breaker.go
//	limiter          concurrent requests, until accept returns; fewer while      limiter.go, aimd.go
//	                 the service throttles
//	authenticator    API key and token; one new token for all requests on a 401  auth.go, token.go, token_endpoint.go
//	pacer            --rate and Retry-After, for token requests too              pacer.go
//	recorder         counters, a log line per request, the Observer              recorder.go
//	transport        net/http, --request-timeout, --max-body                     transport.go
//
// Delays that affect all requests alike (rate, Retry-After, token) are inside the limiter. The token is chosen after
// the wait for the limiter, so it has rarely expired when it is sent. Delays of a single request (retries, breaker) are
// outside the limiter, so the request does not occupy a slot in the limiter while it waits.
//
// Errors and logs do not contain URLs, queries, cursors, bodies, tokens or keys. They contain only route templates, the
// host of the token endpoint, and the bids of schools and districts.
package extract
