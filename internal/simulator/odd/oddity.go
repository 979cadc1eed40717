package odd

import (
	"slices"
	"strings"

	"example.org/growthexport/internal/simulator"
)

func oddities() []oddity {
	values := slices.Concat(integerOddities(), decimalOddities(), booleanOddities(), textOddities(), dateOddities(), timestampOddities())
	all := slices.Concat(memberOddities(), unknownOddities(), containerOddities())
	for i := range values {
		all = append(all, values[i].oddity())
	}
	return all
}

// memberOddities returns oddities that change members regardless of their type.
func memberOddities() []oddity {
	return []oddity{
		{"a null", func(s *oddCase) bool {
			return s.change(func(*simulator.Member) bool { return true }, func(m *simulator.Member) { m.Value = simulator.Value{Kind: simulator.Null} })
		}},
		{"a member that is missing", func(s *oddCase) bool {
			p := s.anyObject()
			at := slices.IndexFunc(*p.members, func(m simulator.Member) bool {
				return p.shape.Takes(m.Name) && !s.identifies(p.table, m.Name) && s.draw.Chance(300)
			})
			if at >= 0 && !isUnique(*p.members, at) {
				return false // The first of two members must not remain alone.
			}
			if at >= 0 {
				*p.members = slices.Delete(slices.Clone(*p.members), at, at+1)
			}
			return at >= 0
		}},
		{"a doubled member", func(s *oddCase) bool { return s.double(`"the first of two"`, false) }},
		{"a doubled member whose first is null", func(s *oddCase) bool { return s.double("null", false) }},
		{"a doubled member whose last is null", func(s *oddCase) bool { return s.double("7", true) }},
		{"an escaped name", func(s *oddCase) bool {
			return s.change(
				func(m *simulator.Member) bool { return m.Literal == nil && m.Plain() != nil },
				func(m *simulator.Member) {
					escaped := `"` + string(simulator.AppendEscape(nil, rune(m.Name[0]))) + m.Name[1:] + `"`
					m.Value = oddValue(simulator.Literal{Sent: m.JSON(), Cell: m.Plain(), Name: escaped})
				})
		}},
		{"an array or object for a text or number", func(s *oddCase) bool {
			sent := [...]simulator.Value{mismatch("[]"), mismatch("{}"), spaced(`[ "x" ]`, `["x"]`), spaced("{\n\"value\":\t12 }", `{"value":12}`)}[s.draw.Below(4)]
			return s.change(func(*simulator.Member) bool { return true }, func(m *simulator.Member) { m.Value = sent })
		}},
		{"a number for an identifier", func(s *oddCase) bool {
			number := [...]string{"101", "1.50", "1E+2", "123456789012345678901"}[s.draw.Below(4)]
			return s.change(func(m *simulator.Member) bool { return m.Kind == simulator.ID }, func(m *simulator.Member) { m.Value = fitting(number, number) })
		}},
		{"an empty identifier", func(s *oddCase) bool {
			return s.change(func(m *simulator.Member) bool { return m.Kind == simulator.ID }, func(m *simulator.Member) { m.Value = fitting(`""`, "") })
		}},
		{"a record without its key", func(s *oddCase) bool { return s.loseKey(simulator.Value{}) }},
		{"a null for a key", func(s *oddCase) bool { return s.loseKey(simulator.Value{Kind: simulator.Null}) }},
		{"an empty key", func(s *oddCase) bool { return s.loseKey(fitting(`""`, "")) }},
		{"a key that is not text", func(s *oddCase) bool { return s.loseKey(mismatch("[]")) }},
		{"a key that is half a character", func(s *oddCase) bool { return s.loseKey(loneSurrogate(`"\ud83d"`, "\"\uFFFD\"")) }},
		{"an educator without an identifier", func(s *oddCase) bool { return s.loseEducator() }},
	}
}

// double adds a member in front of an existing member with the same name. If lose is true, the value of the existing
// member becomes null.
func (s *oddCase) double(first string, lose bool) bool {
	p := s.anyObject()
	at := slices.IndexFunc(*p.members, func(simulator.Member) bool { return s.draw.Chance(300) })
	if at < 0 || !isUnique(*p.members, at) || s.identifies(p.table, (*p.members)[at].Name) {
		return false
	}
	members := slices.Clone(*p.members)
	if lose {
		members[at].Value = simulator.Value{Kind: simulator.Null}
	}
	// The new member may be anywhere before the one that counts.
	*p.members = slices.Insert(members, s.draw.Below(at+1), named(members[at].Name, mismatch(first)))
	return true
}

// loseKey replaces or removes the member that identifies the record.
func (s *oddCase) loseKey(v simulator.Value) bool {
	source := s.op.Tables[0].KeySource()
	at := slices.IndexFunc(s.members, func(m simulator.Member) bool { return m.Name == source && m.Literal == nil })
	if at < 0 || strings.HasPrefix(s.op.Tables[0].Dataset, "district") || s.op.Name == "schools" || s.draw.Chance(500) {
		return false
	}
	s.members = slices.Clone(s.members)
	s.members[at].Value = v
	if v.Kind == simulator.Absent {
		s.members = slices.Delete(s.members, at, at+1)
	}
	return true
}

func (s *oddCase) loseEducator() bool {
	for _, p := range s.objects() {
		for i := range *p.members {
			if m := &(*p.members)[i]; m.Name == "educatorBid" && m.Kind == simulator.ID {
				m.Value = [...]simulator.Value{{Kind: simulator.Null}, fitting(`""`, ""), mismatch("{}")}[s.draw.Below(3)]
				return true
			}
		}
	}
	return false
}

// unknownOddities returns oddities that add undeclared members.
func unknownOddities() []oddity {
	var list []oddity
	for _, m := range []struct {
		what string
		name string
		v    simulator.Value
	}{
		{"a number", "schoolYearCode", mismatch("2027")},
		{"a text", "updatedBy", mismatch(`"caf\u00e9 \/ \ud83d\ude00 é 😀"`)},
		{"an object", "_links", spaced("{ \"self\" : { \"href\" : \"/a b\" } ,\r\n\t\"self\":1.50 , \"n\" : null }", `{"self":{"href":"/a b"},"self":1.50,"n":null}`)},
		{"an array", "tags", spaced("[ 1E+2, \"x y\" , [ ] , { } , false ]", `[1E+2,"x y",[],{},false]`)},
		{"a null", "retiredOn", simulator.Value{Kind: simulator.Null}},
		{"another letter", "étage", mismatch("1")},
		{"an empty name", "", mismatch(`""`)},
		{"quotation marks in the name", `a "b" \c`, mismatch("true")},
		{"the name of our own", "_extra", mismatch(`{"_extra":1}`)},
		{"a name in other case", "RIT", mismatch("1")},
		{"a name like its neighbour's", "modifiedDateTime2", mismatch(`"2026-01-01"`)},
		{"half a character", "note", loneSurrogate(`["a\ud83d","\ud83d\ude00",{"\ude00\ud83d":"\\ud83d"}]`, "[\"a\uFFFD\",\"\\ud83d\\ude00\",{\"\uFFFD\uFFFD\":\"\\\\ud83d\"}]")},
		{"half a character in the name", "half \uFFFD", oddValue(simulator.Literal{Sent: "1", Name: `"half \udfff"`, Replaced: 1})},
		{"bytes that are not text in the name", "bytes \uFFFD", oddValue(simulator.Literal{Sent: "\"\xff\"", Kept: "\"\uFFFD\"", Name: "\"bytes \xff\"", Replaced: 2})},
		{"bytes that are not text", "memo", oddValue(simulator.Literal{Sent: "\"a\xffb\xe2\x82\"", Kept: "\"a\uFFFDb\uFFFD\uFFFD\"", Replaced: 3})},
		{"a huge number", "serial", mismatch("-123456789012345678901234567890.5e400")},
		{"depth", "tree", mismatch(strings.Repeat(`[{"a":`, 40) + "0" + strings.Repeat("}]", 40))},
		{"length", "blob", mismatch(`"` + strings.Repeat("0123456789abcdef", 500) + `"`)},
	} {
		list = append(list, oddity{"unknown: " + m.what, func(s *oddCase) bool {
			p := s.anyObject()
			known := simulator.Find(*p.members, m.name) != nil
			if !known {
				*p.members = append(slices.Clone(*p.members), named(m.name, m.v))
			}
			return !known
		}})
	}
	list = append(list, oddity{"unknown: names that are equal once halves of characters are replaced", func(s *oddCase) bool {
		p := s.anyObject()
		if simulator.Find(*p.members, "a\uFFFDb") != nil {
			return false
		}
		first, last := simulator.Literal{Sent: "1", Name: `"a\uD83Db"`, Replaced: 1}, simulator.Literal{Sent: "2", Name: `"a\uDC00b"`, Replaced: 1}
		*p.members = append(slices.Clone(*p.members), named("a\uFFFDb", oddValue(first)), named("a\uFFFDb", oddValue(last)))
		return true
	}})
	return append(list, oddity{"unknown: doubled", func(s *oddCase) bool {
		p := s.anyObject()
		if simulator.Find(*p.members, "twice") != nil {
			return false
		}
		*p.members = append(slices.Clone(*p.members), named("twice", mismatch(`{"a":1}`)), named("twice", mismatch(`{"a":2}`)))
		return true
	}})
}

// containerOddities returns oddities that change nested objects and arrays.
func containerOddities() []oddity {
	var list []oddity
	for _, v := range []struct {
		what string
		v    simulator.Value
	}{
		{"a text", mismatch(`"none"`)},
		{"a number", mismatch("0")},
		{"a null", simulator.Value{Kind: simulator.Null}},
		{"an array", spaced(`[ 1 , { "shown" : 2 } ]`, `[1,{"shown":2}]`)},
		{"an empty object", simulator.Value{Kind: simulator.Object}},
	} {
		list = append(list, oddity{v.what + " for an object", func(s *oddCase) bool {
			for i := range s.members {
				if s.op.Tables[0].Shape.Nests[s.members[i].Name] != nil && s.members[i].Kind == simulator.Object {
					s.members[i].Value = v.v
					return true
				}
			}
			return false
		}})
	}
	list = append(list,
		anyChild("an object for an array", func(_ *simulator.Rand, v *simulator.Value) {
			// The object is stored as sent, so its names must not be escaped in an unusual way.
			named := func(m simulator.Member) bool { return m.Literal != nil && m.Literal.Name != "" }
			if len(v.Sub) > 0 && v.Sub[0].Kind == simulator.Object && !slices.ContainsFunc(v.Sub[0].Sub, named) {
				*v = simulator.Verbatim(v.Sub[0].Value)
			} else {
				*v = mismatch("{}")
			}
		}),
		anyChild("a scalar instead of an array", func(d *simulator.Rand, v *simulator.Value) {
			*v = [...]simulator.Value{mismatch(`"x"`), mismatch("3"), mismatch("false")}[d.Below(3)]
		}),
		anyChild("a null for an array", func(_ *simulator.Rand, v *simulator.Value) { *v = simulator.Value{Kind: simulator.Null} }),
		anyChild("an empty array", func(_ *simulator.Rand, v *simulator.Value) { *v = simulator.Value{Kind: simulator.Array} }),
	)
	return append(list, elements()...)
}

// elements returns oddities that add unusual elements to arrays, or replace an object with its bid.
func elements() []oddity {
	var list []oddity
	for _, v := range []struct {
		what string
		v    simulator.Value
	}{
		{"a number", mismatch("5")},
		{"a null", simulator.Value{Kind: simulator.Null}},
		{"a text", fitting(`"\u0041 \/"`, "A /")},
		{"half a character", loneSurrogate(`"\ude00"`, "\"\uFFFD\"")},
		{"an array", spaced("[ 1 , 2 ]", "[1,2]")},
		{"true", mismatch("true")},
		{"bytes that are not text", oddValue(simulator.Literal{Sent: "\"\xc0\xaf\"", Cell: "\uFFFD\uFFFD", Kept: "\"\uFFFD\uFFFD\"", Replaced: 2})},
		{"an empty object", simulator.Value{Kind: simulator.Object}},
	} {
		list = append(list, childOf(v.what+" in an array", func(d *simulator.Rand, t *simulator.Table, of *simulator.Value) bool {
			if t.Bare == "educatorBid" && v.v.IsText() && v.v.Fits() {
				return false // An export would request the classes of an unknown educator.
			}
			of.Sub = slices.Insert(slices.Clone(of.Sub), d.Below(len(of.Sub)+1), simulator.Member{Value: v.v})
			return true
		}))
	}
	return append(list, childOf("a person with only a bid", func(d *simulator.Rand, t *simulator.Table, of *simulator.Value) bool {
		if t.Bare == "" || len(of.Sub) == 0 {
			return false
		}
		at := d.Below(len(of.Sub))
		bid := simulator.Find(of.Sub[at].Sub, t.Bare)
		if bid == nil || !bid.IsText() || !bid.Fits() {
			return false
		}
		of.Sub = slices.Clone(of.Sub)
		of.Sub[at] = simulator.Member{Value: *bid}
		return true
	}))
}

// anyChild returns an oddity that changes any array with a table of its own.
func anyChild(name string, do func(d *simulator.Rand, v *simulator.Value)) oddity {
	return childOf(name, func(d *simulator.Rand, _ *simulator.Table, v *simulator.Value) bool {
		do(d, v)
		return true
	})
}

// childOf returns an oddity that changes an array with a table of its own. For arrays that it does not change, do
// returns false.
func childOf(name string, do func(d *simulator.Rand, t *simulator.Table, v *simulator.Value) bool) oddity {
	return oddity{name, func(s *oddCase) bool {
		children := s.op.Tables[1:]
		if len(children) == 0 {
			return false
		}
		t := &children[s.draw.Below(len(children))]
		for i := range s.members {
			if m := &s.members[i]; m.Name == t.Each && m.Kind == simulator.Array {
				return do(&s.draw, t, &m.Value)
			}
		}
		return false
	}}
}
