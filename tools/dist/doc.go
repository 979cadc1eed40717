// Command dist writes the files of a release to a folder: SHA256SUMS and, for each platform, an archive and its bill of
// materials (CycloneDX). It also writes a Homebrew formula if there are archives for macOS or Linux, and a winget
// manifest if there are archives for Windows. An archive contains a static binary, documents, manual pages, completion
// files, the licences of the linked modules, and the same bill of materials. With -fips there are further archives for
// Linux, whose binaries use a frozen cryptographic module in FIPS 140-3 mode.
//
// The same sources, version and Go release produce the same bytes: nothing depends on the clock, the folder or the
// order of files.
package main
