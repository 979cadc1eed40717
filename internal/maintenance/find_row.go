package maintenance

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Row contains the values of a row that are not null, in the order of the columns. In JSON, it is an object.
type Row []Value

// Value is the value of a column, as JSON.
type Value struct {
	Column string
	JSON   json.RawMessage
}

// Text returns the value in readable form: text without quotes, and everything else as JSON.
func (v Value) Text() string {
	var text string
	if json.Unmarshal(v.JSON, &text) == nil {
		return text
	}
	return string(v.JSON)
}

// MarshalJSON implements json.Marshaler.
func (r Row) MarshalJSON() ([]byte, error) { return []byte(r.text()), nil }

// text returns the row in JSON.
func (r Row) text() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(v.Column) + ":")
		b.Write(v.JSON)
	}
	return b.String() + "}"
}

// rowOf returns row i of a batch, without the columns that exist only in the history.
func rowOf(batch *rows.Batch, i int) Row {
	var row Row
	for c := range batch.Cols {
		column, v := &batch.Table.Columns[c], &batch.Cols[c]
		if v.Null(i) || column.Name == "valid_from" || column.Name == "ended_because" {
			continue
		}
		row = append(row, Value{column.Name, valueOf(column, v, i)})
	}
	return row
}

// valueOf returns a value as JSON. Valid text of a JSON column is returned unchanged.
func valueOf(column *schemas.Column, v *rows.Vector, i int) json.RawMessage {
	var value any
	switch v.Type {
	case schemas.Int32:
		value = v.I32[i]
	case schemas.Int64:
		value = v.I64[i]
	case schemas.Double:
		value = v.F64[i]
	case schemas.Boolean:
		value = v.Bool[i] != 0
	case schemas.Date:
		value = snapshot.DateOf(v.I32[i])
	case schemas.Timestamp:
		value = time.UnixMicro(v.I64[i]).UTC()
	case schemas.String, schemas.JSON:
		if text := v.Text(i); column.Type == schemas.JSON && json.Valid(text) {
			return append(json.RawMessage{}, text...)
		}
		value = string(v.Text(i))
	}
	data, err := json.Marshal(value)
	if err != nil { // a number that JSON cannot represent, such as NaN
		return json.RawMessage(`"unreadable"`)
	}
	return data
}
