// Package azure is the destination on Azure Blob Storage and Data Lake Storage: a [sink.Store] whose staged files are
// uncommitted blocks, which Put Block List commits. It is the only importer of the Azure SDK.
//
// # How a file becomes visible
//
// A Draft is written to an unnamed file in the scratch folder. Stage sends it as blocks of equal size, at least 8 MiB,
// except that the last one may be smaller. The blocks belong to the path where the file will be visible, but until they
// are committed no reader can read them. Commit commits the list of the blocks, on condition that there is no blob at
// the path. Only to replace a blob with other content does it use the ETag of that blob as the condition.
//
// # Blocks that are never committed
//
// All uncommitted blocks of a path, of any process, are in one list, and the service has no request to drop a single
// block. The id of a block therefore contains its upload, number, size and time, and a block is dropped by writing
// another one with the same id and one meaningless byte, or two if it had one byte: the rows are gone at once, other
// uploads to the path are not affected, and nothing becomes visible. A block whose size differs from the size in its id
// is no longer staged. These bytes disappear when any file is committed at the path, or after a week, when the service
// removes uncommitted blocks.
//
// A staged file also expires after a week. Before it commits, Commit compares the list of blocks with the blocks that
// were staged, and afterwards it compares the size of the blob. If they differ, it returns sink.ErrStagedLost.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. Every file and document therefore has a random id in
// its metadata (growth_export_id), and the blob is checked when a condition is refused, perhaps because an earlier
// attempt succeeded.
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
