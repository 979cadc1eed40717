package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// OnePublisher is the advice for stores that cannot prevent two publishers from publishing at the same time.
const OnePublisher = "let only one run or publish command at a time use this destination"

// PublisherAdvice returns the advice for a store that cannot prevent two publishers from publishing at the same time.
// It begins with the store's own advice, if there is any.
func PublisherAdvice(info sink.Info) string {
	if info.Conditions == "" {
		return OnePublisher
	}
	return info.Conditions + ", or " + OnePublisher
}

// cleanupTimeout limits the time for removing the probe files.
const cleanupTimeout = 15 * time.Second

// AdaptConditions tests conditional writes with a probe document, which it removes afterwards, and adapts the store to
// the server's behavior. It reports whether the server ignores the conditions. It returns sink.ErrVersionRefused if the
// document cannot be replaced safely with any form of the version that the server has just returned.
func AdaptConditions(ctx context.Context, store sink.Store, now time.Time) (ignored bool, err error) {
	removeStaleFiles(ctx, store, now)
	_, path := probePaths(newRun(now))
	ignored, err = tryConditions(ctx, store, path)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = store.Remove(ctx, path) // if it fails, the next command removes the document
	return ignored, err
}

// tryConditions makes conditional writes of a document, some of which must fail, and adapts the store. It returns the
// same results as AdaptConditions. The caller removes the document.
func tryConditions(ctx context.Context, store sink.Store, path string) (ignored bool, err error) {
	absent := sink.Condition{Absent: true}
	if err := store.Write(ctx, path, probeContent(), absent); err != nil {
		return false, err
	}
	ignored, err = accepts(ctx, store, path, absent)
	if err == nil && !ignored {
		ignored, err = acceptsStale(ctx, store, path)
	}
	adapter, adapts := store.(sink.ConditionAdapter)
	switch {
	case err != nil:
		return false, err
	case ignored:
		if adapts {
			adapter.AdaptConditions(sink.EmulatedConditions)
		}
		return true, nil
	}
	replaced, err := replaces(ctx, store, path)
	if err == nil && !replaced && adapts && adapter.Conditions() == sink.StandardConditions {
		adapter.AdaptConditions(sink.UnquotedConditions)
		if replaced, err = replaces(ctx, store, path); replaced {
			ignored, err = acceptsStale(ctx, store, path)
		}
		if err != nil || !replaced || ignored {
			adapter.AdaptConditions(sink.StandardConditions)
			replaced = false
		}
	}
	if err == nil && !replaced {
		err = sink.ErrVersionRefused
	}
	return false, err
}

// accepts reports whether a write under the given condition succeeds.
func accepts(ctx context.Context, store sink.Store, path string, when sink.Condition) (bool, error) {
	err := store.Write(ctx, path, probeContent(), when)
	if errors.Is(err, sink.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// acceptsStale reports whether a write succeeds although its condition is a version that the document does not have.
func acceptsStale(ctx context.Context, store sink.Store, path string) (bool, error) {
	return accepts(ctx, store, path, sink.Condition{Version: "0"})
}

// replaces tries to replace a document on the condition that it still has its current version, and reports whether that
// succeeded.
func replaces(ctx context.Context, store sink.Store, path string) (bool, error) {
	data, version, err := store.Read(ctx, path)
	if err != nil {
		return false, err
	}
	err = store.Write(ctx, path, append(data, '\n'), sink.Condition{Version: version})
	if errors.Is(err, sink.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

const (
	// racers is the number of concurrent writers of each document. raceRounds is the number of documents.
	racers     = 6
	raceRounds = 3
)

// raceDocuments returns the paths of the documents that writers race for, derived from the path of another document.
func raceDocuments(document string) []string {
	paths := make([]string, raceRounds)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s-race-%d.json", strings.TrimSuffix(document, ".json"), i)
	}
	return paths
}

// raceWriters lets several writers create each document at the same time, and then replace it at the same time. It
// reports whether a writer overwrote the document of another writer. The caller removes the documents.
func raceWriters(ctx context.Context, store sink.Store, paths []string) (overwritten bool, err error) {
	for _, path := range paths {
		when := sink.Condition{Absent: true}
		for range 2 {
			won, err := race(ctx, store, path, when)
			if err != nil {
				return false, err
			}
			overwritten = overwritten || won > 1
			if _, when.Version, err = store.Read(ctx, path); err != nil {
				return false, err
			}
			when.Absent = false
		}
	}
	return overwritten, nil
}

// race writes several different contents to a path at the same time, all under the same condition, and returns how many
// of these writes succeeded.
func race(ctx context.Context, store sink.Store, path string, when sink.Condition) (won int, err error) {
	passed, err := sink.Map(ctx, racers, make([]struct{}, racers), func(ctx context.Context, _ struct{}) (bool, error) {
		err := store.Write(ctx, path, fmt.Appendf(probeContent(), "%s %s\n", when.Version, rand.Text()), when)
		if errors.Is(err, sink.ErrConflict) {
			return false, nil
		}
		return err == nil, err
	})
	for _, p := range passed {
		if p {
			won++
		}
	}
	return won, err
}

// probeContent returns the content of the probe files.
func probeContent() []byte { return []byte(`{"written_by":"growth-export doctor"}` + "\n") }
