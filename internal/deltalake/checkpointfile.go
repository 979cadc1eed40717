package deltalake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go"

	"example.org/growthexport/internal/parquetfile"
)

// checkpointRow is a row of a checkpoint. One member is set, or none if this program does not use that kind of action.
// The fields of these structs are in alphabetical order, as are the columns of the file.
type checkpointRow struct {
	Add      *checkpointAdd      `parquet:"add"`
	MetaData *checkpointMetaData `parquet:"metaData"`
	Protocol *checkpointProtocol `parquet:"protocol"`
	Remove   *checkpointRemove   `parquet:"remove"`
	Txn      *checkpointTxn      `parquet:"txn"`
}

type checkpointAdd struct {
	DataChange       bool    `parquet:"dataChange"`
	ModificationTime int64   `parquet:"modificationTime"`
	PartitionValues  pairs   `parquet:"partitionValues"`
	Path             string  `parquet:"path"`
	Size             int64   `parquet:"size"`
	Stats            *string `parquet:"stats"`
}

type checkpointMetaData struct {
	Configuration pairs   `parquet:"configuration"`
	CreatedTime   int64   `parquet:"createdTime"`
	Description   *string `parquet:"description"`
	Format        struct {
		Options  pairs  `parquet:"options"`
		Provider string `parquet:"provider"`
	} `parquet:"format"`
	ID               string  `parquet:"id"`
	Name             *string `parquet:"name"`
	PartitionColumns struct {
		List []listElement `parquet:"list"`
	} `parquet:"partitionColumns"`
	SchemaString string `parquet:"schemaString"`
}

type checkpointProtocol struct {
	MinReaderVersion int32 `parquet:"minReaderVersion"`
	MinWriterVersion int32 `parquet:"minWriterVersion"`
}

type checkpointRemove struct {
	DataChange        bool   `parquet:"dataChange"`
	DeletionTimestamp int64  `parquet:"deletionTimestamp"`
	Path              string `parquet:"path"`
}

type checkpointTxn struct {
	AppID       string `parquet:"appId"`
	LastUpdated *int64 `parquet:"lastUpdated"`
	Version     int64  `parquet:"version"`
}

// pairs holds the entries of a map, sorted by key, because the library would write a Go map in random order.
type pairs struct {
	KeyValue []pair `parquet:"key_value"`
}

type pair struct {
	Key   string  `parquet:"key"`
	Value *string `parquet:"value"`
}

type listElement struct {
	Element string `parquet:"element"`
}

func pairsOf(values map[string]*string) pairs {
	var p pairs
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p.KeyValue = append(p.KeyValue, pair{key, values[key]})
	}
	return p
}

func textPairs(values map[string]string) pairs {
	pointers := make(map[string]*string, len(values))
	for key, value := range values {
		pointers[key] = &value
	}
	return pairsOf(pointers)
}

func (p pairs) values() map[string]*string {
	values := make(map[string]*string, len(p.KeyValue))
	for _, entry := range p.KeyValue {
		values[entry.Key] = entry.Value
	}
	return values
}

func (p pairs) texts() map[string]string {
	texts := make(map[string]string, len(p.KeyValue))
	for _, entry := range p.KeyValue {
		texts[entry.Key] = textOf(entry.Value)
	}
	return texts
}

// optionalText returns a pointer to the text, or nil if the text is empty.
func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// checkpointRowOf returns the checkpoint row that stores an action.
func checkpointRowOf(a *action) checkpointRow {
	switch {
	case a.Add != nil:
		return checkpointRow{Add: &checkpointAdd{
			ModificationTime: a.Add.ModificationTime, PartitionValues: pairsOf(a.Add.PartitionValues), Path: a.Add.Path,
			Size: a.Add.Size, Stats: optionalText(a.Add.Stats),
		}}
	case a.Remove != nil:
		return checkpointRow{Remove: &checkpointRemove{DeletionTimestamp: a.Remove.DeletionTimestamp, Path: a.Remove.Path}}
	case a.Txn != nil:
		return checkpointRow{Txn: &checkpointTxn{a.Txn.AppID, a.Txn.LastUpdated, a.Txn.Version}}
	case a.Protocol != nil:
		return checkpointRow{Protocol: &checkpointProtocol{int32(a.Protocol.MinReaderVersion), int32(a.Protocol.MinWriterVersion)}}
	default:
		m := a.MetaData
		row := &checkpointMetaData{
			Configuration: textPairs(m.Configuration), CreatedTime: m.CreatedTime, Description: optionalText(m.Description), ID: m.ID,
			Name: optionalText(m.Name), SchemaString: m.SchemaString,
		}
		row.Format.Provider, row.Format.Options = m.Format.Provider, textPairs(m.Format.Options)
		for _, column := range m.PartitionColumns {
			row.PartitionColumns.List = append(row.PartitionColumns.List, listElement{column})
		}
		return checkpointRow{MetaData: row}
	}
}

// action returns the action in a row, or an empty action if this program does not use that kind of action.
func (r *checkpointRow) action() action {
	switch {
	case r.Add != nil:
		return action{Add: &add{
			Path: r.Add.Path, PartitionValues: r.Add.PartitionValues.values(), Size: r.Add.Size,
			ModificationTime: r.Add.ModificationTime, Stats: textOf(r.Add.Stats),
		}}
	case r.Remove != nil:
		return action{Remove: &remove{Path: r.Remove.Path, DeletionTimestamp: r.Remove.DeletionTimestamp}}
	case r.Txn != nil:
		return action{Txn: &txn{r.Txn.AppID, r.Txn.Version, r.Txn.LastUpdated}}
	case r.Protocol != nil:
		return action{Protocol: &protocol{int(r.Protocol.MinReaderVersion), int(r.Protocol.MinWriterVersion)}}
	case r.MetaData != nil:
		m := &metaData{
			ID: r.MetaData.ID, Name: textOf(r.MetaData.Name), Description: textOf(r.MetaData.Description),
			Format:       format{r.MetaData.Format.Provider, r.MetaData.Format.Options.texts()},
			SchemaString: r.MetaData.SchemaString, PartitionColumns: []string{},
			Configuration: r.MetaData.Configuration.texts(), CreatedTime: r.MetaData.CreatedTime,
		}
		for _, column := range r.MetaData.PartitionColumns.List {
			m.PartitionColumns = append(m.PartitionColumns, column.Element)
		}
		return action{MetaData: m}
	}
	return action{}
}

// checkpointNodes returns the columns of a checkpoint: the columns of checkpointRow, but annotated as maps and lists.
func checkpointNodes() parquet.Node {
	text, number, long, flag := parquet.String(), parquet.Int(32), parquet.Int(64), parquet.Leaf(parquet.BooleanType)
	texts := parquet.Map(text, parquet.Optional(text))
	return parquet.Group{
		"add": parquet.Optional(parquet.Group{
			"dataChange": flag, "modificationTime": long, "partitionValues": texts, "path": text, "size": long,
			"stats": parquet.Optional(text),
		}),
		"metaData": parquet.Optional(parquet.Group{
			"configuration": texts, "createdTime": long, "description": parquet.Optional(text),
			"format": parquet.Group{"options": texts, "provider": text}, "id": text, "name": parquet.Optional(text),
			"partitionColumns": parquet.List(text), "schemaString": text,
		}),
		"protocol": parquet.Optional(parquet.Group{"minReaderVersion": number, "minWriterVersion": number}),
		"remove":   parquet.Optional(parquet.Group{"dataChange": flag, "deletionTimestamp": long, "path": text}),
		"txn":      parquet.Optional(parquet.Group{"appId": text, "lastUpdated": parquet.Optional(long), "version": long}),
	}
}

const (
	// maxCheckpointGroup is the maximum number of rows in a row group of a checkpoint.
	maxCheckpointGroup = 1 << 16
	// checkpointPage is the size of the buffer for a column's page, in bytes before compression.
	checkpointPage = 1 << 20
)

// checkpointWriter writes a checkpoint. The bytes depend only on the rows.
type checkpointWriter struct {
	rows, adds int64

	content bytes.Buffer
	schema  *parquet.Schema // the schema of checkpointRow
	file    *parquet.GenericWriter[any]
}

func newCheckpointWriter() *checkpointWriter {
	w := &checkpointWriter{schema: parquet.SchemaOf(checkpointRow{})}
	w.file = parquet.NewGenericWriter[any](&w.content, parquet.NewSchema("checkpoint", checkpointNodes()), parquet.Compression(&parquet.Zstd),
		parquet.PageBufferSize(checkpointPage), parquet.MaxRowsPerRowGroup(maxCheckpointGroup), createdBy{})
	return w
}

// createdBy sets created_by to the same value as in data files. The library's own option would append the build.
type createdBy struct{}

// ConfigureWriter implements parquet.WriterOption.
func (createdBy) ConfigureWriter(config *parquet.WriterConfig) {
	config.CreatedBy = parquetfile.CreatedBy
}

func (w *checkpointWriter) write(a *action) error {
	row := checkpointRowOf(a)
	w.rows++
	if row.Add != nil {
		w.adds++
	}
	_, err := w.file.WriteRows([]parquet.Row{w.schema.Deconstruct(nil, &row)})
	return err
}

// flush begins a new row group.
func (w *checkpointWriter) flush() error { return w.file.Flush() }

// finish returns the content of the file.
func (w *checkpointWriter) finish() ([]byte, error) {
	err := w.file.Close()
	return w.content.Bytes(), err
}

// readCheckpoint passes the actions of a checkpoint, which another program may have written, to use.
func readCheckpoint(r io.ReaderAt, size int64, use func(a action)) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics on damaged pages
			err = fmt.Errorf("%v", p)
		}
	}()
	if _, err := parquetfile.ReadFooter(r, size); err != nil {
		return err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	reader := parquet.NewGenericReader[checkpointRow](file)
	defer func() { err = errors.Join(err, reader.Close()) }()
	for rows := make([]checkpointRow, 64); ; {
		clear(rows)
		n, err := reader.Read(rows)
		for i := range rows[:n] {
			use(rows[i].action())
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
