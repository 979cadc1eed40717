package maintenance

// Unexported names that external tests use.
const (
	PurgeBegun      = purgeBegun
	PurgeDone       = purgeDone
	PurgeIncomplete = purgeIncomplete
)

// ID returns the part of a purge's id that is the same for the same request.
func (a PurgeAsked) ID() string { return a.id() }
