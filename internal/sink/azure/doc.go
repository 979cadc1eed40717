// Package azure is the destination on Azure Blob Storage and Data Lake Storage: a [sink.Store] whose staged files are
// uncommitted blocks, committed by Put Block List. It is the only importer of the Azure SDK.
//
// # How a file becomes visible
//
// A Draft grows in an unnamed file in the scratch folder. Stage sends it as blocks of equal size, at least 8 MiB; a smaller
// file is one block. The blocks belong to the path where the file will be visible, but until they are committed no reader
// can list or read them. Commit puts the list of the blocks, on condition that there is no blob at the path. Only to
// replace a blob of other content does it do so on condition of that blob's ETag.
//
// # Blocks that are never committed
//
// All uncommitted blocks of a path, of any process, are in one list, and the service has no request to drop one. So the
// id of a block names its upload, number, size and time, and a block is dropped by writing another one with its id and
// one meaningless byte: the rows are gone at once, other uploads of the path are not affected, and nothing becomes
// visible. A block whose size differs from its id is not staged any more. The byte disappears when any file is
// committed at the path, or a week later, when the service removes uncommitted blocks.
//
// A staged file also expires after this week. Commit compares the list of blocks with what was staged before it
// commits, and the size of the blob afterwards, and reports sink.ErrStagedLost.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. So every file and document has a random id in its metadata
// (growth_export_id), and the blob is checked when a condition is refused, perhaps because an earlier attempt
// succeeded.
//
// # Locks
//
// There are no locks. Documents are written with If-None-Match and If-Match, and Lock does not exclude other processes.
//
// # Permissions
//
// An identity needs the role Storage Blob Data Contributor on the container; a shared access signature needs the
// permissions read, add, create, write, delete and list. Accounts with a hierarchical namespace list folders as empty
// blobs, which are skipped.
package azure
