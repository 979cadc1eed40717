package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/growthexport/schemas"
)

// Plan is how a dataset's answers become rows: its declaration, turned into
// what the decoder looks up. It does not change and may be shared.
type Plan struct {
	dataset *schemas.Dataset
	// tables are in the dataset's order; the first holds the records.
	tables []*tablePlan
	levels int
	// keys are the columns, of the first table, that tell records of one
	// chain apart, in sort order; the parameters of the call are the same for
	// all of them.
	keys []int
	// keySource is what drift calls a duplicate's key.
	keySource string
	// modified is the column of modified_date_time, or -1.
	modified int
}

// tablePlan is how one table's rows are made.
type tablePlan struct {
	table *schemas.Table
	index int
	// root is the record, or the element of the parent's array.
	root *level
	// filled are the bits of root and the levels below it whose members are
	// columns; columnOf is the column of each.
	filled   uint64
	columnOf [maxMembers]uint8
	// texts are the text columns that the decoder fills, extra among them.
	texts   []int
	extra   int
	params  []paramColumn
	parents []parentColumn
	ordinal int // or -1
	// bare is the member whose value an element is if it is text instead of an
	// object, or nil.
	bare *member
}

type paramColumn struct {
	column int
	name   string
}

type parentColumn struct {
	column, from int
}

// maxMembers is how many members one table may declare: one bit each.
const maxMembers = 64

// kind is what the decoder does with a member's value.
type kind uint8

const (
	unknown kind = iota // no column: leftover and drift
	known               // no column, documented: leftover
	textColumn
	int32Column
	int64Column
	doubleColumn
	booleanColumn
	dateColumn
	timestampColumn
	nest  // an object whose members are columns of the same row
	child // an array whose elements are rows of another table
)

func (k kind) isColumn() bool { return k >= textColumn && k <= timestampColumn }

// level is one object: a record, a nest in it, or an element of a child array.
type level struct {
	id int
	// depth counts the brackets between the record's members and the level's.
	depth int
	// path is what comes before a member's name in its JSON path.
	path  string
	table *tablePlan
	// members[0] is the member that is not declared.
	members []member
	index   nameIndex
}

// member is one declared member of an object.
type member struct {
	name string
	// pattern is the name as it usually stands behind its opening quote, closing
	// quote and colon included, of width bytes.
	pattern pattern
	width   int
	number  uint8 // in the level's members
	kind    kind
	column  int
	bit     uint64
	nest    *level     // of a nest
	child   *tablePlan // of a child
}

// Compile makes the decode plan of a dataset. An error is a mistake in the
// declaration.
func Compile(ds *schemas.Dataset) (*Plan, error) {
	p := &Plan{dataset: ds, modified: -1}
	if len(ds.Tables) == 0 {
		return nil, fmt.Errorf("compile dataset %s: no table", ds.Name)
	}
	for i, t := range ds.Tables {
		tp := &tablePlan{table: t, index: i, extra: -1, ordinal: -1}
		tp.root = p.newLevel(tp, "", min(i, 1)*2)
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
				return nil, fmt.Errorf("compile table %s: key column %s is no text", first.Name, first.Columns[k].Name)
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

func (p *Plan) newLevel(tp *tablePlan, path string, depth int) *level {
	lv := &level{id: p.levels, depth: depth, path: path, table: tp, members: make([]member, 1)}
	p.levels++
	return lv
}

func (p *Plan) compileTable(tp *tablePlan) error {
	bits := 0
	for i := range tp.table.Columns {
		if err := p.compileColumn(tp, i, &bits); err != nil {
			return fmt.Errorf("column %s: %w", tp.table.Columns[i].Name, err)
		}
	}
	if tp.extra < 0 {
		return fmt.Errorf("no column of source %s: what no column takes would be lost", schemas.SourceExtra)
	}
	if tp.index > 0 {
		return p.compileChild(tp)
	}
	for _, ct := range p.tables[1:] {
		m, err := tp.root.add(ct.table.Each, child, &bits)
		if err != nil {
			return err
		}
		m.child = ct
	}
	for _, name := range p.dataset.Known {
		if _, err := tp.root.add(name, known, &bits); err != nil {
			return err
		}
	}
	return nil
}

// compileChild checks what makes a child row: the keys of the record, then its
// position.
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
		return fmt.Errorf("the keys are not those of %s and then the position", parent.Name)
	}
	if tp.table.Bare == "" {
		return nil
	}
	if tp.bare = tp.root.find([]byte(tp.table.Bare)); tp.bare == nil || tp.bare.kind != textColumn {
		return fmt.Errorf("bare elements: source %s is not a text column's", tp.table.Bare)
	}
	return nil
}

func (p *Plan) compileColumn(tp *tablePlan, i int, bits *int) error {
	c := &tp.table.Columns[i]
	if c.Source == "" {
		return errors.New("no source")
	}
	if param := c.Source[0] == schemas.SourceParam; c.Required != (param || c.Source == schemas.SourceOrdinal) {
		return errors.New("parameters and positions are required, nothing else can be")
	}
	switch {
	case c.Source == schemas.SourceExtra && c.Type == schemas.JSON && tp.extra < 0:
		tp.extra = i
		tp.texts = append(tp.texts, i)
		return nil
	case c.Source == schemas.SourceOrdinal && c.Type == schemas.Int32 && tp.ordinal < 0 && tp.index > 0:
		tp.ordinal = i
		return nil
	case c.Source[0] == schemas.SourceParam && c.Type == schemas.String:
		tp.params = append(tp.params, paramColumn{column: i, name: c.Source[1:]})
		return nil
	case c.Source[0] == schemas.SourceParent && tp.index > 0:
		parent := p.tables[0].table
		from := slices.IndexFunc(parent.Columns, func(pc schemas.Column) bool { return pc.Source == c.Source[1:] })
		if from < 0 || c.Type != schemas.String || parent.Columns[from].Type != schemas.String {
			return fmt.Errorf("source %s is no text column of %s", c.Source, parent.Name)
		}
		tp.parents = append(tp.parents, parentColumn{column: i, from: from})
		return nil
	case strings.ContainsAny(c.Source[:1], "*#$^"):
		return fmt.Errorf("source %s does not go with type %s here, or stands twice", c.Source, c.Type)
	}
	return p.compileMember(tp, i, bits)
}

// compileMember adds the member that a column is read from, and the nests
// around it.
func (p *Plan) compileMember(tp *tablePlan, i int, bits *int) error {
	c := &tp.table.Columns[i]
	k, ok := kindOf(c.Type)
	if !ok {
		return fmt.Errorf("no value fits type %s", c.Type)
	}
	lv := tp.root
	steps := strings.Split(c.Source, ".")
	for _, name := range steps[:len(steps)-1] {
		m := lv.find([]byte(name))
		if m == nil {
			var err error
			if m, err = lv.add(name, nest, bits); err != nil {
				return err
			}
			m.nest = p.newLevel(tp, lv.path+name+".", lv.depth+1)
		}
		if m.kind != nest {
			return fmt.Errorf("source %s reaches into a column", c.Source)
		}
		lv = m.nest
	}
	m, err := lv.add(steps[len(steps)-1], k, bits)
	if err != nil {
		return err
	}
	m.column = i
	tp.filled |= m.bit
	tp.columnOf[*bits-1] = uint8(i)
	if k == textColumn {
		tp.texts = append(tp.texts, i)
	}
	return nil
}

func kindOf(t schemas.Type) (k kind, ok bool) {
	switch t {
	case schemas.String:
		return textColumn, true
	case schemas.Int32:
		return int32Column, true
	case schemas.Int64:
		return int64Column, true
	case schemas.Double:
		return doubleColumn, true
	case schemas.Boolean:
		return booleanColumn, true
	case schemas.Date:
		return dateColumn, true
	case schemas.Timestamp:
		return timestampColumn, true
	}
	return unknown, false
}

// add declares a member, which gets the next bit.
func (lv *level) add(name string, k kind, bits *int) (*member, error) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError }) {
		return nil, fmt.Errorf("member %q has no plain name", name)
	}
	if lv.find([]byte(name)) != nil {
		return nil, fmt.Errorf("member %s%s is declared twice", lv.path, name)
	}
	if *bits == maxMembers {
		return nil, fmt.Errorf("more than %d members", maxMembers)
	}
	lv.members = append(lv.members, member{
		name: name, pattern: newPattern(name + `":`), width: len(name) + len(`":`),
		number: uint8(len(lv.members)), kind: k, bit: 1 << *bits,
	})
	*bits++
	return &lv.members[len(lv.members)-1], nil
}

// find returns the member of that name, or nil, before there is an index.
func (lv *level) find(name []byte) *member {
	for i := range lv.members[1:] {
		if lv.members[i+1].name == string(name) {
			return &lv.members[i+1]
		}
	}
	return nil
}
