package extract

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// cursorParam is the query parameter with the cursor of the requested page (specification, rules common to all
// endpoints, 3).
const cursorParam = "next-page"

// Param is one query parameter.
type Param struct {
	Name, Value string
}

// Call describes one call of an operation of the service. A Call and everything to which it refers must not change
// after it has been passed to a Client, because the Client may send it again later as a canary.
type Call struct {
	// Operation is the name of the dataset. It is used in logs, errors and counters.
	Operation string
	// Template is the route below the base URL, such as "/organizations/v1/schools/{school_bid}/students". A trailing
	// slash is kept (specification 4.2).
	Template string
	// Path contains a value for every {name} in Template. Each value is sent as one path segment. An empty value is an
	// error, because it would change the route.
	Path     map[string]string
	Query    []Param // sent in this order
	School   string  // bid of the school that the call is for, if any; failures are counted by school
	District string  // bid of the district that the call is for, if any; only used in errors and logs
	// Lookup is true for a call that is made before the calls of schools. The circuit breaker does not hold it back.
	// GiveUpAfter applies to it and, except in an outage, so does Retries.
	Lookup bool

	cursor string // the cursor of a later page of a list; empty on the first page
}

// url returns the URL of the call below the base URL, which may have a path of its own.
func (c *Call) url(base *url.URL) (*url.URL, error) {
	route, err := expand(c.Template, c.Path)
	if err != nil {
		return nil, err
	}
	u := *base
	u.RawPath = strings.TrimRight(base.EscapedPath(), "/") + route
	// RawPath is sent only if it is an encoding of Path, so both are set.
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, fmt.Errorf("join route %s to the base URL: invalid escape", c.Template)
	}
	u.RawQuery = c.query()
	return &u, nil
}

// query returns the encoded query of the call: the parameters in order, with the cursor last.
func (c *Call) query() string {
	params := c.Query
	if c.cursor != "" {
		params = append(slices.Clip(params), Param{cursorParam, c.cursor})
	}
	encoded := make([]string, len(params))
	for i, p := range params {
		encoded[i] = escapeQuery(p.Name) + "=" + escapeQuery(p.Value)
	}
	return strings.Join(encoded, "&")
}

// expand returns a template with its placeholders replaced by the escaped values. Its errors contain names of
// placeholders but never values.
func expand(template string, values map[string]string) (string, error) {
	if !strings.HasPrefix(template, "/") {
		return "", fmt.Errorf("expand route %q: must begin with a slash", template)
	}
	route := template
	for name, value := range values {
		placeholder := "{" + name + "}"
		switch {
		case value == "":
			return "", fmt.Errorf("expand route %s: the value of %s is empty", template, placeholder)
		case !strings.Contains(template, placeholder):
			return "", fmt.Errorf("expand route %s: there is no placeholder %s", template, placeholder)
		}
		route = strings.ReplaceAll(route, placeholder, escapeSegment(value)) // escaping also replaces braces
	}
	if strings.ContainsAny(route, "{}") {
		return "", fmt.Errorf("expand route %s: a placeholder has no value", template)
	}
	return route, nil
}

// escapeSegment encodes a text as one path segment. Unlike url.PathEscape, it also encodes a segment of only one or two
// dots, because proxies and servers would resolve it.
func escapeSegment(value string) string {
	if value == "." || value == ".." {
		return strings.ReplaceAll(value, ".", "%2E")
	}
	return url.PathEscape(value)
}

// escapeQuery encodes a text for use in a query. A space becomes %20, because not every server decodes a plus sign as a
// space.
func escapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
