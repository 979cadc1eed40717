// Package pages generates the pages of bulk test results (4.6) that the benchmarks export. The same options always give
// the same bytes. Every result, student and start time is distinct. If a few schools were repeated, the columns of
// identifiers would compress to short dictionaries, and every exporter would seem better than it is. Sizes follow the
// live service: about 1.5 KB per result, three norms and 3.3 instructional areas.
//
// The pages have only documented members of documented types, so that exporters that drop or reject other members still
// write the same rows.
package pages
