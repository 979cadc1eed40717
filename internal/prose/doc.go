// Package prose has no code, only a test: it searches comments, Markdown, scripts and messages for turns of phrase that
// make technical English hard to read, and suggests what to write instead. The phrases are in rules_test.go.
package prose
