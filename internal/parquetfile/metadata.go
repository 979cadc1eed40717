package parquetfile

import (
	"bytes"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic begins and ends every Parquet file.
const magic = "PAR1"

// CreatedBy is the created_by of every file. Its version is the only version number of growth-export in a data file.
const CreatedBy = "growth-export version 1"

// These structs replace structs of package format. They add fields that the package lacks, such as the flags for exact
// bounds, or omit fields that it always writes.

type pageHeader struct {
	Type                 format.PageType                          `thrift:"1,required"`
	UncompressedPageSize int32                                    `thrift:"2,required"`
	CompressedPageSize   int32                                    `thrift:"3,required"`
	DataPageHeader       thrift.Null[dataPageHeader]              `thrift:"5,optional"`
	DictionaryPageHeader thrift.Null[format.DictionaryPageHeader] `thrift:"7,optional"`
}

// dataPageHeader omits the statistics, which package format always writes with a null count of 0.
type dataPageHeader struct {
	NumValues               int32           `thrift:"1,required"`
	Encoding                format.Encoding `thrift:"2,required"`
	DefinitionLevelEncoding format.Encoding `thrift:"3,required"`
	RepetitionLevelEncoding format.Encoding `thrift:"4,required"`
}

type statistics struct {
	NullCount       int64             `thrift:"3,writezero"`
	MaxValue        []byte            `thrift:"5"`
	MinValue        []byte            `thrift:"6"`
	IsMaxValueExact thrift.Null[bool] `thrift:"7,optional"`
	IsMinValueExact thrift.Null[bool] `thrift:"8,optional"`
}

type columnMetaData struct {
	Type                  format.Type                            `thrift:"1,required"`
	Encoding              thrift.Slice[format.Encoding]          `thrift:"2,required"`
	PathInSchema          thrift.Slice[string]                   `thrift:"3,required"`
	Codec                 format.CompressionCodec                `thrift:"4,required"`
	NumValues             int64                                  `thrift:"5,required"`
	TotalUncompressedSize int64                                  `thrift:"6,required"`
	TotalCompressedSize   int64                                  `thrift:"7,required"`
	DataPageOffset        int64                                  `thrift:"9,required"`
	DictionaryPageOffset  int64                                  `thrift:"11,optional"`
	Statistics            statistics                             `thrift:"12,optional,writezero"`
	EncodingStats         thrift.Slice[format.PageEncodingStats] `thrift:"13,optional"`
	BloomFilterOffset     int64                                  `thrift:"14,optional"`
	BloomFilterLength     int32                                  `thrift:"15,optional"`
}

type columnChunk struct {
	// FileOffset is always 0, because the format has deprecated it.
	FileOffset        int64          `thrift:"2,required"`
	MetaData          columnMetaData `thrift:"3,optional"`
	OffsetIndexOffset int64          `thrift:"4,optional"`
	OffsetIndexLength int32          `thrift:"5,optional"`
	ColumnIndexOffset int64          `thrift:"6,optional"`
	ColumnIndexLength int32          `thrift:"7,optional"`
}

type rowGroup struct {
	Columns             thrift.Slice[columnChunk]          `thrift:"1,required"`
	TotalByteSize       int64                              `thrift:"2,required"`
	NumRows             int64                              `thrift:"3,required"`
	SortingColumns      thrift.Slice[format.SortingColumn] `thrift:"4,optional"`
	FileOffset          int64                              `thrift:"5,optional"`
	TotalCompressedSize int64                              `thrift:"6,optional"`
}

type fileMetaData struct {
	Version      int32                              `thrift:"1,required"`
	Schema       thrift.Slice[format.SchemaElement] `thrift:"2,required"`
	NumRows      int64                              `thrift:"3,required"`
	RowGroups    thrift.Slice[rowGroup]             `thrift:"4,required"`
	CreatedBy    string                             `thrift:"6,optional"`
	ColumnOrders thrift.Slice[format.ColumnOrder]   `thrift:"7,optional"`
}

// encodeThrift appends one struct in Thrift's compact protocol.
func encodeThrift(dst *bytes.Buffer, v any) error {
	protocol := new(thrift.CompactProtocol)
	return thrift.NewEncoder(protocol.NewWriter(dst)).Encode(v)
}
