// Package extract is the service's client: it asks for one operation at a time and hands out each page's whole body as bytes.
//
// It owns everything between a declared call and those bytes: escaping, the token, pacing, retries, Retry-After, cursors, size
// caps, and errors that say what failed without saying anything about a student. It knows no tables: an operation is a [Call],
// which is data, and whether a body is readable is decided by the function that the caller passes in.
//
// A request passes through layers, each a sender around the next one:
//
//	Client   attempts and waits between them (retry.go), asking the gate before each (gate.go)
//	slots    at most --concurrency requests at work, fewer while the service takes fewer; a slot is held until the body is
//	         read, and is got in order (slots.go, level.go, ailing.go)
//	bearer   apikey and Bearer; a 401 renews the token once for all requests (bearer.go, token.go, endpoint.go)
//	pacer    the shared Retry-After pause and --rate, for token requests too (pace.go, pause.go)
//	recorder counters, one log line a request and a word to the Observer, naming route templates only (record.go)
//	wire     net/http: one attempt within --request-timeout, the body read whole through --max-body (wire.go, body.go)
//
// The token layer stands inside the slot, so that a request which waited for its slot is sent with a token that is valid then,
// and a token request needs no slot of its own. The waits inside the slot are those that hold up every request alike (the
// pause, the rate, the token); the waits of one request alone (retries, the gate) are outside it.
//
// The service in trouble. Once three schools have failed with no success between, the gate lets one request at a time through,
// with growing waits, until one succeeds or --give-up-after is over; attempts made meanwhile do not count against --retries.
// A few schools that are broken for ever look the same when nothing else is left to fetch. So the gate remembers a recent call
// of each operation that succeeded, and a probe that fails asks it again for another school: if that is answered, the trouble
// is over and attempts count again.
//
// The service that is busy. What it answers 429, 503 or 504, or not in time, lowers how many requests are in flight, never below
// one; successes raise it again, more and more rarely where that was of no use. A service with a bound of its own so settles
// at it, with few requests wasted. One school that is rejected again and again while others succeed
// lowers hardly anything. The rejected call itself
// waits and comes again as after any other failure; meanwhile its slot is another's.
//
// Errors and logs never hold a URL, a query, a cursor, a body, a token or a key. School and district bids may stand in them.
package extract
