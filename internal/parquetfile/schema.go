package parquetfile

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/schemas"
)

// declaredType returns the type of the column that an element describes, or 0 if there is no such type. It is the
// inverse of elementOf, except that it returns String for a JSON column.
func declaredType(e *format.SchemaElement) schemas.Type {
	for t := schemas.String; t < schemas.JSON; t++ {
		if declared := elementOf(&schemas.Column{Type: t}); e.Type == declared.Type && e.ConvertedType == declared.ConvertedType {
			return t
		}
	}
	return 0
}

func physicalType(t schemas.Type) format.Type {
	switch t {
	case schemas.Int32, schemas.Date:
		return format.Int32
	case schemas.Int64, schemas.Timestamp:
		return format.Int64
	case schemas.Double:
		return format.Double
	case schemas.Boolean:
		return format.Boolean
	default:
		return format.ByteArray
	}
}

// schemaOf returns the table's schema: the root and its columns.
func schemaOf(table *schemas.Table) []format.SchemaElement {
	elements := make([]format.SchemaElement, 1, 1+len(table.Columns))
	elements[0] = format.SchemaElement{Name: table.Name, NumChildren: thrift.New(int32(len(table.Columns)))}
	for i := range table.Columns {
		elements = append(elements, elementOf(&table.Columns[i]))
	}
	return elements
}

// elementOf returns the schema of a column. Whole numbers need no annotation beyond their physical type.
func elementOf(c *schemas.Column) format.SchemaElement {
	e := format.SchemaElement{
		Name:           c.Name,
		Type:           thrift.New(physicalType(c.Type)),
		RepetitionType: thrift.New(format.Optional),
	}
	if c.Required {
		e.RepetitionType.V = format.Required
	}
	switch c.Type {
	case schemas.String, schemas.JSON: // doc.go explains why JSON columns do not have JsonType
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType.Value = new(format.StringType)
	case schemas.Date:
		e.ConvertedType = thrift.New(deprecated.Date)
		e.LogicalType.Value = new(format.DateType)
	case schemas.Timestamp:
		e.ConvertedType = thrift.New(deprecated.TimestampMicros)
		e.LogicalType.Value = &format.TimestampType{
			IsAdjustedToUTC: true,
			Unit:            format.TimeUnit{Value: new(format.MicroSeconds)},
		}
	case schemas.Int32, schemas.Int64, schemas.Double, schemas.Boolean:
	}
	return e
}
