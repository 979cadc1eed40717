// Package report draws a run as a page: one HTML file that can be looked at from a disk, a bucket or a mail, without a network,
// a font or a script, in light and dark, wide, narrow and on paper.
//
// It is pure: a [Page] is what is known of the run, from its manifest, its ledger or its journals, and [Write] turns it into
// bytes that depend on nothing else. It holds what these hold and no more, so nothing of a student; whatever comes from the
// service is escaped.
//
// The order is that of somebody who looks in the morning: what became of the run, what to do, what failed, how much there is
// beside the last time; then how it went. A section with nothing to say is left out, so that the page of a quiet night is short.
//
// Plots are laid out by gonum.org/v1/plot. What it draws on is ours (canvas.go): SVG whose colours are those of the page's style
// sheet and whose text is text, once for a wide window and once for a narrow one.
package report
