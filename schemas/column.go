package schemas

import "strings"

// The functions here make the columns of a declaration, one line each, so that
// a table reads as a table. Documentation comes last but for the marks, which
// say what sets a column apart from an optional one that tells nothing of a
// person.

// mark changes one column of a declaration.
type mark func(*Column)

// key marks a column that helps to identify a row.
func key(c *Column) { c.Key = true }

// id marks an identifier of a person.
func id(c *Column) { c.Class = ID }

// record marks an identifier of a record about one person.
func record(c *Column) { c.Class = Record }

// direct marks a column that names a person.
func direct(c *Column) { c.Class = Direct }

// birth marks a date of birth.
func birth(c *Column) { c.Class = Birth }

// grade marks a person's grade.
func grade(c *Column) { c.Class = Grade }

// freeText marks text that may name a person.
func freeText(c *Column) { c.Class = Text }

// trait marks a characteristic of a person.
func trait(c *Column) { c.Class = Trait }

// score marks what a person has achieved.
func score(c *Column) { c.Class = Score }

func column(t Type, name, source, doc string, marks []mark) Column {
	c := Column{Name: name, Type: t, Source: source, Class: None, Doc: doc}
	for _, m := range marks {
		m(&c)
	}
	return c
}

func str(name, source, doc string, marks ...mark) Column {
	return column(String, name, source, doc, marks)
}

func i32(name, source, doc string, marks ...mark) Column {
	return column(Int32, name, source, doc, marks)
}

func i64(name, source, doc string, marks ...mark) Column {
	return column(Int64, name, source, doc, marks)
}

func double(name, source, doc string, marks ...mark) Column {
	return column(Double, name, source, doc, marks)
}

func boolean(name, source, doc string, marks ...mark) Column {
	return column(Boolean, name, source, doc, marks)
}

func date(name, source, doc string, marks ...mark) Column {
	return column(Date, name, source, doc, marks)
}

func timestamp(name, source, doc string) Column {
	return column(Timestamp, name, source, doc, nil)
}

// requested is what the call asked for: the parameter of that name, which is
// part of the key and never null.
func requested(param, doc string, marks ...mark) Column {
	c := column(String, "requested_"+param, string(SourceParam)+param, doc, marks)
	c.Key, c.Required = true, true
	return c
}

// parent is the identifier of the record that holds a child row, which is part
// of the child's key.
func parent(name, member, doc string, marks ...mark) Column {
	return column(String, name, string(SourceParent)+member, doc, append(marks, key))
}

// ordinal is the position of a child row, which completes its key.
func ordinal(array string) Column {
	return Column{
		Name: "ordinal", Type: Int32, Key: true, Required: true, Source: SourceOrdinal, Class: None,
		Doc: "Position of the element in the record's " + array + ", counted from 0.",
	}
}

// extra is the last column of every table; known names what is always found
// there because no column takes it.
func extra(known ...string) Column {
	doc := "JSON object of every member that no column took, unknown or not fitting its column's type; null if there is none."
	if len(known) > 0 {
		doc = "JSON object of every member that no column took, among them " + strings.Join(known, ", ") + "; null if there is none."
	}
	return Column{Name: "_extra", Type: JSON, Source: SourceExtra, Class: Extra, Doc: doc}
}
