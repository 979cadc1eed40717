package odd

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// counting counts the oddities and containers of every list that is read.
type counting struct {
	*Quirks

	done       map[string]int
	containers map[string]map[string]bool // by operation
}

func (o *counting) List(w *simulator.World, c *simulator.Call, plain simulator.List) simulator.List {
	q := &oddList{oddities: o.oddities, world: w, call: c, plain: plain}
	list := o.Quirks.List(w, c, plain)
	for i := list.Next(0); i < list.Count; i = list.Next(i + 1) {
		for _, name := range q.oddCase(&simulator.Arena{}, i, &simulator.Rand{}).did {
			o.done[name]++
		}
	}
	kind := "whole"
	switch k := w.Container(c); {
	case k.Wrapper == "":
		kind = "bare"
	case k.Paged:
		kind = "paged"
	case k.Pagination == "":
		kind = "wrapped"
	}
	if o.containers[c.Op.Name] == nil {
		o.containers[c.Op.Name] = map[string]bool{}
	}
	o.containers[c.Op.Name][kind] = true
	return list
}

// TestEveryOddityComes makes sure that odd worlds have every oddity.
func TestEveryOddityComes(t *testing.T) {
	t.Parallel()
	odd := &counting{Quirks: New(), done: map[string]int{}, containers: map[string]map[string]bool{}}
	oracle.Expect(simulator.NewWorld(simulator.Options{Seed: 7, Quirks: odd, SchoolSizes: []int{400, 400}}), oracle.Options{Datasets: oracle.AllDatasets()})
	names := map[string]bool{}
	for i := range odd.oddities {
		name := odd.oddities[i].name
		require.Positive(t, odd.done[name], name)
		require.False(t, names[name], "%s: each has a name of its own", name)
		names[name] = true
	}
}

func TestContainersVary(t *testing.T) {
	t.Parallel()
	odd := &counting{Quirks: New(), done: map[string]int{}, containers: map[string]map[string]bool{}}
	oracle.Expect(simulator.NewWorld(simulator.Options{Quirks: odd, SchoolSizes: slices.Repeat([]int{0, 5, 10}, 12)}), oracle.Options{Datasets: oracle.AllDatasets()})
	for name, seen := range odd.containers {
		switch name {
		case "schools":
			require.Equal(t, map[string]bool{"bare": true}, seen, name)
		case "test_results", "academic_years", "school_classes":
			require.Equal(t, map[string]bool{"paged": true}, seen, name)
		case "students", "student_school_associations", "educator_school_associations", "student_school_classes", "educator_school_classes":
			require.Len(t, seen, 4, name)
		}
	}
	require.Len(t, odd.containers, len(oracle.AllDatasets()))
}

func TestOddBidsAreReadBack(t *testing.T) {
	t.Parallel()
	world, plain := simulator.NewWorld(simulator.Options{Quirks: New(), Schools: 40, Districts: 30}), simulator.NewWorld(simulator.Options{Schools: 40, Districts: 30})
	forms := map[int]int{}
	for i, s := range world.Schools() {
		what, group, _, ok := world.FindBid(s.Bid)
		require.True(t, ok, "%q", s.Bid)
		require.Equal(t, []int{int(simulator.SchoolEntity), i}, []int{int(what), group})
		forms[oddForm(world, world.BidOf(simulator.SchoolEntity, i, 0))]++
		if was := plain.Schools()[i].Bid; was != s.Bid {
			_, _, _, ok = world.FindBid(was)
			require.False(t, ok, "a bid is good in one form only")
			_, _, _, ok = plain.FindBid(s.Bid)
			require.False(t, ok)
		}
	}
	require.Len(t, forms, 1+len(oddForms), "plain ones and every odd form")
	long := slices.MaxFunc(world.Schools(), func(a, b simulator.School) int { return len(a.Bid) - len(b.Bid) })
	require.Greater(t, len(long.Bid), 400)
	odd := 0
	for _, d := range world.Districts() {
		if what, _, _, ok := world.FindBid(d.Bid); !ok || what != simulator.DistrictEntity {
			t.Fatalf("%q", d.Bid)
		}
		if !strings.Contains(d.Bid, "-4") || len(d.Bid) != 36 {
			odd++
		}
	}
	require.Positive(t, odd)
	for _, text := range []string{"", "-1", "../../", "340282366920938463463374607431768211456", "+5"} {
		_, _, _, ok := world.FindBid(text)
		require.False(t, ok, "%q", text)
	}
}
