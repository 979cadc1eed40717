package doctor

import (
	"context"
	"errors"
	"time"

	"example.org/growthexport/internal/sink"
)

// OnePublisher is the advice for stores on which two publishers may publish at once.
const OnePublisher = "let only one run or publish at a time work at this destination"

// cleanupTimeout bounds the removal of the probe files.
const cleanupTimeout = 15 * time.Second

// ConditionsIgnored reports whether a store ignores the conditions of conditional writes, by writing a document, which
// it removes again. The error is sink.ErrVersionRefused if the store refuses the version that it has just returned.
func ConditionsIgnored(ctx context.Context, store sink.Store, now time.Time) (bool, error) {
	_, path := probePaths(newRun(now))
	ignored, err := tryConditions(ctx, store, path)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = store.Remove(ctx, path) // the next doctor removes what is left
	return ignored, err
}

// tryConditions writes a document under conditions that hold and under others that do not. The caller removes it.
func tryConditions(ctx context.Context, store sink.Store, path string) (ignored bool, err error) {
	absent := sink.Condition{Absent: true}
	if err := store.Write(ctx, path, probeContent(), absent); err != nil {
		return false, err
	}
	again := store.Write(ctx, path, probeContent(), absent)
	stale := store.Write(ctx, path, probeContent(), sink.Condition{Version: "0"})
	for _, refused := range []error{again, stale} {
		if refused != nil && !errors.Is(refused, sink.ErrConflict) {
			return false, refused
		}
	}
	_, version, err := store.Read(ctx, path)
	if err != nil {
		return false, err
	}
	err = store.Write(ctx, path, append(probeContent(), '\n'), sink.Condition{Version: version})
	if errors.Is(err, sink.ErrConflict) {
		err = sink.ErrVersionRefused
	}
	return again == nil || stale == nil, err
}

// probeContent returns the content of the probe files.
func probeContent() []byte { return []byte(`{"written_by":"growth-export doctor"}` + "\n") }
