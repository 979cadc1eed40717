package simulator

import (
	"slices"
	"strings"
)

// oddities lists the ways in which records are odd.
func oddities() []oddity {
	values := slices.Concat(wholeOddities(), decimalOddities(), truthOddities(), textOddities(), dateOddities(), stampOddities())
	all := slices.Concat(memberOddities(), unknownOddities(), containerOddities())
	for i := range values {
		all = append(all, values[i].oddity())
	}
	return all
}

// memberOddities are about members as such.
func memberOddities() []oddity {
	return []oddity{
		{"a null", func(s *specimen) bool {
			return s.change(func(*member) bool { return true }, func(m *member) { m.value = value{kind: none} })
		}},
		{"a member that is missing", func(s *specimen) bool {
			p := s.anyPlace()
			at := slices.IndexFunc(*p.members, func(m member) bool {
				return p.shape.takes(m.name) && !s.identifies(p.table, m.name) && s.draw.chance(300)
			})
			if at >= 0 && !movable(*p.members, at) {
				return false // The first of two must not become the only one.
			}
			if at >= 0 {
				*p.members = slices.Delete(slices.Clone(*p.members), at, at+1)
			}
			return at >= 0
		}},
		{"a doubled member", func(s *specimen) bool { return s.double(`"the first of two"`, false) }},
		{"a doubled member whose first is null", func(s *specimen) bool { return s.double("null", false) }},
		{"a doubled member whose last is null", func(s *specimen) bool { return s.double("7", true) }},
		{"an escaped name", func(s *specimen) bool {
			return s.change(
				func(m *member) bool { return m.odd == nil && m.plain() != nil },
				func(m *member) {
					escaped := `"` + string(appendEscape(nil, rune(m.name[0]))) + m.name[1:] + `"`
					m.value = oddValue(odd{sent: m.jsonText(), cell: m.plain(), name: escaped})
				})
		}},
		{"an array or object for a text or number", func(s *specimen) bool {
			sent := [...]value{unfit("[]"), unfit("{}"), spaced(`[ "x" ]`, `["x"]`), spaced("{\n\"value\":\t12 }", `{"value":12}`)}[s.draw.below(4)]
			return s.change(func(*member) bool { return true }, func(m *member) { m.value = sent })
		}},
		{"a number for an identifier", func(s *specimen) bool {
			number := [...]string{"101", "1.50", "1E+2", "123456789012345678901"}[s.draw.below(4)]
			return s.change(func(m *member) bool { return m.kind == ident }, func(m *member) { m.value = fitting(number, number) })
		}},
		{"an empty identifier", func(s *specimen) bool {
			return s.change(func(m *member) bool { return m.kind == ident }, func(m *member) { m.value = fitting(`""`, "") })
		}},
		{"a record without its key", func(s *specimen) bool { return s.loseKey(value{}) }},
		{"a null for a key", func(s *specimen) bool { return s.loseKey(value{kind: none}) }},
		{"an empty key", func(s *specimen) bool { return s.loseKey(fitting(`""`, "")) }},
		{"a key that is no text", func(s *specimen) bool { return s.loseKey(unfit("[]")) }},
		{"a key that is half a character", func(s *specimen) bool { return s.loseKey(halved(`"\ud83d"`, "\"\uFFFD\"")) }},
		{"an educator without an identifier", func(s *specimen) bool { return s.loseEducator() }},
	}
}

// change does something to one of the members that pass.
func (s *specimen) change(passes func(m *member) bool, do func(m *member)) bool {
	m := s.member(passes)
	if m != nil {
		do(m)
	}
	return m != nil
}

// double puts a member before one of the same name, whose own value is taken away or not.
func (s *specimen) double(first string, lose bool) bool {
	p := s.anyPlace()
	at := slices.IndexFunc(*p.members, func(member) bool { return s.draw.chance(300) })
	if at < 0 || !movable(*p.members, at) || s.identifies(p.table, (*p.members)[at].name) {
		return false
	}
	members := slices.Clone(*p.members)
	if lose {
		members[at].value = value{kind: none}
	}
	// Anywhere before the one that counts.
	*p.members = slices.Insert(members, s.draw.below(at+1), member{members[at].name, unfit(first)})
	return true
}

// loseKey gives the member that tells records apart another value, or takes it away.
func (s *specimen) loseKey(v value) bool {
	source := s.op.tables[0].keySource()
	at := slices.IndexFunc(s.members, func(m member) bool { return m.name == source && m.odd == nil })
	if at < 0 || strings.HasPrefix(s.op.tables[0].dataset, "district") || s.op.name == "schools" || s.draw.chance(500) {
		return false
	}
	s.members = slices.Clone(s.members)
	s.members[at].value = v
	if v.kind == absent {
		s.members = slices.Delete(s.members, at, at+1)
	}
	return true
}

func (s *specimen) loseEducator() bool {
	for _, p := range s.places() {
		for i := range *p.members {
			if m := &(*p.members)[i]; m.name == "educatorBid" && m.kind == ident {
				m.value = [...]value{{kind: none}, fitting(`""`, ""), unfit("{}")}[s.draw.below(3)]
				return true
			}
		}
	}
	return false
}

// unknownOddities are members that nobody declared.
func unknownOddities() []oddity {
	var list []oddity
	for _, m := range []struct {
		what string
		name string
		v    value
	}{
		{"a number", "schoolYearCode", unfit("2027")},
		{"a text", "updatedBy", unfit(`"caf\u00e9 \/ \ud83d\ude00 é 😀"`)},
		{"an object", "_links", spaced("{ \"self\" : { \"href\" : \"/a b\" } ,\r\n\t\"self\":1.50 , \"n\" : null }", `{"self":{"href":"/a b"},"self":1.50,"n":null}`)},
		{"an array", "tags", spaced("[ 1E+2, \"x y\" , [ ] , { } , false ]", `[1E+2,"x y",[],{},false]`)},
		{"a null", "retiredOn", value{kind: none}},
		{"another letter", "étage", unfit("1")},
		{"an empty name", "", unfit(`""`)},
		{"quotation marks in the name", `a "b" \c`, unfit("true")},
		{"the name of our own", "_extra", unfit(`{"_extra":1}`)},
		{"a name in other case", "RIT", unfit("1")},
		{"a name like its neighbour's", "modifiedDateTime2", unfit(`"2026-01-01"`)},
		{"half a character", "note", halved(`["a\ud83d","\ud83d\ude00",{"\ude00\ud83d":"\\ud83d"}]`, "[\"a\uFFFD\",\"\\ud83d\\ude00\",{\"\uFFFD\uFFFD\":\"\\\\ud83d\"}]")},
		{"half a character in the name", "half \uFFFD", oddValue(odd{sent: "1", name: `"half \udfff"`, bad: 1})},
		{"bytes that are no text in the name", "bytes \uFFFD", oddValue(odd{sent: "\"\xff\"", kept: "\"\uFFFD\"", name: "\"bytes \xff\"", bad: 2})},
		{"bytes that are no text", "memo", oddValue(odd{sent: "\"a\xffb\xe2\x82\"", kept: "\"a\uFFFDb\uFFFD\uFFFD\"", bad: 3})},
		{"a huge number", "serial", unfit("-123456789012345678901234567890.5e400")},
		{"depth", "tree", unfit(strings.Repeat(`[{"a":`, 40) + "0" + strings.Repeat("}]", 40))},
		{"length", "blob", unfit(`"` + strings.Repeat("0123456789abcdef", 500) + `"`)},
	} {
		list = append(list, oddity{"unknown: " + m.what, func(s *specimen) bool {
			p := s.anyPlace()
			known := find(*p.members, m.name) != nil
			if !known {
				*p.members = append(slices.Clone(*p.members), member{m.name, m.v})
			}
			return !known
		}})
	}
	list = append(list, oddity{"unknown: names that are equal once halves of characters are replaced", func(s *specimen) bool {
		p := s.anyPlace()
		if find(*p.members, "a\uFFFDb") != nil {
			return false
		}
		first, last := odd{sent: "1", name: `"a\uD83Db"`, bad: 1}, odd{sent: "2", name: `"a\uDC00b"`, bad: 1}
		*p.members = append(slices.Clone(*p.members), member{"a\uFFFDb", oddValue(first)}, member{"a\uFFFDb", oddValue(last)})
		return true
	}})
	return append(list, oddity{"unknown: doubled", func(s *specimen) bool {
		p := s.anyPlace()
		if find(*p.members, "twice") != nil {
			return false
		}
		*p.members = append(slices.Clone(*p.members), member{"twice", unfit(`{"a":1}`)}, member{"twice", unfit(`{"a":2}`)})
		return true
	}})
}

// containerOddities are about nested objects and arrays.
func containerOddities() []oddity {
	var list []oddity
	for _, v := range []struct {
		what string
		v    value
	}{
		{"a text", unfit(`"none"`)},
		{"a number", unfit("0")},
		{"a null", value{kind: none}},
		{"an array", spaced(`[ 1 , { "shown" : 2 } ]`, `[1,{"shown":2}]`)},
		{"an empty object", value{kind: object}},
	} {
		list = append(list, oddity{v.what + " for an object", func(s *specimen) bool {
			for i := range s.members {
				if s.op.tables[0].shape.nests[s.members[i].name] != nil && s.members[i].kind == object {
					s.members[i].value = v.v
					return true
				}
			}
			return false
		}})
	}
	list = append(list,
		child("an object for an array", func(_ *draw, v *value) {
			// It is kept as sent, so its names must be written in one way.
			named := func(m member) bool { return m.odd != nil && m.odd.name != "" }
			if len(v.sub) > 0 && v.sub[0].kind == object && !slices.ContainsFunc(v.sub[0].sub, named) {
				*v = verbatim(v.sub[0].value)
			} else {
				*v = unfit("{}")
			}
		}),
		child("an array that is none", func(d *draw, v *value) { *v = [...]value{unfit(`"x"`), unfit("3"), unfit("false")}[d.below(3)] }),
		child("a null for an array", func(_ *draw, v *value) { *v = value{kind: none} }),
		child("an empty array", func(_ *draw, v *value) { *v = value{kind: array} }),
	)
	return append(list, elements()...)
}

// elements are oddities of arrays that hold what is no object.
func elements() []oddity {
	var list []oddity
	for _, v := range []struct {
		what string
		v    value
	}{
		{"a number", unfit("5")},
		{"a null", value{kind: none}},
		{"a text", fitting(`"\u0041 \/"`, "A /")},
		{"half a character", halved(`"\ude00"`, "\"\uFFFD\"")},
		{"an array", spaced("[ 1 , 2 ]", "[1,2]")},
		{"true", unfit("true")},
		{"bytes that are no text", oddValue(odd{sent: "\"\xc0\xaf\"", cell: "\uFFFD\uFFFD", kept: "\"\uFFFD\uFFFD\"", bad: 2})},
		{"an empty object", value{kind: object}},
	} {
		list = append(list, childOf(v.what+" in an array", func(d *draw, t *table, of *value) bool {
			if t.bare == "educatorBid" && v.v.isText() && v.v.fits() {
				return false // The classes of an unknown educator would be requested.
			}
			of.sub = slices.Insert(slices.Clone(of.sub), d.below(len(of.sub)+1), member{value: v.v})
			return true
		}))
	}
	return append(list, childOf("a person of whom only the bid is told", func(d *draw, t *table, of *value) bool {
		if t.bare == "" || len(of.sub) == 0 {
			return false
		}
		at := d.below(len(of.sub))
		bid := find(of.sub[at].sub, t.bare)
		if bid == nil || !bid.isText() || !bid.fits() {
			return false
		}
		of.sub = slices.Clone(of.sub)
		of.sub[at] = member{value: *bid}
		return true
	}))
}

// child is an oddity of any array that has a table of its own.
func child(name string, do func(d *draw, v *value)) oddity {
	return childOf(name, func(d *draw, _ *table, v *value) bool {
		do(d, v)
		return true
	})
}

// childOf is an oddity of some of these arrays: do is false for others.
func childOf(name string, do func(d *draw, t *table, v *value) bool) oddity {
	return oddity{name, func(s *specimen) bool {
		children := s.op.tables[1:]
		if len(children) == 0 {
			return false
		}
		t := &children[s.draw.below(len(children))]
		for i := range s.members {
			if m := &s.members[i]; m.name == t.each && m.kind == array {
				return do(&s.draw, t, &m.value)
			}
		}
		return false
	}}
}
