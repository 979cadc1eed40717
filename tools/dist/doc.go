// Command dist writes the files of a release to a folder: SHA256SUMS, a Homebrew formula, a winget manifest and, for
// each platform, an archive and its bill of materials (CycloneDX). An archive holds a static binary, manual pages,
// completion files, the licences of the linked modules, and the same bill of materials. For Linux there are further
// archives, whose binaries use a frozen cryptographic module in FIPS 140-3 mode.
//
// The same sources, version and Go release produce the same bytes: nothing depends on the clock, the folder or the
// order of files.
package main
