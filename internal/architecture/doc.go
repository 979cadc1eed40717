// Package architecture holds no code but a test: who may import what, and why.
// Its table is the import graph, package by package and exactly, so that
// neither an import nor an allowance that nobody uses slips in. The linter says
// the same at the line where an import is written (depguard in .golangci.yml);
// this test also sees what is linked in the end.
//
// The go command does not know that the test looks at other packages and may
// answer from its cache: run it by `make test`, or with -count=1.
package architecture
