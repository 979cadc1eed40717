// Package azuretest starts Azurite, Microsoft's emulator of Azure Blob Storage, for tests. The Makefile installs it,
// with its own copy of Node, in the folder given by the environment variable AZURITE. A Proxy in front of it injects
// faults.
package azuretest
