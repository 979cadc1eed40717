package maintenance

import "example.org/growthexport/schemas"

// What tests from outside call of the inside.
const (
	PurgeBegun = purgeBegun
	PurgeDone  = purgeDone
)

var (
	OpenDataFile = openDataFile
	ReadFile     = readFile
	TextColumns  = textColumns
)

// ID returns the part of a purge's id that is the same for the same bids.
func (a PurgeAsked) ID() string { return a.id() }

// Table returns the table that the file declares itself.
func (f *dataFile) Table() *schemas.Table { return f.table }
