// Package review defines the criteria for complete runs: the checks of the service's own rules, and the reasons to hold
// a run back, which are also the warnings about published runs. It also defines how the results are stored and worded.
// Documents hold checks and reasons as data. This package makes the sentences about them, and no program parses such a
// sentence.
//
// The package does not apply the criteria. Package pipeline does, with counts from package snapshot, whose documents
// contain the types of this package.
package review
