package simulator_test

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

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

var (
	capitalForm = regexp.MustCompile(`[A-Z]`)
	hugeForm    = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)
	nameForm    = regexp.MustCompile(`^[a-zA-Z_]\w{0,39}$`)
	digitForm   = regexp.MustCompile(`\d`)
	momentForm  = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$`)
)

// This file reads answers by the letter of the contract, as a reference for the oracle. It shares only the list of
// tables with the simulator's own code.

// flattener holds the rows of the answers read so far.
type flattener struct {
	t      *testing.T
	drift  map[oracle.Drift]int64
	arrays map[string]map[string]bool // those with a table of their own, by the table of the record
}

func newFlattener(t *testing.T, drift map[oracle.Drift]int64) *flattener {
	t.Helper()
	r := &flattener{t: t, drift: drift, arrays: map[string]map[string]bool{}}
	for _, table := range simulator.Tables() {
		if r.arrays[table.Dataset] == nil {
			r.arrays[table.Dataset] = map[string]bool{} // The first table of a dataset has its name.
		}
		if table.Each != "" {
			r.arrays[table.Dataset][table.Each] = true
		}
	}
	return r
}

func (r *flattener) count(table, path, name, kind string, n int) {
	if !nameForm.MatchString(name) || len(digitForm.FindAllString(name, -1)) > 4 {
		name = "#"
	}
	if field := path + name; n > 0 {
		r.drift[oracle.Drift{Table: table, Field: field, Kind: kind}] += int64(n)
	}
}

// flatten makes the rows that a record adds to a table.
func (r *flattener) flatten(table, first *simulator.Table, params map[string]string, record *simulator.Node) []oracle.Row {
	r.t.Helper()
	if table.Each == "" {
		return []oracle.Row{r.row(table, params, nil, record, 0)}
	}
	rows := []oracle.Row{}
	elements := record.Member(table.Each)
	if elements == nil || elements.Kind != '[' {
		return rows
	}
	silent := newFlattener(r.t, map[oracle.Drift]int64{})
	parent := silent.row(first, params, nil, record, 0)
	for i := range elements.Elements {
		rows = append(rows, r.row(table, params, parent, &elements.Elements[i], i))
	}
	return rows
}

func (r *flattener) row(table *simulator.Table, params map[string]string, parent oracle.Row, record *simulator.Node, ordinal int) oracle.Row {
	r.t.Helper()
	row := oracle.Row{}
	extra := map[string]string{}
	bare := snake(table.Bare)
	switch {
	case record.Kind == '{':
		r.members(table, record, "", extra, row)
	case bare != "" && record.Kind == '"' && !record.Lone:
		row[bare] = record.Text
		r.count(table.Name, "", table.Bare, oracle.TypeMismatch, record.Invalid)
	default:
		extra["_value"] = record.Compact
		r.count(table.Name, "", "_value", oracle.TypeMismatch, 1+record.Invalid)
	}
	for _, col := range table.Columns {
		switch col.Source[0] {
		case '$':
			row[col.Name] = params[col.Source[1:]]
		case '^':
			row[col.Name] = parent[snake(col.Source[1:])]
		case '#':
			row[col.Name] = int64(ordinal)
		case '*':
			row[col.Name] = nil
			if len(extra) > 0 {
				row[col.Name] = objectOf(r.t, extra)
			}
		default:
			if _, set := row[col.Name]; !set {
				row[col.Name] = nil
			}
		}
	}
	return row
}

// members reads an object: the record if the path is empty, otherwise one of its nested objects.
func (r *flattener) members(table *simulator.Table, object *simulator.Node, path string, extra map[string]string, row oracle.Row) {
	hasTable := func(name string) bool { return path == "" && r.arrays[table.Name][name] }
	for i, name := range object.Names {
		v := &object.Elements[i]
		if slices.Contains(object.Names[i+1:], name) {
			r.count(table.Name, path, name, oracle.DuplicateMember, 1)
			continue
		}
		if v.Kind == 'n' {
			continue
		}
		at := slices.IndexFunc(table.Columns, func(col simulator.Column) bool { return col.Source == path+name })
		nest := slices.ContainsFunc(table.Columns, func(col simulator.Column) bool { return strings.HasPrefix(col.Source, path+name+".") })
		switch {
		case at >= 0:
			cell := cellOf(table.Columns[at].Type, v)
			if cell == nil {
				extra[name] = v.Compact
				r.count(table.Name, path, name, oracle.TypeMismatch, 1)
			}
			row[table.Columns[at].Name] = cell
		case nest && v.Kind == '{':
			inner := map[string]string{}
			r.members(table, v, path+name+".", inner, row)
			if len(inner) > 0 {
				extra[name] = objectOf(r.t, inner)
			}
			continue // Its members were counted.
		case hasTable(name) && v.Kind == '[':
			continue // Its elements are.
		default:
			extra[name] = v.Compact
			switch {
			case nest, hasTable(name):
				r.count(table.Name, path, name, oracle.TypeMismatch, 1)
			case path != "" || !slices.Contains(table.Known, name):
				r.count(table.Name, path, name, oracle.UnknownField, 1)
				r.count(table.Name, path, name, oracle.TypeMismatch, object.BadNames[i])
			}
		}
		r.count(table.Name, path, name, oracle.TypeMismatch, v.Invalid)
	}
}

// objectOf writes an object with its names sorted by their bytes.
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

// cellOf returns the value of a column of the given type; nil if the value does not fit the type.
func cellOf(columnType string, v *simulator.Node) any {
	if v.Kind == '{' || v.Kind == '[' || v.Lone {
		return nil
	}
	isText := v.Kind == '"'
	switch columnType {
	case "int32":
		return wholeCell(v.Text, 32)
	case "int64":
		return wholeCell(v.Text, 64)
	case "double":
		if n, err := strconv.ParseFloat(v.Text, 64); err == nil && simulator.IsNumber(v.Text) {
			return n
		}
		return nil
	case "boolean":
		if v.Text == "true" || v.Text == "false" {
			return v.Text == "true"
		}
		return nil
	case "date":
		at, ok := momentOf(v.Text)
		if !isText || !ok || at.Truncate(24*time.Hour) != at {
			return nil
		}
		return at.Format(time.DateOnly)
	case "timestamp":
		at, ok := momentOf(v.Text)
		if !isText || !ok {
			return nil
		}
		return at.UnixMicro()
	default:
		return v.Text
	}
}

func wholeCell(text string, bits uint) any {
	// Rat would allocate as many digits as the exponent demands.
	if !simulator.IsNumber(text) || hugeForm.MatchString(text) {
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

// momentOf reads a time in RFC 3339, with T or a blank, or a date alone. The result is in UTC, to the microsecond.
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
