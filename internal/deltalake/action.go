package deltalake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// appID identifies this program in the transactions that mark its commits, and in the descriptions of commits.
const appID = "growth-export"

// The protocol versions that readers and writers of the tables must support.
const (
	readerVersion = 1
	writerVersion = 2
)

// action is one line of a commit. One member is set, or none if this program does not use that kind of action.
type action struct {
	CommitInfo *commitInfo `json:"commitInfo,omitempty"`
	Txn        *txn        `json:"txn,omitempty"`
	Protocol   *protocol   `json:"protocol,omitempty"`
	MetaData   *metaData   `json:"metaData,omitempty"`
	Remove     *remove     `json:"remove,omitempty"`
	Add        *add        `json:"add,omitempty"`
}

// commitInfo describes a commit for people, for example in DESCRIBE HISTORY. In commits of other programs, the members
// that this program does not read may have any type.
type commitInfo struct {
	Timestamp  any    `json:"timestamp"` // in milliseconds
	Operation  string `json:"operation"`
	Parameters any    `json:"operationParameters"`
	Metrics    any    `json:"operationMetrics"`
	EngineInfo string `json:"engineInfo"`
}

type txn struct {
	AppID       string `json:"appId"`
	Version     int64  `json:"version"`
	LastUpdated *int64 `json:"lastUpdated,omitempty"`
}

type protocol struct {
	MinReaderVersion int `json:"minReaderVersion"`
	MinWriterVersion int `json:"minWriterVersion"`
}

type metaData struct {
	ID               string            `json:"id"`
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Format           format            `json:"format"`
	SchemaString     string            `json:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns"`
	Configuration    map[string]string `json:"configuration"`
	CreatedTime      int64             `json:"createdTime"`
}

type format struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

// add is the action that makes a file live.
type add struct {
	// Path is percent-encoded and relative to the table.
	Path             string             `json:"path"`
	PartitionValues  map[string]*string `json:"partitionValues"`
	Size             int64              `json:"size"`
	ModificationTime int64              `json:"modificationTime"`
	DataChange       bool               `json:"dataChange"`
	Stats            string             `json:"stats,omitempty"`
}

// remove is the action that makes a file no longer live.
type remove struct {
	Path              string `json:"path"`
	DeletionTimestamp int64  `json:"deletionTimestamp"`
	DataChange        bool   `json:"dataChange"`
}

// encodeCommit returns a commit as it is stored: one action per line.
func encodeCommit(actions []action) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range actions {
		if err := e.Encode(&actions[i]); err != nil {
			return nil, fmt.Errorf("encode a commit: %w", err)
		}
	}
	return b.Bytes(), nil
}

// isOwn reports whether the actions come from a commit of this program.
func isOwn(actions []action) bool {
	return slices.ContainsFunc(actions, func(a action) bool { return a.Txn != nil && a.Txn.AppID == appID })
}

// decodeCommit returns the actions in a commit. An empty commit is an error.
func decodeCommit(data []byte) ([]action, error) {
	var actions []action
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var a action
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(actions)+1, err)
		}
		actions = append(actions, a)
	}
	if len(actions) == 0 {
		return nil, errors.New("it is empty")
	}
	return actions, nil
}
