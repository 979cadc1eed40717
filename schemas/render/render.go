package render

import (
	"example.org/growthexport/schemas"
)

// These constants describe the hive partition column of every table. The second partition column, which comes from
// --partition-by district, is left out because not every destination has it.
const (
	partitionColumn = "snapshot_date"
	partitionType   = schemas.Date
	partitionDoc    = "Date of the snapshot, from the name of the folder."
)

// comment returns a column's documentation with the properties that the DDL cannot express.
func comment(c schemas.Column) string {
	switch {
	case c.Key && c.Required:
		return c.Doc + " Part of the key, never null."
	case c.Key:
		return c.Doc + " Part of the key."
	case c.Required:
		return c.Doc + " Never null."
	default:
		return c.Doc
	}
}

// keyNames returns the names of the key columns in the sort order of files.
func keyNames(t *schemas.Table) []string {
	var names []string
	for _, i := range t.KeyColumns() {
		names = append(names, t.Columns[i].Name)
	}
	return names
}
