package simulator

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func oddWorld(seed uint64) *World {
	return NewWorld(Options{Seed: seed, Quirks: true, SchoolSizes: []int{0, 1, 19, 20, 21, 130}})
}

// TestOracleAgreesOnQuirks reads an odd world with a reader of JSON and of the contract's rules that shares nothing with what made
// it odd.
func TestOracleAgreesOnQuirks(t *testing.T) {
	t.Parallel()
	world := oddWorld(7)
	_, c := start(t, world, ServerOptions{PageSize: 20, ListPageSize: 7})
	agree(t, world, c, OracleOptions{Datasets: AllDatasets()}, nil)
}

// TestOracleAgreesOnQuirksAndParameters does the same for a day in the past, changes and removed records at once.
func TestOracleAgreesOnQuirksAndParameters(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{Seed: 3, Quirks: true, Districts: 2, SchoolSizes: []int{1, 60}})
	_, c := start(t, world, ServerOptions{ListPageSize: 10})
	options := OracleOptions{
		Datasets: AllDatasets(), EffectiveDate: firstOf(10, 2026).time(), AsOf: true, ModifiedSince: firstOf(2, 2026).time(), IncludeRemoved: true,
	}
	agree(t, world, c, options, url.Values{"effective-date": {"2026-10-01"}, "modified-since": {"2026-02-01"}, "include-removed": {"true"}})
}

// TestEveryOddityComes makes sure that the agreement is about all of them.
func TestEveryOddityComes(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{Seed: 7, Quirks: true, SchoolSizes: []int{400, 400}})
	done := map[string]int{}
	for i := range world.oddities {
		done[world.oddities[i].name] = 0
	}
	require.Len(t, done, len(world.oddities), "each has a name of its own")
	h := &harvest{world: world, options: &OracleOptions{}, operations: operations(), fed: map[feedKey]*chain{}}
	for _, op := range h.operations {
		for _, s := range h.scopes(op) {
			calls, _ := h.calls(op, s)
			for _, c := range calls {
				q := &quirks{world: world, call: c, plain: world.filled(c, op.source(world, c))}
				list := world.list(c)
				for i := list.next(0); i < list.count; i = list.next(i + 1) {
					for _, name := range q.specimen(&arena{}, i, &draw{}).did {
						done[name]++
					}
				}
			}
		}
	}
	var missing []string
	for name, n := range done {
		if n == 0 {
			missing = append(missing, name)
		}
	}
	require.Empty(t, missing)
}

// TestQuirksShowInWhatIsExpected names the consequences that a careless exporter would miss.
func TestQuirksShowInWhatIsExpected(t *testing.T) {
	t.Parallel()
	world := oddWorld(7)
	expected := world.Expect(OracleOptions{Datasets: AllDatasets()})
	kinds := map[string]int{}
	for _, d := range expected.Drift {
		kinds[d.Kind]++
		require.NotEmpty(t, d.Table)
	}
	require.Len(t, kinds, 4)
	for kind, n := range kinds {
		require.Greater(t, n, 10, kind)
	}
	dropped, unavailable, received := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, l := range expected.Ledger {
		dropped[l.Dataset] += l.Duplicates
		unavailable[l.Dataset] += l.Unavailable
		received[l.Dataset] += l.Received
	}
	for _, op := range operations() {
		require.Positive(t, received[op.name], op.name)
		if op.single == "" {
			require.Positive(t, dropped[op.name], "%s: records come twice", op.name)
		} else {
			require.Zero(t, dropped[op.name])
		}
		require.Equal(t, op.about != 0, unavailable[op.name] > 0, "%s: records without the id that a call needs", op.name)
	}
	empty := 0
	for _, table := range []string{"students", "test_results", "school_classes", "student_school_associations", "educator_school_associations"} {
		key := named(operations(), table).tables[0].columnOf(named(operations(), table).tables[0].keySource())
		require.True(t, slices.ContainsFunc(expected.Rows[table], func(r Row) bool { return r[key] == nil }), "%s without a key", table)
		if slices.ContainsFunc(expected.Rows[table], func(r Row) bool { return r[key] == "" }) {
			empty++
		}
	}
	require.Positive(t, empty, "empty keys")
	require.Greater(t, len(expected.Rows["test_results"]), world.Results(), "without a key a record is no duplicate")
}

func TestContainersVary(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{Quirks: true, SchoolSizes: slices.Repeat([]int{0, 5, 10}, 12)})
	seen := map[string]map[string]bool{}
	h := &harvest{world: world, options: &OracleOptions{}, operations: operations(), fed: map[feedKey]*chain{}}
	for _, op := range h.operations {
		seen[op.name] = map[string]bool{}
		for _, s := range h.scopes(op) {
			calls, _ := h.calls(op, s)
			for _, c := range calls {
				k := world.contain(c)
				switch {
				case k.wrapper == "":
					seen[op.name]["bare"] = true
				case k.paged:
					seen[op.name]["paged"] = true
				case k.pagination == "":
					seen[op.name]["wrapped"] = true
				default:
					seen[op.name]["whole"] = true
				}
			}
		}
	}
	for _, op := range h.operations {
		switch op.name {
		case "schools":
			require.Equal(t, map[string]bool{"bare": true}, seen[op.name])
		case "test_results", "academic_years", "school_classes":
			require.Equal(t, map[string]bool{"paged": true}, seen[op.name])
		case "students", "student_school_associations", "educator_school_associations", "student_school_classes", "educator_school_classes":
			require.Len(t, seen[op.name], 4, op.name)
		}
	}
}

func TestOddBidsAreReadBack(t *testing.T) {
	t.Parallel()
	world, plain := NewWorld(Options{Quirks: true, Schools: 40, Districts: 30}), NewWorld(Options{Schools: 40, Districts: 30})
	forms := map[int]int{}
	for i, s := range world.Schools() {
		what, group, _, ok := world.find(s.Bid)
		require.True(t, ok, "%q", s.Bid)
		require.Equal(t, []int{int(aSchool), i}, []int{int(what), group})
		forms[world.oddForm(world.schools[i].bid)]++
		if was := plain.Schools()[i].Bid; was != s.Bid {
			_, _, _, ok = world.find(was)
			require.False(t, ok, "a bid is good in one form only")
			_, _, _, ok = plain.find(s.Bid)
			require.False(t, ok)
		}
	}
	require.Len(t, forms, 1+len(oddForms), "plain ones and every odd form")
	long := slices.MaxFunc(world.Schools(), func(a, b School) int { return len(a.Bid) - len(b.Bid) })
	require.Greater(t, len(long.Bid), 400)
	odd := 0
	for _, d := range world.Districts() {
		if what, _, _, ok := world.find(d.Bid); !ok || what != aDistrict {
			t.Fatalf("%q", d.Bid)
		}
		if !strings.Contains(d.Bid, "-4") || len(d.Bid) != 36 {
			odd++
		}
	}
	require.Positive(t, odd)
	for _, text := range []string{"", "-1", "../../", "340282366920938463463374607431768211456", "+5"} {
		_, _, _, ok := world.find(text)
		require.False(t, ok, "%q", text)
	}
}

func TestSameOddWorldSameBytes(t *testing.T) {
	t.Parallel()
	read := func() []string {
		world := oddWorld(9)
		_, c := start(t, world, ServerOptions{PageSize: 20})
		var bodies []string
		for _, s := range world.Schools() {
			bodies = append(bodies, string(c.get("/test-results/v1/growth?school-bid="+url.QueryEscape(s.Bid))))
			bodies = append(bodies, string(c.get("/organizations/v1/schools/"+url.PathEscape(s.Bid)+"/students")))
		}
		return bodies
	}
	require.Equal(t, read(), read())
}

func TestSchoolWithoutABid(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{Schools: 4, BidlessSchool: true})
	_, c := start(t, world, ServerOptions{})
	require.Len(t, world.Schools(), 4)
	rows := world.Oracle(OracleOptions{})
	require.Len(t, rows["schools"], 5)
	require.Nil(t, rows["schools"][0]["school_bid"], "nulls come first")
	records, isList := decode(t, c.get("/organizations/v1/schools")).([]any)
	require.True(t, isList)
	require.Len(t, records, 5)
	require.NotContains(t, records[4], "schoolBid")
}
