package transform_test

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"example.org/growthexport/schemas"
)

// generator writes random pages of a dataset: mostly correct, often odd.
type generator struct {
	rnd *rand.Rand
	ds  *schemas.Dataset
	// odd sets the chance of each oddity to one in odd; 0 means never.
	odd int
	// loose adds white space wherever it is allowed.
	loose bool
	// order, if not 0, selects the order in which the members of every object are written.
	order byte
	odds  []string
}

func newGenerator(ds *schemas.Dataset, seed uint64) *generator {
	g := &generator{rnd: rand.New(rand.NewPCG(seed, 7)), ds: ds, odds: oddValues()}
	g.odd = []int{0, 40, 12, 5}[g.rnd.IntN(4)]
	g.loose = g.one(4)
	return g
}

func (g *generator) one(in int) bool { return in > 0 && g.rnd.IntN(in) == 0 }

func (g *generator) pick(of ...string) string { return of[g.rnd.IntN(len(of))] }

func (g *generator) space() string {
	if !g.loose {
		return ""
	}
	return g.pick("", "", " ", "\n", "\t\r\n  ")
}

func (g *generator) page() []byte {
	if g.one(g.odd * 4) {
		return []byte(g.pick(`""`, ` "" `, ``, ` `, `null`, `1`, `"x"`, `true`, `<html>`, `[`, `{}`, `[]`, `[] x`, `{"pagination":[]}`))
	}
	if g.ds.Operation.Single {
		record := g.record()
		if g.one(2) {
			record = g.object([]string{g.name("wrapped") + ":" + record})
		}
		return []byte(g.space() + record + g.space())
	}
	var records []string
	for range g.rnd.IntN(6) {
		if g.one(g.odd * 2) {
			records = append(records, g.anything(3))
			continue
		}
		records = append(records, g.record())
	}
	list := g.array(records)
	if !g.ds.Operation.Paged && g.one(2) {
		return []byte(g.space() + list + g.space())
	}
	name := g.ds.Operation.Records
	if name == "" || g.one(g.odd*2) {
		name = "things"
	}
	members := []string{g.name(name) + ":" + list}
	if g.one(g.odd * 2) {
		members = append(members, g.name(g.pick(name, "other"))+":"+g.pick(list, "[]", "null", "5", "{}"))
	}
	if g.ds.Operation.Paged || g.one(2) {
		members = append(members, g.name("pagination")+":"+g.pagination())
	}
	if g.one(g.odd * 3) {
		members = append(members, g.name("pagination")+":"+g.pick("null", "{}", g.pagination()))
	}
	g.rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return []byte(g.space() + g.object(members) + g.space())
}

func (g *generator) pagination() string {
	if g.one(g.odd) {
		return g.pick("null", "[]", `"x"`, `{}`, `{"hasNextPage":true}`, `{"nextPage":"x"}`, `{"hasNextPage":null,"nextPage":""}`,
			`{"hasNextPage":"true","nextPage":"x"}`, `{"hasNextPage":"f\u0061lse"}`, `{"hasNextPage":1,"nextPage":"x"}`,
			`{"hasNextPage":true,"nextPage":12}`, `{"hasNextPage":true,"nextPage":[]}`, `{"hasNextPage":true,"nextPage":"\ud800"}`,
			`{"hasNextPage":true,"nextPage":"`+"\xff"+`"}`, `{"hasNextPage":true,"hasNextPage":false,"nextPage":"a","nextPage":"b","x":1}`,
			`{"hasNextPage":"","nextPage":null}`, `{"nextPage":""}`, `{"totalPages":9,"page":1}`)
	}
	if g.one(2) {
		return g.object([]string{`"hasNextPage":false`})
	}
	return g.object([]string{`"hasNextPage":true`, `"nextPage":` + g.space() + `"cursor\u003d` + strconv.Itoa(g.rnd.IntN(9)) + `"`})
}

func (g *generator) record() string {
	t := g.ds.Tables[0]
	members := g.members(t, "")
	for _, child := range g.ds.Tables[1:] {
		switch {
		case g.one(g.odd * 2):
			members = append(members, g.name(child.Each)+":"+g.anything(3))
		case g.one(4):
		default:
			var elements []string
			for range g.rnd.IntN(4) {
				if g.one(g.odd) {
					elements = append(elements, g.anything(2))
					continue
				}
				elements = append(elements, g.object(g.oddities(g.members(child, ""))))
			}
			members = append(members, g.name(child.Each)+":"+g.space()+g.array(elements))
		}
	}
	for _, name := range g.ds.Known {
		if g.one(4) {
			members = append(members, g.name(name)+":"+g.anything(2))
		}
	}
	members = g.oddities(members)
	if g.one(3) {
		g.rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return g.object(members)
}

// members writes the members of a table's rows, or of an object nested in them.
func (g *generator) members(t *schemas.Table, path string) []string {
	var members []string
	var nests []string
	for _, c := range t.Columns {
		name, ok := strings.CutPrefix(c.Source, path)
		if !ok || strings.ContainsAny(c.Source[:1], "$#^*") || g.one(8) {
			continue
		}
		if nest, _, nested := strings.Cut(name, "."); nested {
			if !slices.Contains(nests, nest) {
				nests = append(nests, nest)
			}
			continue
		}
		members = append(members, g.name(name)+":"+g.space()+g.value(&c))
	}
	for _, nest := range nests {
		inner := g.object(g.oddities(g.members(t, path+nest+".")))
		if g.one(g.odd) {
			inner = g.anything(2)
		}
		members = append(members, g.name(nest)+":"+g.space()+inner)
	}
	return members
}

// oddities adds unknown and duplicate members.
func (g *generator) oddities(members []string) []string {
	for range 3 {
		if g.one(g.odd) {
			name := g.pick("foo", "bar", "", "Foo", "é", "a\"b", "\x01", "\uFFFD", "items.shown", "rit ", "constructor", "nörms")
			members = append(members, g.name(name)+":"+g.anything(3))
		}
	}
	if g.one(g.odd) {
		members = append(members, g.pick(`"a`+"\xff"+`":1`, `"\ud800":1`, `"\udc00\ud800x":[1]`, `"\ud83d\ude00":2`, `"n`+"\xc3"+`":null`, `"items":null`, `"\ud7ff":1`))
	}
	if len(members) > 0 && g.one(g.odd) {
		name, _, _ := strings.Cut(members[g.rnd.IntN(len(members))], ":")
		members = slices.Insert(members, g.rnd.IntN(len(members)+1), name+":"+g.anything(2))
	}
	if len(members) > 0 && g.one(g.odd) {
		members = append(members, members[g.rnd.IntN(len(members))])
	}
	return members
}

// name writes a name, sometimes with escapes.
func (g *generator) name(name string) string {
	var out strings.Builder
	escaped := g.one(g.odd)
	for _, r := range name {
		if r < ' ' || r == '"' || r == '\\' || (escaped && r < 0x10000 && g.one(4)) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return g.space() + `"` + out.String() + `"` + g.space()
}

func (g *generator) object(members []string) string {
	if g.order != 0 {
		position := func(member string) uint32 {
			name, _, _ := strings.Cut(member, ":")
			return crc32.ChecksumIEEE(append([]byte(name), g.order))
		}
		slices.SortStableFunc(members, func(a, b string) int { return cmp.Compare(position(a), position(b)) })
	}
	return "{" + strings.Join(members, g.space()+","+g.space()) + g.space() + "}" + g.space()
}

func (g *generator) array(elements []string) string {
	return "[" + g.space() + strings.Join(elements, g.space()+",") + g.space() + "]" + g.space()
}

// value writes a value for a column, mostly one that fits.
func (g *generator) value(c *schemas.Column) string {
	if g.one(g.odd) {
		return g.anything(2)
	}
	if c.Key {
		return g.pick(`"a"`, `"b"`, `"c"`, `"\u0061"`, `"abcdefgh1"`, `"abcdefgh2"`, `"abcdefgh"`, `1`, `""`, `null`, `"é"`)
	}
	switch c.Type {
	case schemas.String:
		return g.pick(`"`+bid(g.rnd)+`"`, `"text"`, `"Zoë"`, `""`, `"with \"escapes\" \/ \ud83d\ude00\n"`, `12.50`, `true`, `null`, `"12345678901234567"`)
	case schemas.Int32, schemas.Int64:
		return g.pick(strconv.Itoa(g.rnd.IntN(300)), `"`+strconv.Itoa(g.rnd.IntN(300))+`"`, "65.0", `"65.0"`, "1e2", "-7", "null", "2147483647", "2147483648",
			"-2147483648", "123456789012345678")
	case schemas.Double:
		return g.pick(strconv.FormatFloat(g.rnd.Float64()*300, 'f', g.rnd.IntN(4), 64), `"3.25"`, "0", "-0", "0.0", "-0.5", "1e-3", "null", "3.141592653589793238", "12345678901234.5")
	case schemas.Boolean:
		return g.pick("true", "false", `"true"`, `"false"`, "null")
	case schemas.Date:
		return g.pick(`"2025-09-01"`, `"2024-02-29"`, `"2025-09-01T00:00:00Z"`, `"2025-09-01 00:00:00.000"`, "null")
	}
	return g.pick(`"2025-09-01T10:20:30Z"`, `"2025-09-01T10:20:30.5Z"`, `"2025-09-01 10:20:30.123456"`, `"2025-09-01T10:20:30.123456000+02:00"`, `"2025-09-01"`,
		`"2026-01-01T00:00:00Z"`, `"2025-09-01T10:20:30.678Z"`, `"2024-02-29T23:59:59.999Z"`, "null")
}

// anything writes any value, whether it fits or not.
func (g *generator) anything(depth int) string {
	if depth > 0 && g.one(4) {
		var parts []string
		if g.one(2) {
			for range g.rnd.IntN(3) {
				parts = append(parts, g.anything(depth-1))
			}
			return g.array(parts)
		}
		for range g.rnd.IntN(3) {
			parts = append(parts, g.name(g.pick("x", "x", "y", "shown", "reference"))+":"+g.space()+g.anything(depth-1))
		}
		return g.object(parts)
	}
	return g.pick(g.odds...)
}

// oddValues returns values that just fit or just do not.
func oddValues() []string {
	return []string{
		"null", "true", "false", "0", "-0", "-0.0", "1", "-1", "12.5", "65.0", "1e2", "1E+2", "100e-2", "1e-1", "1e400", "-1e400", "1e-400", "0e999999999999999999999",
		"1e99999999999999999999", "1e-99999999999999999999", "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "18446744073709551616", "9007199254740993", "0.1", "123456789012345", "1234567890123456", "0.000000000000001",
		"100000000000000000000000e-20", "12345678901234567890e-1", "1.7976931348623157e308", "1.7976931348623159e308",
		`""`, `" "`, `"a"`, `"12"`, `" 12"`, `"12 "`, `"012"`, `"+1"`, `"1."`, `".5"`, `"0x10"`, `"1_0"`, `"Infinity"`, `"NaN"`, `"-0"`, `"65.0"`, `"12.5"`, `"1e2"`, `"1e400"`, `"\u0031"`,
		`"true"`, `"false"`, `"True"`, `"tru\u0065"`, `"null"`,
		`"2025-02-28"`, `"2025-02-29"`, `"2024-02-29"`, `"1900-02-29"`, `"2000-02-29"`, `"0000-02-29"`, `"0000-01-01"`, `"9999-12-31"`, `"2025-13-01"`, `"2025-00-01"`,
		`"2025-04-31"`, `"2025-01-00"`, `"2025-1-1"`, `"2025-01-0a"`, `"20250101"`, `"12025-01-01"`, `"2025-01-01T"`, `"2025-09-01t00:00:00z"`,
		`"2025-09-01T24:00:00Z"`, `"2025-09-01T23:59:60Z"`, `"2025-09-01T23:60:00Z"`, `"2025-09-01T10:20"`, `"2025-09-01T10:20Z"`, `"2025-09-01T10:20:30."`,
		`"2025-09-01T10:20:30.1234567Z"`, `"2025-09-01T10:20:30.1234560Z"`, `"2025-09-01T10:20:30,5Z"`, `"2025-09-01T10:20:30+0200"`, `"2025-09-01T10:20:30+02"`,
		`"2025-09-01T02:00:00+02:00"`, `"2025-09-01T00:00:00-00:00"`, `"2025-09-01T10:20:30+24:00"`, `"2025-09-01T10:20:30+23:60"`, `"2025-09-01T10:20:30+23:59"`,
		`"0000-01-01T00:00:00+01:00"`, `"0001-01-01T00:00:00+00:01"`, `"0000-12-31T23:59:00-00:01"`, `"9999-12-31T23:59:59+00:01"`,
		`"0000-12-31T23:59:59.999Z"`, `"0001-01-01T00:00:00.000Z"`, `"9999-12-31T23:59:59.999Z"`, `"2025-02-29T10:20:30.678Z"`, `"2025-09-01T24:00:00.000Z"`,
		`"2025-09-01T10:60:30.678Z"`, `"2025-09-01T10:20:60.678Z"`, `"2025-09-01T10:20:30.6x8Z"`, `"2025-09-01T10:20:30.678z"`, `"2025-09-01T10:20:30.67:Z"`,
		`"9999-12-31T23:00:00-01:00"`, `"1969-12-31T23:59:59.999999Z"`, `"2025-09-01  10:20:30"`, `"2025-09-01T10:20:3:Z"`,
		`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud83d\ude00"`, `"\ud83dx"`, `"\u0000"`, "\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "\"\xf0\x9f\x98\x80\"", "\"é\xe2\x82\"",
		"\"1\xff\"", "\"\\ud800\xff\"", `"\b\f\n\r\t\/\\\""`, "\"\x7f\"", `[1, "x", {"a" : null}]`, `{"b":1, "b":2}`, "[]", "{}", `[[]]`, "[\"\xff\"]", "{\"\xff\":1}",
		`"a text that is longer than any buffer of a fixed size that the fast path could use"`, `{"shown":1,"correct":"2","total":3.0,"x":{}}`,
	}
}
