// Package azuretest starts Azurite, Microsoft's emulator of Azure Blob Storage, for tests. The Makefile installs
// Azurite, with its own copy of Node, in the folder given by the environment variable AZURITE. Tests inject faults with
// a Proxy in front of Azurite.
package azuretest
