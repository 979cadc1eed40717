package sink

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	serviceA = "https://service.example"
	serviceB = "https://test.example"
)

func ofService(baseURL string) func(*Plan) {
	return func(p *Plan) { p.BaseURL = baseURL }
}

// refusedService returns why the destination refuses a run of a service; empty
// if it does not.
func refusedService(t *testing.T, store Store, baseURL string) string {
	t.Helper()
	err := CheckDestination(t.Context(), store, baseURL, NotPartitioned, false)
	require.NoError(t, CheckDestination(t.Context(), store, baseURL, NotPartitioned, true))
	if err == nil {
		return ""
	}
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	return refused.Reason
}

func TestDestinationBelongsToTheServiceOfItsFirstRun(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	require.Empty(t, refusedService(t, store, serviceA))

	t.Log("a run that was only planned does not count")
	planned := newPlan("planned", few, ofService(serviceB))
	_, err := CreatePlan(t.Context(), store, planned)
	require.NoError(t, err)
	require.Empty(t, refusedService(t, store, serviceA))
	require.Empty(t, refusedService(t, store, serviceB))

	t.Log("one that has staged something does")
	plan := newPlan("first", few)
	_, err = CreatePlan(t.Context(), store, plan)
	require.NoError(t, err)
	stageUnit(t, store, plan, plan.Units()[0], nil)
	require.Empty(t, refusedService(t, store, serviceA))
	reason := refusedService(t, store, serviceB)
	require.Contains(t, reason, "belongs to https://service.example (run first, not published), not to https://test.example: ")
	require.Contains(t, reason, "--accept-base-url")
	require.Contains(t, reason, "publish --abandon --run-id first")

	t.Log("and so does a published one, which may be of any kind, and of an earlier build that knew no such rule")
	stageRun(t, store, plan, nil)
	publishRun(t, store, "first")
	require.NoFileExists(t, filepath.Join(store.String(), ServicePath))
	require.Empty(t, refusedService(t, store, "HTTPS://Service.Example:443//"))
	require.Contains(t, refusedService(t, store, "simulate"), "not to simulate")
}

func TestDestinationOfAsOfRunsAlone(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	takeSnapshot(t, store, newPlan("past", few, func(p *Plan) { p.Kind, p.SnapshotDate = AsOf, "2026-10-01" }))
	require.Empty(t, refusedService(t, store, serviceA))
	require.Contains(t, refusedService(t, store, serviceB), "(run past)")
}

func TestDestinationMovesToAnotherService(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	takeSnapshot(t, store, newPlan("old", few, onDate("2026-11-19")))
	stageRun(t, store, newPlan("new", few, ofService(serviceB)), nil)
	_, err := Publish(t.Context(), store, gather(t, store, "new"), options())
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, serviceA)
	require.Contains(t, refused.Reason, serviceB)
	require.Contains(t, refusedService(t, store, serviceB), "run old", "nothing has moved yet")

	accept := options()
	accept.AcceptBaseURL = true
	m, err := Publish(t.Context(), store, gather(t, store, "new"), accept)
	require.NoError(t, err)
	require.Equal(t, serviceB, m.BaseURL)
	require.Empty(t, refusedService(t, store, serviceB))
	require.Contains(t, refusedService(t, store, serviceA), "belongs to https://test.example, not to https://service.example: ")

	t.Log("the plan may accept it, too, and back again; what one service staged stays its own")
	takeSnapshot(t, store, newPlan("back", few, onDate("2026-11-21"), func(p *Plan) { p.AcceptBaseURL = true }))
	require.Empty(t, refusedService(t, store, serviceA))
	requireVerified(t, store, VerifyTarget{})

	require.NoError(t, os.WriteFile(filepath.Join(store.String(), ServicePath), []byte("{"), 0o600))
	require.Contains(t, refusedService(t, store, serviceA), ServicePath)
}

func TestFindEqual(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	find := func(kind Kind, date, baseURL string, scope Scope) string {
		m, err := FindEqual(t.Context(), store, kind, date, baseURL, scope)
		require.NoError(t, err)
		if m == nil {
			return "none"
		}
		return m.RunID
	}
	scope := newPlan("x", few).Scope
	other := newPlan("x", datasets("schools")).Scope
	for _, kind := range []Kind{Full, AsOf, Delta} {
		takeSnapshot(t, store, newPlan(string(kind), few, func(p *Plan) { p.Kind = kind }))
		require.Equal(t, string(kind), find(kind, today, serviceA, scope))
		require.Equal(t, "none", find(kind, "2026-11-19", serviceA, scope))
		require.Equal(t, "none", find(kind, today, serviceB, scope))
		require.Equal(t, "none", find(kind, today, serviceA, other))
	}
}

func TestCanonicalBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"simulate":                      "simulate",
		"https://host":                  "https://host",
		"HTTPS://HOST:443/":             "https://host",
		"http://host:80/a/b//":          "http://host/a/b",
		"http://host:443":               "http://host:443",
		"https://host:8443/Path":        "https://host:8443/Path",
		"https://host/a%2Fb/":           "https://host/a%2Fb",
		"https://[2001:DB8::1]:443/x":   "https://[2001:db8::1]/x",
		"http://127.0.0.1:8080/path%20": "http://127.0.0.1:8080/path%20",
	} {
		require.Equal(t, want, CanonicalBaseURL(text), text)
		require.Equal(t, want, CanonicalBaseURL(want))
	}
}

func TestPartitioningOfRunsThatHaveBegun(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	byDistrict := func(p *Plan) { p.Scope.PartitionBy = ByDistrict }
	plan := newPlan("first", few, byDistrict)
	check := func(partitionBy string) error {
		return CheckDestination(t.Context(), store, plan.BaseURL, partitionBy, false)
	}
	require.NoError(t, check(ByDistrict))
	stageRun(t, store, plan, nil)
	require.NoError(t, check(ByDistrict))
	err := check(NotPartitioned)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)

	t.Log("of two that began at once the first to be published settles it")
	stageRun(t, store, newPlan("second", few), nil)
	publishRun(t, store, "second")
	_, err = Publish(t.Context(), store, gather(t, store, "first"), PublishOptions{Now: publishedAt, Replace: true})
	require.ErrorAs(t, err, &refused)
	requireVerified(t, store, VerifyTarget{})
}
