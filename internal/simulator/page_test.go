package simulator

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPageSizes(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{SchoolSizes: []int{0, 1, 999, 1000, 1001, 2001}})
	_, c := StartClient(t, world, ServerOptions{})
	ends := map[string]int{}
	for i, want := range [][]int{{0}, {1}, {999}, {1000}, {1000, 1}, {1000, 1000, 1}} {
		sizes := []int{}
		var last map[string]any
		for _, body := range c.Pages("/test-results/v1/growth", url.Values{"school-bid": {world.Schools()[i].Bid}}) {
			page, isObject := Decode(t, body).(map[string]any)
			require.True(t, isObject)
			results, isList := page["testResults"].([]any)
			require.True(t, isList)
			sizes = append(sizes, len(results))
			last, _ = page["pagination"].(map[string]any)
		}
		require.Equal(t, want, sizes)
		next, there := last["nextPage"]
		switch {
		case !there:
			ends["absent"]++
		case next == nil:
			ends["null"]++
		default:
			require.Empty(t, next)
			ends["empty"]++
		}
	}
	require.Equal(t, map[string]int{"absent": 2, "null": 2, "empty": 2}, ends)
}

// TestSameSeedSameBytes requests the same pages from two servers of equal worlds, in different orders, concurrently,
// and after different faults.
func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	paths := func(world *World, c *Client) []string {
		list := []string{"/organizations/v1/schools", "/organizations/v1/districts/"}
		for _, d := range world.Districts() {
			list = append(list, "/organizations/v1/districts/"+d.Bid+"/schools")
		}
		for _, s := range world.Schools() {
			list = append(list, "/organizations/v1/schools/"+s.Bid+"/students", "/test-results/v1/growth?school-bid="+s.Bid)
			if s.Results > 20 {
				first := c.Get("/test-results/v1/growth?school-bid=" + s.Bid)
				list = append(list, "/test-results/v1/growth?school-bid="+s.Bid+"&next-page="+url.QueryEscape(NextPage(t, first)))
			}
		}
		return list
	}
	read := func(seed uint64) map[string][]byte {
		world := Small()
		_, c := StartClient(t, world, ServerOptions{PageSize: 20})
		list := paths(world, c)
		shuffle := rand.New(rand.NewPCG(seed, 1))
		shuffle.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		var (
			wg     sync.WaitGroup
			mu     sync.Mutex
			bodies = map[string][]byte{}
			slots  = make(chan struct{}, 16)
		)
		for _, path := range list {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				body := c.Get(path)
				mu.Lock()
				defer mu.Unlock()
				bodies[path] = body
			})
		}
		wg.Wait()
		return bodies
	}
	first, second := read(1), read(2)
	require.Len(t, first, 2+4+6+6+2)
	require.Equal(t, first, second)

	other := NewWorld(Options{Seed: 8, SchoolSizes: []int{0, 1, 19, 20, 21, 130}})
	require.NotEqual(t, Small().Schools()[1].Bid, other.Schools()[1].Bid)
}

// TestBytesOfTheDefaultWorld detects unintended changes to the world. An intended change must update the number.
// Made-up values are left out, so that a new column does not change it.
func TestBytesOfTheDefaultWorld(t *testing.T) {
	t.Parallel()
	server, c := StartClient(t, Small(), ServerOptions{PageSize: 20})
	for _, op := range server.operations {
		for _, table := range op.Tables {
			for _, s := range append(slices.Collect(maps.Values(table.Shape.Nests)), table.Shape) {
				s.once.Do(func() {})
			}
		}
	}
	sum := uint64(0)
	for _, s := range Small().Schools() {
		for _, body := range c.Pages("/test-results/v1/growth", url.Values{"school-bid": {s.Bid}}) {
			sum = hashText(sum, string(body))
		}
		sum = hashText(sum, string(c.Get("/organizations/v1/schools/"+s.Bid+"/students")))
	}
	require.Equal(t, uint64(0x52bb2a9a414a4dbf), sum)
}

func TestMembersComeInManyOrders(t *testing.T) {
	t.Parallel()
	world := Small()
	var a Arena
	record := world.List(&Call{Op: FindOperation(Operations(), "test_results"), School: 5}).Record(&a, 3)
	var plain any
	seen := map[string]bool{}
	for style := range uint64(1000) {
		var r renderer
		r.element(&Value{Kind: Object, Sub: record}, Mix(style), false)
		seen[string(r.dst)] = true
		var v any
		require.NoError(t, json.Unmarshal(r.dst, &v))
		if plain == nil {
			plain = v
		}
		require.Equal(t, plain, v)
		if r.ascii {
			require.NotContains(t, string(r.dst), "ñ")
		}
	}
	require.Greater(t, len(seen), 100)
}

func TestStringsAreValidJSON(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(firstNames[:], lastNames[:], places[:], []string{"", "a\tb\x01", `\"/`, "𠮷"}) {
		for _, ascii := range []bool{false, true} {
			raw := AppendString(nil, s, ascii)
			var back string
			require.NoError(t, json.Unmarshal(raw, &back), "%s", raw)
			require.Equal(t, s, back)
			if ascii {
				require.Equal(t, -1, bytes.IndexFunc(raw, func(r rune) bool { return r > 126 }))
			}
		}
	}
}

func TestNumbersAndMoments(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 5: "0.05", -5: "-0.05", 50: "0.5", 300: "3", 325: "3.25", -120: "-1.2"} {
		v := decimalOf(int(n))
		require.Equal(t, want, v.JSON())
	}
	const at = 1795132805042 // 2026-11-20T00:00:05.042Z
	for precision, want := range map[uint64]string{
		withMillis:              "2026-11-20T00:00:05.042Z",
		withoutFraction:         "2026-11-20T00:00:05Z",
		withMillisZoneless:      "2026-11-20T00:00:05.042",
		withoutFractionZoneless: "2026-11-20T00:00:05",
	} {
		v := TimestampOf(at, precision)
		require.Equal(t, `"`+want+`"`, v.JSON())
	}
}

func BenchmarkPage(b *testing.B) {
	world := NewWorld(Options{SchoolSizes: []int{1000}})
	var op *Operation
	for _, op = range Operations() {
		if op.Name == "test_results" {
			break
		}
	}
	page := &pageBuffer{}
	c := &Call{Op: op, School: 0, District: -1}
	for b.Loop() {
		page.renderer.dst = page.renderer.dst[:0]
		world.page(&page.renderer, &page.arena, c, 1000, "")
	}
	b.SetBytes(int64(len(page.renderer.dst)))
	b.ReportMetric(float64(len(page.renderer.dst))/1000, "bytes/result")
}
