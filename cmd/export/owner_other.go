//go:build !unix

package main

// otherOwner returns empty strings, because this system has no root user.
func otherOwner(string, int) (owner, prefix string) { return "", "" }
