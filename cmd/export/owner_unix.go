//go:build unix

package main

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// otherOwner returns the owner of an existing file or folder, and a prefix that makes a command run as that user. It
// returns empty strings unless uid, the user of this process, is root and the owner is another user.
func otherOwner(path string, uid int) (owner, prefix string) {
	info, err := os.Stat(path)
	if err != nil || uid != 0 {
		return "", "" // the store reports a folder that cannot be used
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return "", ""
	}
	id := strconv.FormatUint(uint64(stat.Uid), 10)
	if found, err := user.LookupId(id); err == nil {
		return found.Username, "runuser -u " + found.Username + " --"
	}
	return "the user with the id " + id, "setpriv --reuid=" + id + " --regid=" + strconv.FormatUint(uint64(stat.Gid), 10) + " --clear-groups"
}
