// Package azuretest starts Azurite, Microsoft's emulator of Azure Blob Storage, for tests. The Makefile installs it, with a
// Node of its own, in the folder that the environment variable AZURITE names. A Proxy in front of it injects faults.
package azuretest
