package simulator

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// refusal is the answer to a request that the specification does not allow, or that asks for something that does not
// exist.
type refusal struct {
	status  int
	message string
}

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

// match returns the operation of an escaped path below the base path, and the values of the variables in its template.
// Both are nil if there is no such operation.
func match(list []*Operation, path string) (*Operation, map[string]string) {
	segments := strings.Split(path, "/")
	for _, op := range list {
		if len(segments) != len(op.segments) {
			continue
		}
		if values, ok := fit(op.segments, segments); ok {
			return op, values
		}
	}
	return nil, nil
}

func fit(template, segments []string) (map[string]string, bool) {
	values := map[string]string{}
	for i, want := range template {
		if !strings.HasPrefix(want, "{") {
			if segments[i] != want {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil || value == "" {
			return nil, false
		}
		values[strings.Trim(want, "{}")] = value
	}
	return values, true
}

// newCall returns the call of a request, or a refusal. It checks the parameters as strictly as the specification
// allows. It accepts only parameters that the operation has, each of them only once and with a readable value that is
// not empty. No required parameter may be missing. On a follow-up page, all parameters except the cursor must be the
// same as on the first page.
func (w *World) newCall(op *Operation, path string, values map[string]string, rawQuery string) (*Call, *refusal) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query string cannot be read")
	}
	c := &Call{Op: op, path: path, query: query, School: -1, District: -1}
	for name, given := range query {
		switch {
		case !op.knows(name):
			return c, refuse(http.StatusBadRequest, "unknown parameter "+name)
		case len(given) != 1:
			return c, refuse(http.StatusBadRequest, "parameter given more than once: "+name)
		case given[0] == "":
			return c, refuse(http.StatusBadRequest, "parameter without a value: "+name)
		}
	}
	for _, name := range op.Required {
		if !query.Has(name) {
			return c, refuse(http.StatusBadRequest, "missing parameter "+name)
		}
	}
	if refused := w.readFilter(c); refused != nil {
		return c, refused
	}
	if refused := w.locate(c, values); refused != nil {
		return c, refused
	}
	if cursor := query.Get("next-page"); cursor != "" {
		from, ok := w.openCursor(c, cursor)
		if !ok {
			return c, refuse(http.StatusBadRequest, "next-page does not belong to this call")
		}
		c.From = from
	}
	return c, nil
}

// knows reports whether an operation has a parameter. Every list accepts a cursor, because any list may have pages
// (specification, "Rules common to all endpoints", 3), even if the world sends pages of that list only with quirks or
// faults.
func (op *Operation) knows(parameter string) bool {
	return slices.Contains(op.Required, parameter) || slices.Contains(op.Optional, parameter) || parameter == "next-page" && op.Single == ""
}

// readFilter reads the filter parameters, and returns a refusal if one of them is unreadable. Operations apply their
// default effective date themselves.
func (w *World) readFilter(c *Call) *refusal {
	unreadable := func(name string) *refusal { return refuse(http.StatusBadRequest, "unreadable value of "+name) }
	for name, given := range c.query {
		value := given[0]
		switch name {
		case "effective-date":
			t, err := time.Parse(time.DateOnly, value)
			if err != nil {
				return unreadable(name)
			}
			c.Filter.On, c.Filter.Dated = DayOf(t), true
		case "modified-since":
			t, err := time.Parse(time.DateOnly, value)
			if err != nil {
				t, err = time.Parse(time.RFC3339, value)
			}
			if err != nil {
				return unreadable(name)
			}
			c.Filter.Since = t.UnixMilli()
		case "include-removed":
			if value != "true" && value != "false" {
				return unreadable(name)
			}
			c.Filter.Removed = value == "true"
		case "received-before-date", "received-after-date":
			// The specification does not explain these parameters (4.7), so they are only checked.
			if _, err := time.Parse(time.DateOnly, value); err != nil {
				return unreadable(name)
			}
		case "student-bid", "educator-bid", "academic-year-bid", "state-student-id", "district-student-id":
			if c.Filter.equal == nil {
				c.Filter.equal = map[string]string{}
			}
			c.Filter.equal[name] = value
		}
	}
	return nil
}

// locate finds the school, the district or perspective, and the subject of a call. Access is denied to schools that
// only 4.3 lists, because they have no agreement with the app, and to schools that the perspective does not cover
// (specification, "Errors").
func (w *World) locate(c *Call, path map[string]string) *refusal {
	schoolBid, districtBid := path["school_bid"], path["district_bid"]
	if schoolBid == "" {
		schoolBid = c.query.Get("school-bid")
	}
	if districtBid == "" {
		districtBid = c.query.Get("perspective-bid")
	}
	if districtBid != "" {
		what, _, index, ok := w.FindBid(districtBid)
		if !ok || what != DistrictEntity || index >= len(w.districts) {
			return refuse(http.StatusNotFound, "no such district")
		}
		c.District = index
	}
	if schoolBid != "" {
		what, group, _, ok := w.FindBid(schoolBid)
		switch {
		case !ok || what != SchoolEntity || group >= len(w.schools):
			return refuse(http.StatusNotFound, "no such school")
		case group >= w.listed:
			return refuse(http.StatusForbidden, "no data sharing agreement with this school")
		}
		c.School = group
	}
	if c.Op.About != 0 {
		name := SubjectName(c.Op.About)
		bid := path[name]
		if bid == "" {
			bid = c.query.Get(strings.ReplaceAll(name, "_", "-"))
		}
		what, group, index, ok := w.FindBid(bid)
		if !ok || what != c.Op.About || !w.holds(what, group, index) {
			return refuse(http.StatusNotFound, "no such record")
		}
		c.Home, c.Subject = group, index
		if schoolBid == "" {
			c.School = group
			if what == StudentEntity {
				c.School = w.schoolOf(group, seatOf(index))
			}
		}
	}
	if c.School >= 0 && w.schools[c.School].denied {
		return refuse(http.StatusForbidden, "the data sharing agreement with this school has ended")
	}
	if c.School >= 0 && c.District >= 0 && !w.sees(c.District, c.School) {
		return refuse(http.StatusForbidden, "this perspective does not cover this school")
	}
	return nil
}

// Parameter returns the value that a call sends for a parameter. name is the name of the parameter in a path.
func (w *World) Parameter(c *Call, name string) string {
	switch name {
	case "school_bid":
		return w.SchoolBid(c.School)
	case "district_bid", "perspective_bid":
		return w.DistrictBid(c.District)
	default:
		return w.bidText(w.BidOf(c.Op.About, c.Home, c.Subject))
	}
}

// holds reports whether a school has the student, educator, class or association at a position.
func (w *World) holds(what EntityKind, school, index int) bool {
	if school >= w.listed && (what != StudentEntity || school >= w.total) {
		return false
	}
	s := &w.schools[school]
	switch what {
	case StudentEntity:
		seat := seatOf(index)
		if seat >= s.students || w.schoolOf(school, seat) >= w.listed {
			return false
		}
		st := w.student(school, seat)
		return st.index == index && st.matched
	case EducatorEntity:
		return index < s.educators
	case ClassEntity:
		return w.holdsClass(school, index)
	case EducatorAssociationEntity:
		if index >= s.educators*educatorSlots {
			return false
		}
		_, ok := w.educatorAssociation(school, index/educatorSlots, index%educatorSlots)
		return ok
	default:
		return false
	}
}

// cursor returns an opaque token for the page that begins at a position. The token is valid only if all other
// parameters are the same.
func (w *World) cursor(c *Call, from int) string {
	mac := w.cursorMAC(c, from)
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], mac)
	binary.BigEndian.PutUint64(raw[8:], uint64(from)^Mix(mac))
	// The standard alphabet has +, / and =, which clients must escape.
	return base64.StdEncoding.EncodeToString(raw[:])
}

func (w *World) openCursor(c *Call, cursor string) (int, bool) {
	text, marked := strings.CutPrefix(cursor, w.mark)
	raw, err := base64.StdEncoding.DecodeString(text)
	if !marked || err != nil || len(raw) != 16 {
		return 0, false
	}
	mac := binary.BigEndian.Uint64(raw)
	from := binary.BigEndian.Uint64(raw[8:]) ^ Mix(mac)
	if from > 1<<40 || w.cursorMAC(c, int(from)) != mac {
		return 0, false
	}
	return int(from), true
}

func (w *World) cursorMAC(c *Call, from int) uint64 {
	return Mix(hashText(w.seed, c.Op.Name, c.path, encode(c.query, "next-page")) ^ Mix(uint64(from)))
}

// encode returns the query in a fixed order, without the given parameter.
func encode(query url.Values, without string) string {
	query = maps.Clone(query)
	query.Del(without)
	return query.Encode()
}
