package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// deep returns an array nested n deep.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestShapes(t *testing.T) {
	t.Parallel()
	documented := small()
	documented.Operation = schemas.Operation{Records: "things", Paged: true}
	single := small()
	single.Operation = schemas.Operation{Single: true}
	observed := small()
	observed.Operation = schemas.Operation{Records: "things"}
	datasets := map[string]*schemas.Dataset{"list": small(), "observed": observed, "paged": documented, "single": single}

	const notJSON, emptyString = "not JSON", "empty string"
	page := func(records int, next string) string { return fmt.Sprintf("%d records, next %q", records, next) }
	shape := func(met string) string { return "the answer to small is " + met }
	tests := []struct{ dataset, body, want string }{
		{"list", `[]`, page(0, "")},
		{"list", " \t\r\n[ {} , {} ] \n", page(2, "")},
		{"list", `{"any":[{}]}`, page(1, "")},
		{"list", `{"any":[{}],"pagination":{"hasNextPage":false}}`, page(1, "")},
		{"list", `{"pagination":{"hasNextPage":true,"nextPage":"n"},"any":[{}]}`, page(1, "n")},
		{"list", `{"any":[{}],"pagination":null,"other":null}`, page(1, "")},
		{"list", `{"any":[{}],"pagination":{}}`, page(1, "")},
		{"list", `{"any":[{}],"pagination":{"nextPage":""}}`, shape("an object without a readable hasNextPage")},
		{"list", `{"any":[{}],"pagination":{"totalPages":9,"page":1}}`, shape("an object without a readable hasNextPage")},
		{"list", `{"any":[{}],"pagination":{"hasnextpage":true,"nextpage":"3"}}`, shape("an object without a readable hasNextPage")},
		{"list", `{"any":[{}],"pagination":{"hasNextPage":null}}`, shape("an object without a readable hasNextPage")},
		{"list", `{"any":[{}],"pagination":{"nextPage":"n"}}`, shape("an object without a readable hasNextPage")},
		{"list", `{"any":[{}],"pagination":{"hasNextPage":"maybe"}}`, shape("an object without a readable hasNextPage")},
		{"list", `{"any":[{}],"pagination":[]}`, shape("an object whose pagination is an array")},
		{"list", `{"pagination":[]}`, shape("an object (members: 1, arrays: 0)")},
		{"list", `{"any":[{}],"other":[{}]}`, shape("an object (members: 2, arrays: 2)")},
		{"list", `{"any":[{}],"SECRET":{}}`, shape("an object (members: 2, arrays: 1)")},
		{"list", `{"":[{}],"SECRET":[]}`, shape("an object (members: 2, arrays: 2)")},
		{"list", `{}`, shape("an object (members: 0, arrays: 0)")},
		{"list", `{` + strings.Repeat(`"a":null,`, 100) + `"b":[]}`, shape("an object of more than 100 members")},
		{"list", `{` + strings.Repeat(`"a":null,`, 99) + `"b":[{}]}`, page(1, "")},
		{"list", `{"any":[{},{}],"any":[{}]}`, page(1, "")},
		{"list", `{"any":[{}],"any":null}`, shape("an object (members: 0, arrays: 0)")},
		{"list", `{"any":5,"any":[{},{}]}`, page(2, "")},
		{"list", `null`, shape("null")},
		{"list", `true`, shape("a boolean")},
		{"list", `12345`, shape("a number")},
		{"list", `"SECRET"`, shape("a string")},
		{"list", `""`, emptyString},
		{"list", " \"\" \n", emptyString},
		{"list", `" "`, shape("a string")},
		{"list", `"\u0020"`, shape("a string")},
		{"list", ``, notJSON},
		{"list", " \n", notJSON},
		{"list", `[{}`, notJSON},
		{"list", `[{}]]`, notJSON},
		{"list", `[{}] x`, notJSON},
		{"list", `[{},]`, notJSON},
		{"list", `[{"id":"a",}]`, notJSON},
		{"list", `[{"id" "a"}]`, notJSON},
		{"list", `[{id:"a"}]`, notJSON},
		{"list", `[{"i":01}]`, notJSON},
		{"list", `[{"i":1.}]`, notJSON},
		{"list", `[{"i":-}]`, notJSON},
		{"list", `[{"i":+1}]`, notJSON},
		{"list", `[{"i":1e}]`, notJSON},
		{"list", `[{"d":.5}]`, notJSON},
		{"list", `[{"d":1.5.5}]`, notJSON},
		{"list", `[{"d":NaN}]`, notJSON},
		{"list", `[{"b":truee}]`, notJSON},
		{"list", `[{"b":tru}]`, notJSON},
		{"list", `[{"b":nul}]`, notJSON},
		{"list", "[{\"s\":\"a\nb\"}]", notJSON},
		{"list", "[{\"s\":\"a\x00\"}]", notJSON},
		{"list", `[{"s":"\x"}]`, notJSON},
		{"list", `[{"s":"\u12g4"}]`, notJSON},
		{"list", `[{"s":"\u12"}]`, notJSON},
		{"list", `[{"s":"\`, notJSON},
		{"list", `[{"u":[1,{"a":[}]}]`, notJSON},
		{"list", "\xef\xbb\xbf[]", notJSON},
		{"list", `<html><body>502 Bad Gateway</body></html>`, notJSON},
		{"list", `{"any":[{}],"other":[`, notJSON},
		{"list", `{"SECRET":{}} x`, notJSON},
		{"list", deep(10_000), page(1, "")},
		{"list", deep(10_001), shape("nested deeper than 10000")},
		{"list", strings.Repeat("[", 20_000), shape("nested deeper than 10000")},
		{"list", strings.Repeat("[", 10_000), notJSON},
		{"list", `[{"u":` + deep(9_998) + `}]`, page(1, "")},
		{"list", `[{"u":` + deep(9_999) + `}]`, shape("nested deeper than 10000")},
		{"list", `{"any":[{"u":` + deep(9_997) + `}]}`, page(1, "")},
		{"list", `{"any":[{"u":` + deep(9_998) + `}]}`, shape("nested deeper than 10000")},
		{"list", `[{"n":{"u":` + deep(9_997) + `},"parts":[` + deep(9_997) + `,{"u":` + deep(9_996) + `}]}]`, page(1, "")},
		{"list", `[{"n":{"u":` + deep(9_998) + `}}]`, shape("nested deeper than 10000")},
		{"list", `[{"parts":[` + deep(9_998) + `]}]`, shape("nested deeper than 10000")},
		{"list", `[{"parts":[{"u":` + deep(9_997) + `}]}]`, shape("nested deeper than 10000")},
		{"list", `[{"id":"a","id":"b","u":` + deep(9_999) + `}]`, shape("nested deeper than 10000")},

		{"observed", `[{}]`, page(1, "")},
		{"observed", `{"things":[{}]}`, page(1, "")},
		{"observed", `{"things":[{}],"pagination":null,"other":null}`, page(1, "")},
		{"observed", `{"total":1,"rows":[],"things":[{}],"pagination":{"hasNextPage":false}}`, page(1, "")},
		{"observed", `{"things":[{}],"hasNextPage":true,"nextPage":"n"}`, shape("an object of 3 members without a pagination")},
		{"observed", `{"things":[{}],"pagination":null,"Pagination":{}}`, shape("an object of 2 members without a pagination")},

		{"paged", `{"things":[{}],"pagination":{"hasNextPage":false,"nextPage":"left over"}}`, page(1, "")},
		{"paged", `{"total":1,"rows":[],"things":[{}],"pagination":{"hasNextPage":"true","nextPage":"a\u003db"}}`, page(1, "a=b")},
		{"paged", `{"rows":[{}],"pagination":{"hasNextPage":false}}`, page(1, "")},
		{"paged", `{"rows":[{}],"total":1,"pagination":{"hasNextPage":false}}`, shape("an object (members: 3, arrays: 1), without an array things")},
		{"paged", `{"things":null,"pagination":{"hasNextPage":false}}`, shape("an object (members: 1, arrays: 0), without an array things")},
		{"paged", `{"things":{},"pagination":{"hasNextPage":false}}`, shape("an object (members: 2, arrays: 0), without an array things")},
		{"paged", `{"rows":[{},{}],"things":[{}],"pagination":{"hasNextPage":false}}`, page(1, "")},
		{"paged", `{"things":[{}],"things":[],"pagination":{"hasNextPage":false}}`, page(0, "")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":true,"nextPage":"a"},"pagination":{"hasNextPage":false}}`, page(1, "")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":true,"nextPage":17}}`, page(1, "17")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":true,"nextPage":""}}`, shape("an object whose hasNextPage is true without a nextPage")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":true,"nextPage":null}}`, shape("an object whose hasNextPage is true without a nextPage")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":true}}`, shape("an object whose hasNextPage is true without a nextPage")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":true,"nextPage":["SECRET"]}}`, shape("an object whose hasNextPage is true without a nextPage")},
		{"paged", "{\"things\":[{}],\"pagination\":{\"hasNextPage\":true,\"nextPage\":\"SECRET\xff\"}}", shape("an object whose hasNextPage is true without a nextPage")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":null}}`, shape("an object without a readable hasNextPage")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":1}}`, shape("an object without a readable hasNextPage")},
		{"paged", `{"things":[{}],"pagination":{"hasNextPage":""}}`, shape("an object without a readable hasNextPage")},
		{"paged", `{"things":[{}],"pagination":{}}`, shape("an object without a readable hasNextPage")},
		{"paged", `{"things":[{}],"pagination":"SECRET"}`, shape("an object whose pagination is a string")},
		{"paged", `{"things":[{}]}`, shape("an object without a pagination")},
		{"paged", `[{}]`, shape("a bare array, without the pagination that shows whether it is complete")},

		{"single", `{"id":"a","s":"b"}`, page(1, "")},
		{"single", `{}`, page(1, "")},
		{"single", `{"wrapped":{"id":"a"}}`, page(1, "")},
		{"single", `{"wrapped":{"id":"a"},"nothing":null}`, page(1, "")},
		{"single", `{"n":{"x":1}}`, page(1, "")},
		{"single", `{"one":{},"two":{}}`, page(1, "")},
		{"single", `{` + strings.Repeat(`"a":null,`, 200) + `"id":"b"}`, page(1, "")},
		{"single", `[{}]`, shape("an array")},
		{"single", `null`, shape("null")},
		{"single", `""`, emptyString},
		{"single", `{"wrapped":{"id":"a"}`, notJSON},
	}
	decoders := map[string]*transform.Decoder{}
	for name, ds := range datasets {
		plan, err := transform.Compile(ds)
		require.NoError(t, err)
		decoders[name] = plan.NewDecoder()
	}
	for _, test := range tests {
		name := test.body[:min(60, len(test.body))]
		decoder := decoders[test.dataset]
		decoder.Reset(transform.Params{"school_bid": "s1"})
		got, err := readPage(decoder, []byte(test.body))
		switch test.want {
		case notJSON:
			require.ErrorIs(t, err, transform.ErrNotJSON, name)
		case emptyString:
			require.ErrorIs(t, err, transform.ErrEmptyString, name)
		default:
			var shape *transform.ShapeError
			if err == nil {
				require.Equal(t, test.want, page(got.Records, got.Next), name)
				require.Equal(t, got.Records, decoder.Records(), name)
				continue
			}
			require.ErrorAs(t, err, &shape, name)
			require.Equal(t, test.want, shape.Error(), name)
			require.Equal(t, "small", shape.Dataset)
		}
		require.NotContains(t, err.Error(), "SECRET")
		require.Zero(t, got)
		require.Zero(t, decoder.Records(), name)
	}
}

func TestSingleReads(t *testing.T) {
	t.Parallel()
	ds := small()
	ds.Operation.Single = true
	tests := []struct{ body, id, extra, drift string }{
		{`{"id":"a"}`, `"a"`, `null`, ``},
		{`{"wrapped":{"id":"a"}}`, `"a"`, `null`, ``},
		{`{"wrapped":{"id":"a"},"wrapped":{"id":"b"}}`, `"b"`, `null`, `things wrapped duplicate_member 1`},
		{`{"n":{"y":1}}`, `null`, `"{\"n\":{\"y\":1}}"`, `things n.y unknown_field 1`},
		{`{"known":{"id":1}}`, `null`, `"{\"known\":{\"id\":1}}"`, ``},
		{`{"one":{"id":"a"},"id":"b"}`, `"b"`, `"{\"one\":{\"id\":\"a\"}}"`, `things one unknown_field 1`},
	}
	for _, test := range tests {
		result := readAs(t, ds, test.body)
		require.Equal(t, []string{test.id}, cells(t, result, "things", "id"), test.body)
		require.Equal(t, []string{test.extra}, cells(t, result, "things", "_extra"), test.body)
		require.Equal(t, test.drift, strings.Join(driftAsText(result.Drift), ","), test.body)
	}
}
