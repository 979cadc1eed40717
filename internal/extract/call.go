package extract

import (
	"fmt"
	"net/url"
	"strings"
)

// cursorParam carries the cursor of the page asked for (specification, rules common to all endpoints, 3).
const cursorParam = "next-page"

// Param is one query parameter.
type Param struct {
	Name, Value string
}

// Call is one operation of the service as data. A Call and what it refers to must not change once it was passed to a Client,
// which may ask it again later to learn whether the service is well.
type Call struct {
	// Operation is the dataset's name; it stands in logs, errors and counters.
	Operation string
	// Template is the route below the base URL, such as "/organizations/v1/schools/{school_bid}/students". A trailing slash is
	// sent as it stands (specification 4.2).
	Template string
	// Path holds a value for every {name} of Template. Each is sent as one path segment, whatever it holds; an empty one is an
	// error, since the route would be another.
	Path map[string]string
	// Query is sent in this order.
	Query []Param
	// School is the bid of the school that the call is for, empty for calls that are for none. Failures are counted by it.
	School string
	// District is the bid of the district that the call is for, if it is for one rather than for a school. It only names the
	// place in errors and logs.
	District string
	// Lookup marks calls made before any school: they follow the retries alone and know nothing of a service in trouble.
	Lookup bool

	// cursor of a later page of a list, empty on the first.
	cursor string
}

// url joins the call to the base URL, which may carry a path of its own.
func (c *Call) url(base *url.URL) (*url.URL, error) {
	route, err := expand(c.Template, c.Path)
	if err != nil {
		return nil, err
	}
	u := *base
	u.RawPath = strings.TrimRight(base.EscapedPath(), "/") + route
	// RawPath is sent only if it is an encoding of Path, so both are set.
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, fmt.Errorf("join route %s to the base URL: its escapes are not valid", c.Template)
	}
	u.RawQuery = c.query()
	return &u, nil
}

// query encodes the parameters in their order, the cursor last.
func (c *Call) query() string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(escapeQuery(name))
		b.WriteByte('=')
		b.WriteString(escapeQuery(value))
	}
	for _, p := range c.Query {
		add(p.Name, p.Value)
	}
	if c.cursor != "" {
		add(cursorParam, c.cursor)
	}
	return b.String()
}

// witness is the call itself if it can be asked again at any time, nil if not: a cursor may be good for one answer only.
func (c *Call) witness() *Call {
	if c.cursor != "" {
		return nil
	}
	return c
}

// names tells whether text is a value that the call sends, and so possibly a student's identifier.
func (c *Call) names(text string) bool {
	for _, v := range c.Path {
		if v == text {
			return true
		}
	}
	for _, p := range c.Query {
		if p.Value == text {
			return true
		}
	}
	return c.cursor == text
}

// expand puts the values into the template's places. Its errors name places, never values.
func expand(template string, values map[string]string) (string, error) {
	if !strings.HasPrefix(template, "/") {
		return "", fmt.Errorf("expand route %q: it does not begin with a slash", template)
	}
	var b strings.Builder
	places := 0
	for rest := template; ; places++ {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		value, known := values[name]
		switch {
		case !closed || !known:
			return "", fmt.Errorf("expand route %s: there is no value for {%s}", template, name)
		case value == "":
			return "", fmt.Errorf("expand route %s: the value of {%s} is empty", template, name)
		}
		b.WriteString(escapeSegment(value))
		rest = tail
	}
	if places != len(values) {
		return "", fmt.Errorf("expand route %s: it has %d places for %d values", template, places, len(values))
	}
	return b.String(), nil
}

// escapeSegment encodes any text as one path segment. Dots are ordinary characters that PathEscape leaves alone, but a
// segment of only one or two of them means another folder to whatever stands between us and the service.
func escapeSegment(value string) string {
	if value == "." || value == ".." {
		return strings.ReplaceAll(value, ".", "%2E")
	}
	return url.PathEscape(value)
}

// escapeQuery encodes a blank as %20, which every server reads as a blank; a plus is not one to all of them.
func escapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
