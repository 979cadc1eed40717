// Package review says what a complete run is judged by, and how the judgement is written down and worded: the checks of the
// service's own rules, and the reasons to hold a run back, which are also the warnings about a run that is published.
// Documents hold them as data, every sentence about them is made here, and nothing reads a sentence.
//
// It does not judge: the pipeline does, from the counts of the catalogue, whose documents hold what this package
// declares.
package review
