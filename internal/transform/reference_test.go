package transform_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// The reference reads pages slowly, with encoding/json. It shares no code with the package and is written to be easy to
// read.

// refRow is a row as text: one cell per column, "null" or a Go literal.
type refRow struct {
	cells []string
	keys  []refKey
	// order is the position in the order received.
	order    int
	ordinal  int
	modified string // in comparable form; "" if it cannot be read
	children map[string][]refRow
}

// refKey is a key column that is not a parameter.
type refKey struct {
	null bool
	text string
}

type refDecoder struct {
	t      testing.TB
	ds     *schemas.Dataset
	params transform.Params
	rows   []refRow
	drift  map[transform.Drift]int64
}

type refMember struct {
	name []byte // escapes resolved
	// replaced counts the bytes and escapes of the name that are not text.
	replaced int
	value    json.RawMessage
}

func newReference(tb testing.TB, ds *schemas.Dataset, params transform.Params) *refDecoder {
	tb.Helper()
	return &refDecoder{t: tb, ds: ds, params: params, drift: map[transform.Drift]int64{}}
}

var errRefShape = errors.New("shape")

// page reads one page, or returns an error and changes nothing.
func (r *refDecoder) page(body []byte) (transform.Page, error) {
	try := newReference(r.t, r.ds, r.params)
	page, err := try.container(body)
	if err != nil {
		return transform.Page{}, err
	}
	for _, row := range try.rows {
		row.order = len(r.rows)
		r.rows = append(r.rows, row)
	}
	for d, n := range try.drift {
		r.drift[d] += n
	}
	return page, nil
}

func (r *refDecoder) container(body []byte) (transform.Page, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		if strings.Contains(err.Error(), "exceeded max depth") {
			return transform.Page{}, errRefShape
		}
		return transform.Page{}, transform.ErrNotJSON
	}
	whole = trim(whole)
	if string(whole) == `""` {
		return transform.Page{}, transform.ErrEmptyString
	}
	if r.ds.Operation.Single {
		return r.single(whole)
	}
	switch whole[0] {
	case '[':
		if r.ds.Operation.Paged {
			return transform.Page{}, errRefShape
		}
		r.records(whole)
		return transform.Page{Records: len(r.rows)}, nil
	case '{':
		return r.wrapper(whole)
	}
	return transform.Page{}, errRefShape
}

func (r *refDecoder) single(whole json.RawMessage) (transform.Page, error) {
	if whole[0] != '{' {
		return transform.Page{}, errRefShape
	}
	outer := r.members(whole)
	present := notNull(lastOnes(outer, nil))
	if len(outer) <= 100 && len(present) == 1 && present[0].value[0] == '{' && !r.declared(string(present[0].name)) {
		lastOnes(outer, func(m refMember) {
			if bytes.Equal(m.name, present[0].name) {
				r.note(0, refName(m), transform.DuplicateMember, 1)
			}
		})
		whole = present[0].value
	}
	r.record(whole)
	return transform.Page{Records: 1}, nil
}

// declared reports whether a record's member is a column, a nested object or documented.
func (r *refDecoder) declared(name string) bool {
	for _, c := range r.ds.Tables[0].Columns {
		if c.Source == name || strings.HasPrefix(c.Source, name+".") {
			return true
		}
	}
	return slices.Contains(r.ds.Known, name)
}

func (r *refDecoder) wrapper(whole json.RawMessage) (transform.Page, error) {
	outer := r.members(whole)
	if len(outer) > 100 {
		return transform.Page{}, errRefShape
	}
	present := notNull(lastOnes(outer, nil))
	var list, pagination *refMember
	others := 0
	for i, m := range present {
		switch {
		case string(m.name) == "pagination":
			pagination = &present[i]
		case m.value[0] == '[' && list == nil:
			list = &present[i]
		default:
			others++
		}
	}
	if others > 0 {
		list = nil
	}
	for i, m := range present {
		if r.ds.Operation.Records != "" && string(m.name) == r.ds.Operation.Records && m.value[0] == '[' {
			list = &present[i]
		}
	}
	if list == nil || pagination == nil && len(present) > 1 {
		return transform.Page{}, errRefShape
	}
	lastOnes(outer, func(m refMember) {
		if bytes.Equal(m.name, list.name) || string(m.name) == "pagination" {
			r.note(0, refName(m), transform.DuplicateMember, 1)
		}
	})
	r.records(list.value)
	next, err := r.next(pagination)
	return transform.Page{Records: len(r.rows), Next: next}, err
}

func (r *refDecoder) next(pagination *refMember) (string, error) {
	paged := r.ds.Operation.Paged
	if pagination == nil {
		if paged {
			return "", errRefShape
		}
		return "", nil
	}
	if pagination.value[0] != '{' {
		return "", errRefShape
	}
	more, cursor := json.RawMessage("null"), json.RawMessage("null")
	last := lastOnes(r.members(pagination.value), func(m refMember) {
		if name := string(m.name); name == "hasNextPage" || name == "nextPage" {
			r.note(0, "pagination."+name, transform.DuplicateMember, 1)
		}
	})
	for _, m := range last {
		switch string(m.name) {
		case "hasNextPage":
			more = m.value
		case "nextPage":
			cursor = m.value
		}
	}
	next, readable := "", true
	switch cursor[0] {
	case 'n':
	case '"':
		text, replaced, _ := refText(cursor)
		next, readable = string(text), replaced == 0
	case '{', '[', 't', 'f':
		readable = false
	default:
		next = string(cursor)
	}
	word := string(more)
	if more[0] == '"' {
		text, _, _ := refText(more)
		if word = string(text); word != "true" {
			word = map[bool]string{true: "false", false: "no word"}[word == "false"]
		}
	}
	switch {
	case word == "true" && readable && next != "":
		return next, nil
	case word == "false":
		return "", nil
	case len(last) == 0 && !paged:
		return "", nil
	}
	return "", errRefShape
}

func (r *refDecoder) records(list json.RawMessage) {
	for _, element := range elements(r.t, list) {
		r.record(element)
	}
}

func (r *refDecoder) record(element json.RawMessage) {
	row := r.row(0, element, nil, 0)
	row.order = len(r.rows)
	r.rows = append(r.rows, row)
}

// row reads a record or an element of a child array.
func (r *refDecoder) row(table int, element json.RawMessage, parent *refRow, ordinal int) refRow {
	t := r.ds.Tables[table]
	row := refRow{cells: make([]string, len(t.Columns)), ordinal: ordinal, children: map[string][]refRow{}}
	for i, c := range t.Columns {
		row.cells[i] = "null"
		switch c.Source[0] {
		case '$':
			row.cells[i] = strconv.Quote(r.params[c.Source[1:]])
		case '#':
			row.cells[i] = strconv.Itoa(ordinal)
		case '^':
			for j, pc := range r.ds.Tables[0].Columns {
				if pc.Source == c.Source[1:] {
					row.cells[i] = parent.cells[j]
				}
			}
		}
	}
	extra := t.Column("_extra")
	if cell, replaced, fits := refBare(r.t, t, element); fits {
		row.cells[slices.IndexFunc(t.Columns, func(c schemas.Column) bool { return c.Source == t.Bare })] = cell
		r.note(table, t.Bare, transform.TypeMismatch, replaced)
	} else if element[0] != '{' {
		value, replaced := refCompact(r.t, element)
		row.cells[extra] = strconv.Quote(`{"_value":` + value + `}`)
		r.note(table, "_value", transform.TypeMismatch, 1+replaced)
	} else if left := r.object(table, "", element, &row); len(left) > 0 {
		row.cells[extra] = strconv.Quote(refObject(left))
	}
	for _, i := range t.KeyColumns() {
		if t.Columns[i].Source[0] != '$' {
			key := refKey{null: row.cells[i] == "null"}
			if !key.null {
				key.text, _ = strconv.Unquote(row.cells[i])
			}
			row.keys = append(row.keys, key)
		}
	}
	if table == 0 {
		for number, child := range r.ds.Tables[1:] {
			for i, e := range r.childElements(child, element) {
				row.children[child.Name] = append(row.children[child.Name], r.row(number+1, e, &row, i))
			}
		}
	}
	return row
}

func (r *refDecoder) childElements(child *schemas.Table, record json.RawMessage) []json.RawMessage {
	if record[0] != '{' {
		return nil
	}
	for _, m := range lastOnes(r.members(record), nil) {
		if string(m.name) == child.Each && m.value[0] == '[' {
			return elements(r.t, m.value)
		}
	}
	return nil
}

// object reads the members of a record, an element or a nested object and returns the leftovers.
func (r *refDecoder) object(table int, path string, object json.RawMessage, row *refRow) []refMember {
	t := r.ds.Tables[table]
	var left []refMember
	last := lastOnes(r.members(object), func(m refMember) {
		r.note(table, path+refName(m), transform.DuplicateMember, 1)
	})
	for _, m := range notNull(last) {
		source := path + string(m.name)
		column := slices.IndexFunc(t.Columns, func(c schemas.Column) bool {
			return c.Source == source && !strings.ContainsAny(c.Source[:1], "$#^*") && !strings.Contains(string(m.name), ".")
		})
		isNest := !strings.Contains(string(m.name), ".") && slices.ContainsFunc(t.Columns, func(c schemas.Column) bool {
			return strings.HasPrefix(c.Source, source+".")
		})
		isChild := table == 0 && path == "" && slices.ContainsFunc(r.ds.Tables[1:], func(c *schemas.Table) bool { return c.Each == source })
		isKnown := table == 0 && path == "" && slices.Contains(r.ds.Known, source)
		compact, replaced := refCompact(r.t, m.value)
		mismatch := true
		switch {
		case column >= 0:
			cell, bad, fits := refFit(r.t, t.Columns[column].Type, m.value)
			if fits {
				row.cells[column] = cell
				r.note(table, source, transform.TypeMismatch, bad)
				if t.Columns[column].Name == "modified_date_time" {
					n, _ := strconv.ParseInt(cell, 10, 64)
					row.modified = fmt.Sprintf("%020d", n+1<<62)
				}
				continue
			}
		case isNest && m.value[0] == '{':
			inner := r.object(table, source+".", m.value, row)
			if len(inner) > 0 {
				left = append(left, refMember{name: m.name, value: json.RawMessage(refObject(inner))})
			}
			continue
		case isChild && m.value[0] == '[':
			continue
		case isNest, isChild:
		case isKnown:
			mismatch = false
		default:
			mismatch = false
			replaced += m.replaced
			r.note(table, path+refName(m), transform.UnknownField, 1)
		}
		if mismatch {
			replaced++
		}
		r.note(table, path+refName(m), transform.TypeMismatch, replaced)
		left = append(left, refMember{name: m.name, value: json.RawMessage(compact)})
	}
	return left
}

func (r *refDecoder) note(table int, field, kind string, n int) {
	if n > 0 {
		r.drift[transform.Drift{Table: r.ds.Tables[table].Name, Field: field, Kind: kind}] += int64(n)
	}
}

// finish returns the ordered rows of every table, the numbers of records received and dropped, and the drift.
func (r *refDecoder) finish() (tables map[string][]string, received, duplicates int64, drift []transform.Drift) {
	complete := func(row refRow) bool {
		for _, c := range r.ds.Tables[0].Columns {
			if c.Key && c.Source[0] == '$' && r.params[c.Source[1:]] == "" {
				return false
			}
		}
		return !slices.ContainsFunc(row.keys, func(k refKey) bool { return k.text == "" })
	}
	var kept []refRow
	for _, row := range r.rows {
		beaten := false
		for _, other := range r.rows {
			if other.order == row.order || !complete(row) || !slices.Equal(row.keys, other.keys) {
				continue
			}
			later := other.order > row.order
			switch {
			case r.ds.WholeRecordDuplicates:
				beaten = beaten || later && slices.Equal(row.cells, other.cells)
			case other.modified != row.modified:
				beaten = beaten || other.modified > row.modified
			default:
				beaten = beaten || later
			}
		}
		if !beaten {
			kept = append(kept, row)
		}
	}
	received = int64(len(r.rows))
	duplicates = received - int64(len(kept))

	tables = map[string][]string{}
	for number, t := range r.ds.Tables {
		all := kept
		if number > 0 {
			all = nil
			for _, row := range kept {
				all = append(all, row.children[t.Name]...)
			}
		}
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(a, b refRow) int {
			for i := range a.keys {
				if number > 0 && i == len(a.keys)-1 {
					return cmp.Compare(a.ordinal, b.ordinal)
				}
				switch ak, bk := a.keys[i], b.keys[i]; {
				case ak.null != bk.null && ak.null:
					return -1
				case ak.null != bk.null:
					return 1
				case ak.text != bk.text:
					return strings.Compare(ak.text, bk.text)
				}
			}
			return 0
		})
		tables[t.Name] = []string{}
		for _, row := range all {
			tables[t.Name] = append(tables[t.Name], strings.Join(row.cells, " | "))
		}
	}

	if duplicates > 0 {
		source := ""
		for _, i := range slices.Backward(r.ds.Tables[0].KeyColumns()) {
			if s := r.ds.Tables[0].Columns[i].Source; s[0] != '$' {
				source = s
			}
		}
		r.note(0, source, transform.DuplicateRecord, int(duplicates))
	}
	for d, n := range r.drift {
		d.Count = n
		drift = append(drift, d)
	}
	slices.SortFunc(drift, func(a, b transform.Drift) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Field, b.Field), strings.Compare(a.Kind, b.Kind))
	})
	return tables, received, duplicates, drift
}

// members lists the members of an object in their order.
func (r *refDecoder) members(object json.RawMessage) []refMember {
	var all []refMember
	tokens := json.NewDecoder(bytes.NewReader(object))
	_, err := tokens.Token()
	require.NoError(r.t, err)
	for tokens.More() {
		before := tokens.InputOffset()
		_, err := tokens.Token()
		require.NoError(r.t, err)
		name := bytes.TrimLeft(object[before:tokens.InputOffset()], ", \t\r\n")
		var m refMember
		m.name, m.replaced, _ = refText(name)
		require.NoError(r.t, tokens.Decode(&m.value))
		m.value = trim(m.value)
		all = append(all, m)
	}
	return all
}

func elements(tb testing.TB, list json.RawMessage) []json.RawMessage {
	tb.Helper()
	var all []json.RawMessage
	require.NoError(tb, json.Unmarshal(list, &all))
	for i := range all {
		if all[i] == nil {
			all[i] = json.RawMessage("null")
		}
		all[i] = trim(all[i])
	}
	return all
}

// lastOnes keeps the last member of each name and calls dropped for the others.
func lastOnes(members []refMember, dropped func(refMember)) []refMember {
	var last []refMember
	for i, m := range members {
		if slices.ContainsFunc(members[i+1:], func(later refMember) bool { return bytes.Equal(later.name, m.name) }) {
			if dropped != nil {
				dropped(m)
			}
			continue
		}
		last = append(last, m)
	}
	return last
}

func notNull(members []refMember) []refMember {
	return slices.DeleteFunc(members, func(m refMember) bool { return string(m.value) == "null" })
}
