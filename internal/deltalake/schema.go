package deltalake

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// field is a column in a schema string.
type field struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Nullable bool              `json:"nullable"`
	Metadata map[string]string `json:"metadata"`
}

// typeName returns the name of a column's type in a schema string.
func typeName(t schemas.Type) string {
	switch t {
	case schemas.Int32:
		return "integer"
	case schemas.Int64:
		return "long"
	case schemas.JSON:
		return "string"
	default:
		return t.String()
	}
}

// schemaString returns the schema of a table: its columns as declared, then the partition columns.
func schemaString(table *schemas.Table, partitions []partition) (string, error) {
	var fields []field
	for i := range table.Columns {
		c := &table.Columns[i]
		fields = append(fields, field{c.Name, typeName(c.Type), !c.Required, comment(c.Doc)})
	}
	for _, p := range partitions {
		fields = append(fields, field{p.name, typeName(p.kind), true, comment(p.doc)})
	}
	encoded, err := json.Marshal(struct {
		Type   string  `json:"type"`
		Fields []field `json:"fields"`
	}{"struct", fields})
	return string(encoded), err
}

func comment(doc string) map[string]string {
	if doc == "" {
		return map[string]string{}
	}
	return map[string]string{"comment": doc}
}

// metaDataOf returns the metadata that the table's log should have. It keeps the values that are fixed when a log is
// created, and the user's properties.
func metaDataOf(t *table, log *state) (*metaData, error) {
	schema, err := schemaString(t.declared, t.partitions)
	if err != nil {
		return nil, fmt.Errorf("describe table %s: %w", t.folder, err)
	}
	m := &metaData{
		ID: cmp.Or(log.id, t.id()), Name: t.declared.Name, Description: t.declared.Doc, Format: format{Provider: "parquet", Options: map[string]string{}},
		SchemaString: schema, PartitionColumns: []string{}, CreatedTime: t.created.UnixMilli(),
		Configuration: make(map[string]string),
	}
	for _, p := range t.partitions {
		m.PartitionColumns = append(m.PartitionColumns, p.name)
	}
	if current := log.meta; current != nil {
		m.CreatedTime = current.CreatedTime
		maps.Copy(m.Configuration, current.Configuration) // the user's properties
	}
	// Other writers should neither remove commits nor write the bounds of other columns.
	m.Configuration["delta.enableExpiredLogCleanup"] = "false"
	m.Configuration["delta.dataSkippingStatsColumns"] = boundedColumns(t.declared)
	return m, nil
}

// boundedColumns returns the columns for which a log has bounds, separated by commas.
func boundedColumns(t *schemas.Table) string {
	var names []string
	bounded := schemas.BoundedColumns()
	for i := range t.Columns {
		if slices.Contains(bounded, t.Columns[i].Name) {
			names = append(names, t.Columns[i].Name)
		}
	}
	return strings.Join(names, ",")
}

// equal reports whether two sets of metadata describe the same table.
func (m *metaData) equal(o *metaData) bool {
	return m != nil && o != nil && m.ID == o.ID && m.Name == o.Name && m.Description == o.Description && m.SchemaString == o.SchemaString &&
		slices.Equal(m.PartitionColumns, o.PartitionColumns) && maps.Equal(m.Configuration, o.Configuration)
}

// id returns the identifier of a new log: a UUID derived from the destination's first service and the table's folder.
// Engines that have registered the table therefore still recognize it after its log was written again.
func (t *table) id() string {
	b := sha256.Sum256([]byte("growth-export Delta log\n" + t.service + "\n" + t.folder))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: RFC 9562 reserves it for custom formats
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
