package schemas

import "strings"

// The functions here declare columns, one line each, so that the declaration of a table looks like a table. Only
// columns that are declared by requested or ordinal are required. Marks change a column. Every column needs the mark of
// its privacy class.

// mark changes one column of a declaration.
type mark func(*Column)

// key marks a column that helps to identify a row.
func key(c *Column) { c.Key = true }

// refers marks a column that holds the identifier of the given table.column under another name.
func refers(tableColumn string) mark { return func(c *Column) { c.Refers = tableColumn } }

func class(class Class) mark { return func(c *Column) { c.Class = class } }

// The marks of the privacy classes; see Class.
var (
	none     = class(None)
	id       = class(ID)
	record   = class(Record)
	direct   = class(Direct)
	birth    = class(Birth)
	grade    = class(Grade)
	freeText = class(Text)
	trait    = class(Trait)
	score    = class(Score)
	moment   = class(Moment)
	measure  = class(Measure)
)

// of returns a function that declares columns of a type.
func of(t Type) func(name, source, doc string, marks ...mark) Column {
	return func(name, source, doc string, marks ...mark) Column {
		c := Column{Name: name, Type: t, Source: source, Doc: doc}
		for _, m := range marks {
			m(&c)
		}
		return c
	}
}

var (
	str       = of(String)
	i32       = of(Int32)
	i64       = of(Int64)
	double    = of(Double)
	boolean   = of(Boolean)
	date      = of(Date)
	timestamp = of(Timestamp)
)

// requested declares the column of a parameter of the call. The column is part of the key and never null.
func requested(param, doc string, marks ...mark) Column {
	c := str("requested_"+param, string(SourceParam)+param, doc, marks...)
	c.Key, c.Required = true, true
	return c
}

// parent declares the column of the parent record's identifier. The column is part of a child row's key.
func parent(name, member, doc string, marks ...mark) Column {
	return str(name, string(SourceParent)+member, doc, append(marks, key)...)
}

// ordinal declares the column of a child row's position in its array, which completes the row's key.
func ordinal(array string) Column {
	return Column{
		Name: "ordinal", Type: Int32, Key: true, Required: true, Source: SourceOrdinal, Class: None,
		Doc: "Position of the element in the record's " + array + ", counted from 0.",
	}
}

// extra declares the last column of every table. known lists the documented members that the column holds.
func extra(known ...string) Column {
	doc := "JSON object of unknown members and of values that do not fit their column's type"
	if len(known) > 0 {
		doc += ", including " + strings.Join(known, ", ")
	}
	return Column{Name: "_extra", Type: JSON, Source: SourceExtra, Class: Extra, Doc: doc + "; null if empty."}
}
