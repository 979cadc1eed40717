package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/schemas"
)

// Plan is a dataset's declaration, compiled into the form that a Decoder uses. It may be shared once Restrict and
// Suppress, if needed, have been called.
type Plan struct {
	dataset *schemas.Dataset
	profile schemas.Profile
	key     *privacy.Key // nil if identifiers stay as received
	// tables are in the dataset's order. The first table holds the records.
	tables  []*tablePlan
	objects int // number of objectPlans
	// keys are the key columns of the first table, in sort order. Parameters of the call are left out: they are the same
	// for all records of a list.
	keys []int
	// keySource is the field under which drift counts duplicate records.
	keySource string
	// modified is the position of the column modified_date_time, or -1 if there is no such column.
	modified int
	// cohort holds the students whose rows are kept, or is nil if the rows of all students are kept. suppressed holds the
	// students whose rows are dropped.
	cohort     *Cohort
	suppressed *privacy.Suppressed
	// roster is the child table in which a record must have rows to be kept, or 0 if there is no such table.
	roster int
}

// Params are the parameters of a list's calls, by the names in the $ sources of columns: school_bid, perspective_bid,
// district_bid and so on.
type Params map[string]string

// tablePlan is the plan of one table's rows.
type tablePlan struct {
	table *schemas.Table
	index int
	// root is the plan of the record, or of an element of the parent's array.
	root *objectPlan
	// filled has the bits of those members of root and the objects below it that are columns. columnOf holds the column
	// for each bit.
	filled   uint64
	columnOf [maxMembers]uint8
	// slots are the columns that are filled row by row. texts are the text columns among them.
	slots   []int
	texts   []int
	extra   int
	params  []paramColumn
	parents []parentColumn
	ordinal int // the column of the position, or -1
	width   int // bytes of a row without its texts
	// bare is the member that receives the elements of an array that are texts instead of objects. It is nil if the array
	// must not hold texts.
	bare *member
	// protected are the columns whose values the profile changes once the rows are complete.
	protected []protectedColumn
	// The fields below are only set if the plan's decoders drop rows. students are the columns that hold a student's bid.
	// plain is true if texts must not be coded, because a dropped row's text would stay among the texts of a coded column
	// and reach scratch files. searched are the columns that may mention a suppressed student. dropsExtra is true if
	// _extra is always null.
	students   []int
	plain      bool
	searched   []int
	dropsExtra bool
}

type paramColumn struct {
	column int
	name   string
	kind   string // the kind of its pseudonym; empty if it is written unchanged
}

type parentColumn struct {
	column, from int
}

// maxMembers is the maximum number of members of one table, because each has a bit in a uint64.
const maxMembers = 64

// kind is the treatment of a member's value in the decoder.
type kind uint8

const (
	unknown    kind = iota // no column: the value is a leftover and counts as drift
	documented             // no column, but documented: the value is a leftover
	withheld               // a column that is null under the profile
	textColumn
	int32Column
	int64Column
	doubleColumn
	booleanColumn
	dateColumn
	timestampColumn
	nestedObject // its members are columns of the same row
	childArray   // its elements are rows of another table
)

// columnKinds holds the kind of a column of each type that a member can have.
var columnKinds = [...]kind{
	schemas.String: textColumn, schemas.Int32: int32Column, schemas.Int64: int64Column, schemas.Double: doubleColumn,
	schemas.Boolean: booleanColumn, schemas.Date: dateColumn, schemas.Timestamp: timestampColumn, schemas.JSON: unknown,
}

// columnWidths holds the number of bytes per value of each type. For a text, only its position is counted.
var columnWidths = [...]int{
	schemas.String: 4, schemas.Int32: 4, schemas.Int64: 8, schemas.Double: 8,
	schemas.Boolean: 1, schemas.Date: 4, schemas.Timestamp: 8, schemas.JSON: 4,
}

func (k kind) isColumn() bool { return k >= textColumn && k <= timestampColumn }

// objectPlan is the plan of one object: a record, an object nested in it, or an element of a child array.
type objectPlan struct {
	id int
	// depth is the number of brackets between the record's members and the members of this object.
	depth int
	// path precedes a member's name in its JSON path.
	path  string
	table *tablePlan
	// members[0] represents every member that is not declared.
	members []member
	index   nameIndex
}

// member is one declared member of an object.
type member struct {
	name string
	// pattern is the name with its closing quote and colon, width bytes long, in the form that usually follows the opening
	// quote.
	pattern pattern
	width   int
	number  uint8 // position in the object's members
	kind    kind
	column  int
	bit     uint64
	object  *objectPlan // the plan of a nestedObject
	child   *tablePlan  // the table of a childArray
}

// Compile returns the plan of a dataset without a privacy profile. An error means that the declaration has a mistake.
func Compile(ds *schemas.Dataset) (*Plan, error) { return CompileFor(ds, schemas.Full, nil) }

// CompileFor returns the plan of a dataset under a profile. If key is nil, identifiers stay as received. Under a
// profile that needs a key, such rows only supply ids for other calls and must not be written.
func CompileFor(ds *schemas.Dataset, profile schemas.Profile, key *privacy.Key) (*Plan, error) {
	p := &Plan{dataset: ds, profile: profile, key: key, modified: -1}
	if len(ds.Tables) == 0 {
		return nil, fmt.Errorf("compile dataset %s: no table", ds.Name)
	}
	for i, t := range ds.Tables {
		tp := &tablePlan{table: t, index: i, extra: -1, ordinal: -1}
		tp.root = p.newObject(tp, "", min(i, 1)*2)
		p.tables = append(p.tables, tp)
	}
	for i, tp := range p.tables {
		if err := p.compileTable(tp); err != nil {
			return nil, fmt.Errorf("compile table %s: %w", ds.Tables[i].Name, err)
		}
	}
	for _, tp := range p.tables {
		tp.root.buildIndex()
	}
	first := p.tables[0].table
	for _, k := range first.KeyColumns() {
		if source := first.Columns[k].Source; source[0] != schemas.SourceParam {
			if first.Columns[k].Type != schemas.String {
				return nil, fmt.Errorf("compile table %s: key column %s is not text", first.Name, first.Columns[k].Name)
			}
			if p.keySource == "" {
				p.keySource = source
			}
			p.keys = append(p.keys, k)
		}
	}
	if m := first.Column("modified_date_time"); m >= 0 && first.Columns[m].Type == schemas.Timestamp {
		p.modified = m
	}
	if ds.WholeRecordDuplicates && len(ds.Tables) > 1 {
		return nil, fmt.Errorf("compile dataset %s: whole records are compared without their child rows", ds.Name)
	}
	return p, nil
}

func (p *Plan) newObject(tp *tablePlan, path string, depth int) *objectPlan {
	obj := &objectPlan{id: p.objects, depth: depth, path: path, table: tp, members: make([]member, 1)}
	p.objects++
	return obj
}

func (p *Plan) compileTable(tp *tablePlan) error {
	bits := 0
	for i := range tp.table.Columns {
		if err := p.compileColumn(tp, i, &bits); err != nil {
			return fmt.Errorf("column %s: %w", tp.table.Columns[i].Name, err)
		}
	}
	if tp.extra < 0 {
		return fmt.Errorf("no column of source %s: unknown members would be lost", schemas.SourceExtra)
	}
	if tp.index > 0 {
		return p.compileChild(tp)
	}
	for _, ct := range p.tables[1:] {
		m, err := tp.root.add(ct.table.Each, childArray, &bits)
		if err != nil {
			return err
		}
		m.child = ct
	}
	for _, name := range p.dataset.Known {
		if _, err := tp.root.add(name, documented, &bits); err != nil {
			return err
		}
	}
	return nil
}

// compileChild checks that the keys of a child table are the record's keys and the position. It also finds the member
// for bare elements.
func (p *Plan) compileChild(tp *tablePlan) error {
	var keys, parentKeys []string
	for _, k := range tp.table.KeyColumns() {
		keys = append(keys, strings.TrimPrefix(tp.table.Columns[k].Source, string(schemas.SourceParent)))
	}
	parent := p.tables[0].table
	for _, k := range parent.KeyColumns() {
		parentKeys = append(parentKeys, parent.Columns[k].Source)
	}
	if strings.Contains(tp.table.Each, ".") {
		return fmt.Errorf("array %q is not a member of the record", tp.table.Each)
	}
	if !slices.Equal(keys, append(parentKeys, schemas.SourceOrdinal)) {
		return fmt.Errorf("the keys must be the keys of %s, followed by the position", parent.Name)
	}
	if tp.table.Bare == "" {
		return nil
	}
	if tp.bare = tp.root.find([]byte(tp.table.Bare)); tp.bare == nil || tp.bare.kind != textColumn {
		return fmt.Errorf("bare elements: no text column has source %s", tp.table.Bare)
	}
	return nil
}

func (p *Plan) compileColumn(tp *tablePlan, i int, bits *int) error {
	c := &tp.table.Columns[i]
	tp.width += 1 + columnWidths[c.Type]
	if c.Source == "" {
		return errors.New("no source")
	}
	if param := c.Source[0] == schemas.SourceParam; c.Required != (param || c.Source == schemas.SourceOrdinal) {
		return errors.New("parameters and positions must be required, and other columns must not be")
	}
	switch {
	case c.Source == schemas.SourceExtra && c.Type == schemas.JSON && tp.extra < 0:
		tp.extra = i
		return nil
	case c.Source == schemas.SourceOrdinal && c.Type == schemas.Int32 && tp.ordinal < 0 && tp.index > 0:
		tp.ordinal = i
		tp.slots = append(tp.slots, i)
		return nil
	case c.Source[0] == schemas.SourceParam && c.Type == schemas.String:
		tp.params = append(tp.params, paramColumn{column: i, name: c.Source[1:], kind: p.pseudonymKind(c)})
		return nil
	case c.Source[0] == schemas.SourceParent && tp.index > 0:
		parent := p.tables[0].table
		from := slices.IndexFunc(parent.Columns, func(pc schemas.Column) bool { return pc.Source == c.Source[1:] })
		if from < 0 || c.Type != schemas.String || parent.Columns[from].Type != schemas.String || c.Class != parent.Columns[from].Class {
			return fmt.Errorf("source %s is not a text column of %s with the same class", c.Source, parent.Name)
		}
		tp.parents = append(tp.parents, parentColumn{column: i, from: from})
		return nil
	case strings.ContainsAny(c.Source[:1], "*#$^"):
		return fmt.Errorf("source %s does not go with type %s here, or is repeated", c.Source, c.Type)
	}
	return p.compileMember(tp, i, bits)
}

// compileMember adds the member for a column, and the objects that contain the member.
func (p *Plan) compileMember(tp *tablePlan, i int, bits *int) error {
	c := &tp.table.Columns[i]
	k := columnKinds[c.Type]
	if k == unknown {
		return fmt.Errorf("no value fits type %s", c.Type)
	}
	k, err := p.protect(tp, i, k)
	if err != nil {
		return err
	}
	obj := tp.root
	steps := strings.Split(c.Source, ".")
	for _, name := range steps[:len(steps)-1] {
		m := obj.find([]byte(name))
		if m == nil {
			if m, err = obj.add(name, nestedObject, bits); err != nil {
				return err
			}
			m.object = p.newObject(tp, obj.path+name+".", obj.depth+1)
		}
		if m.kind != nestedObject {
			return fmt.Errorf("source %s reaches into a column", c.Source)
		}
		obj = m.object
	}
	m, err := obj.add(steps[len(steps)-1], k, bits)
	if err != nil {
		return err
	}
	m.column = i
	tp.filled |= m.bit
	tp.columnOf[*bits-1] = uint8(i)
	tp.slots = append(tp.slots, i)
	if c.Type == schemas.String {
		tp.texts = append(tp.texts, i)
	}
	return nil
}

// add declares a member and gives it the next bit.
func (obj *objectPlan) add(name string, k kind, bits *int) (*member, error) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError }) {
		return nil, fmt.Errorf("member name %q is not plain", name)
	}
	if obj.find([]byte(name)) != nil {
		return nil, fmt.Errorf("member %s%s is declared twice", obj.path, name)
	}
	if *bits == maxMembers {
		return nil, fmt.Errorf("more than %d members", maxMembers)
	}
	obj.members = append(obj.members, member{
		name: name, pattern: newPattern(name + `":`), width: len(name) + len(`":`),
		number: uint8(len(obj.members)), kind: k, bit: 1 << *bits,
	})
	*bits++
	return &obj.members[len(obj.members)-1], nil
}

// find returns the member of that name, or nil if there is no such member. Unlike lookup, it does not need the index.
func (obj *objectPlan) find(name []byte) *member {
	for i := range obj.members[1:] {
		if obj.members[i+1].name == string(name) {
			return &obj.members[i+1]
		}
	}
	return nil
}
