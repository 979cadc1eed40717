package simulator

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	capitalForm = regexp.MustCompile(`[A-Z]`)
	numberForm  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	hugeForm    = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)
	nameForm    = regexp.MustCompile(`^[a-zA-Z_]\w{0,39}$`)
	digitForm   = regexp.MustCompile(`\d`)
	momentForm  = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$`)
)

// The reading of answers by the letter of the contract that the oracle is held against. Of the simulator's own code it shares the
// list of tables alone.

// flattener is what came of the answers read so far.
type flattener struct {
	t      *testing.T
	drift  map[Drift]int64
	arrays map[string]map[string]bool // those with a table of their own, by the table of the record
}

func newFlattener(t *testing.T, drift map[Drift]int64) *flattener {
	t.Helper()
	r := &flattener{t: t, drift: drift, arrays: map[string]map[string]bool{}}
	for _, table := range tables() {
		if r.arrays[table.dataset] == nil {
			r.arrays[table.dataset] = map[string]bool{} // The first table of a dataset has its name.
		}
		if table.each != "" {
			r.arrays[table.dataset][table.each] = true
		}
	}
	return r
}

func (r *flattener) count(table, path, name, kind string, n int) {
	if !nameForm.MatchString(name) || len(digitForm.FindAllString(name, -1)) > 4 {
		name = "#"
	}
	if field := path + name; n > 0 {
		r.drift[Drift{Table: table, Field: field, Kind: kind}] += int64(n)
	}
}

// flatten makes the rows that a record adds to a table.
func (r *flattener) flatten(table, first *table, params map[string]string, record *node) []Row {
	r.t.Helper()
	if table.each == "" {
		return []Row{r.row(table, params, nil, record, 0)}
	}
	rows := []Row{}
	elements := record.member(table.each)
	if elements == nil || elements.kind != '[' {
		return rows
	}
	silent := newFlattener(r.t, map[Drift]int64{})
	parent := silent.row(first, params, nil, record, 0)
	for i := range elements.elements {
		rows = append(rows, r.row(table, params, parent, &elements.elements[i], i))
	}
	return rows
}

func (r *flattener) row(table *table, params map[string]string, parent Row, record *node, ordinal int) Row {
	r.t.Helper()
	row := Row{}
	extra := map[string]string{}
	bare := snake(table.bare)
	switch {
	case record.kind == '{':
		r.members(table, record, "", extra, row)
	case bare != "" && record.kind == '"' && !record.lone:
		row[bare] = record.text
		r.count(table.name, "", table.bare, TypeMismatch, record.invalid)
	default:
		extra["_value"] = record.compact
		r.count(table.name, "", "_value", TypeMismatch, 1+record.invalid)
	}
	for _, col := range table.columns {
		switch col.source[0] {
		case '$':
			row[col.name] = params[col.source[1:]]
		case '^':
			row[col.name] = parent[snake(col.source[1:])]
		case '#':
			row[col.name] = int64(ordinal)
		case '*':
			row[col.name] = nil
			if len(extra) > 0 {
				row[col.name] = objectOf(r.t, extra)
			}
		default:
			if _, set := row[col.name]; !set {
				row[col.name] = nil
			}
		}
	}
	return row
}

// members goes through an object: the record if the path is empty, or one of its nests.
func (r *flattener) members(table *table, object *node, path string, extra map[string]string, row Row) {
	hasTable := func(name string) bool { return path == "" && r.arrays[table.name][name] }
	for i, name := range object.names {
		v := &object.elements[i]
		if slices.Contains(object.names[i+1:], name) {
			r.count(table.name, path, name, DuplicateMember, 1)
			continue
		}
		if v.kind == 'n' {
			continue
		}
		at := slices.IndexFunc(table.columns, func(col column) bool { return col.source == path+name })
		nest := slices.ContainsFunc(table.columns, func(col column) bool { return strings.HasPrefix(col.source, path+name+".") })
		switch {
		case at >= 0:
			cell := cellOf(table.columns[at].kind, v)
			if cell == nil {
				extra[name] = v.compact
				r.count(table.name, path, name, TypeMismatch, 1)
			}
			row[table.columns[at].name] = cell
		case nest && v.kind == '{':
			inner := map[string]string{}
			r.members(table, v, path+name+".", inner, row)
			if len(inner) > 0 {
				extra[name] = objectOf(r.t, inner)
			}
			continue // Its members were counted.
		case hasTable(name) && v.kind == '[':
			continue // Its elements are.
		default:
			extra[name] = v.compact
			switch {
			case nest, hasTable(name):
				r.count(table.name, path, name, TypeMismatch, 1)
			case path != "" || !slices.Contains(table.known, name):
				r.count(table.name, path, name, UnknownField, 1)
				r.count(table.name, path, name, TypeMismatch, object.badNames[i])
			}
		}
		r.count(table.name, path, name, TypeMismatch, v.invalid)
	}
}

// objectOf writes an object, names sorted by their bytes.
func objectOf(t *testing.T, members map[string]string) string {
	t.Helper()
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(name))
		text := strings.TrimSuffix(b.String(), "\n")
		b.Reset()
		b.WriteString(text + ":" + members[name])
	}
	return "{" + b.String() + "}"
}

func snake(camel string) string {
	return strings.ToLower(capitalForm.ReplaceAllString(camel, "_$0"))
}

func isNumber(s string) bool {
	return numberForm.MatchString(s)
}

// cellOf returns the value of a column of a type, nil if the value does not fit it.
func cellOf(columnType string, v *node) any {
	if v.kind == '{' || v.kind == '[' || v.lone {
		return nil
	}
	isText := v.kind == '"'
	switch columnType {
	case "int32":
		return wholeCell(v.text, 32)
	case "int64":
		return wholeCell(v.text, 64)
	case "double":
		if n, err := strconv.ParseFloat(v.text, 64); err == nil && isNumber(v.text) {
			return n
		}
		return nil
	case "boolean":
		if v.text == "true" || v.text == "false" {
			return v.text == "true"
		}
		return nil
	case "date":
		at, ok := momentOf(v.text)
		if !isText || !ok || at.Truncate(24*time.Hour) != at {
			return nil
		}
		return at.Format(time.DateOnly)
	case "timestamp":
		at, ok := momentOf(v.text)
		if !isText || !ok {
			return nil
		}
		return at.UnixMicro()
	default:
		return v.text
	}
}

func wholeCell(text string, bits uint) any {
	// Rat would make a number of as many digits as the exponent says.
	if !isNumber(text) || hugeForm.MatchString(text) {
		return nil
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok || !n.IsInt() || !n.Num().IsInt64() {
		return nil
	}
	if x := n.Num().Int64(); x>>(bits-1) == 0 || x>>(bits-1) == -1 {
		return x
	}
	return nil
}

// momentOf reads RFC 3339 with T or a blank, or a date alone, in UTC, to the microsecond.
func momentOf(text string) (time.Time, bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	parts := momentForm.FindStringSubmatch(text)
	if parts == nil {
		return time.Time{}, false
	}
	zone := parts[4]
	if zone == "" {
		zone = "Z"
	}
	if len(parts[3]) > 7 && strings.Trim(parts[3][7:], "0") != "" {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, parts[1]+"T"+parts[2]+parts[3]+zone)
	return at.UTC(), err == nil
}
