package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// A naive exporter to compare with: encoding/json into structs, and parquet-go's GenericWriter on structs with tags,
// one per table. It does less than a real one would have to do: it neither sorts nor drops duplicates, loses unknown
// members, and fails on values of other types.

type naiveResult struct {
	RequestedSchoolBid           string      `parquet:"requested_school_bid,dict" json:"-"`
	TestResultBid                *string     `parquet:"test_result_bid,optional" json:"testResultBid"`
	StudentBid                   *string     `parquet:"student_bid,optional" json:"studentBid"`
	SchoolBid                    *string     `parquet:"school_bid,optional,dict" json:"schoolBid"`
	TermBid                      *string     `parquet:"term_bid,optional,dict" json:"termBid"`
	SubjectArea                  *string     `parquet:"subject_area,optional,dict" json:"subjectArea"`
	Grade                        *string     `parquet:"grade,optional,dict" json:"grade"`
	TestName                     *string     `parquet:"test_name,optional,dict" json:"testName"`
	TestKey                      *string     `parquet:"test_key,optional,dict" json:"testKey"`
	TestType                     *string     `parquet:"test_type,optional,dict" json:"testType"`
	GrowthEventYn                *bool       `parquet:"growth_event_yn,optional" json:"growthEventYn"`
	Duration                     *int64      `parquet:"duration,optional" json:"duration"`
	Status                       *string     `parquet:"status,optional,dict" json:"status"`
	Rit                          *int32      `parquet:"rit,optional" json:"rit"`
	StandardError                *float64    `parquet:"standard_error,optional" json:"standardError"`
	RitScoreHigh                 *int32      `parquet:"rit_score_high,optional" json:"ritScoreHigh"`
	RitScoreLow                  *int32      `parquet:"rit_score_low,optional" json:"ritScoreLow"`
	ItemsShown                   *int32      `parquet:"items_shown,optional" json:"-"`
	ItemsCorrect                 *int32      `parquet:"items_correct,optional" json:"-"`
	ItemsTotal                   *int32      `parquet:"items_total,optional" json:"-"`
	ResponseDisengagedPercentage *float64    `parquet:"response_disengaged_percentage,optional" json:"responseDisengagedPercentage"`
	ImpactOfDisengagement        *float64    `parquet:"impact_of_disengagement,optional" json:"impactOfDisengagement"`
	AdministrationStart          *int64      `parquet:"administration_start_date_time,optional,timestamp(microsecond)" json:"-"`
	AdministrationEnd            *int64      `parquet:"administration_end_date_time,optional,timestamp(microsecond)" json:"-"`
	Modified                     *int64      `parquet:"modified_date_time,optional,timestamp(microsecond)" json:"-"`
	LexileScore                  *string     `parquet:"lexile_score,optional,dict" json:"-"`
	LexileRange                  *string     `parquet:"lexile_range,optional,dict" json:"-"`
	LexileMin                    *string     `parquet:"lexile_min,optional,dict" json:"-"`
	LexileMax                    *string     `parquet:"lexile_max,optional,dict" json:"-"`
	QuantileScore                *string     `parquet:"quantile_score,optional,dict" json:"-"`
	QuantileRange                *string     `parquet:"quantile_range,optional,dict" json:"-"`
	QuantileMinimum              *string     `parquet:"quantile_minimum,optional,dict" json:"-"`
	QuantileMaximum              *string     `parquet:"quantile_maximum,optional,dict" json:"-"`
	QuantileOriginal             *string     `parquet:"quantile_original,optional,dict" json:"-"`
	Items                        naiveItems  `parquet:"-" json:"items"`
	Lexile                       naiveScale  `parquet:"-" json:"lexile"`
	Quantile                     naiveScale  `parquet:"-" json:"quantile"`
	StartText                    *string     `parquet:"-" json:"administrationStartDateTime"`
	EndText                      *string     `parquet:"-" json:"administrationEndDateTime"`
	ModifiedText                 *string     `parquet:"-" json:"modifiedDateTime"`
	Norms                        []naiveNorm `parquet:"-" json:"norms"`
	Areas                        []naiveArea `parquet:"-" json:"instructionalAreas"`
}

type naiveItems struct {
	Shown, Correct, Total *int32
}

type naiveScale struct {
	Score, Range, Min, Max, Minimum, Maximum, Original *string
}

type naiveNorm struct {
	RequestedSchoolBid string  `parquet:"requested_school_bid,dict" json:"-"`
	TestResultBid      *string `parquet:"test_result_bid,optional" json:"-"`
	Ordinal            int32   `parquet:"ordinal" json:"-"`
	Percentile         *int32  `parquet:"percentile,optional" json:"percentile"`
	Reference          *string `parquet:"reference,optional,dict" json:"reference"`
	Type               *string `parquet:"type,optional,dict" json:"type"`
}

type naiveArea struct {
	RequestedSchoolBid string   `parquet:"requested_school_bid,dict" json:"-"`
	TestResultBid      *string  `parquet:"test_result_bid,optional" json:"-"`
	Ordinal            int32    `parquet:"ordinal" json:"-"`
	Bid                *string  `parquet:"instructional_area_bid,optional,dict" json:"instructionalAreaBid"`
	Name               *string  `parquet:"instructional_area_name,optional,dict" json:"instructionalAreaName"`
	Score              *float64 `parquet:"score,optional" json:"score"`
	StandardError      *float64 `parquet:"standard_error,optional" json:"standardError"`
	ScoreLow           *float64 `parquet:"score_low,optional" json:"scoreLow"`
	ScoreHigh          *float64 `parquet:"score_high,optional" json:"scoreHigh"`
}

// naive exports the pages of schools into three files in memory and returns their total size.
func naive(schools []schoolPages) (int, error) {
	var files [3]bytes.Buffer
	compression := parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest})
	results := parquet.NewGenericWriter[naiveResult](&files[0], compression)
	norms := parquet.NewGenericWriter[naiveNorm](&files[1], compression)
	areas := parquet.NewGenericWriter[naiveArea](&files[2], compression)
	for _, school := range schools {
		for _, page := range school.pages {
			var answer struct {
				TestResults []naiveResult `json:"testResults"`
			}
			if err := json.Unmarshal(page, &answer); err != nil {
				return 0, fmt.Errorf("decode a page: %w", err)
			}
			var n []naiveNorm
			var a []naiveArea
			for i := range answer.TestResults {
				r := &answer.TestResults[i]
				if err := r.finish(school.bid); err != nil {
					return 0, err
				}
				n, a = append(n, r.Norms...), append(a, r.Areas...)
			}
			if _, err := results.Write(answer.TestResults); err != nil {
				return 0, err
			}
			if _, err := norms.Write(n); err != nil {
				return 0, err
			}
			if _, err := areas.Write(a); err != nil {
				return 0, err
			}
		}
	}
	size := 0
	for i, w := range []interface{ Close() error }{results, norms, areas} {
		if err := w.Close(); err != nil {
			return 0, err
		}
		size += files[i].Len()
	}
	return size, nil
}

// finish copies the nested members into their columns.
func (r *naiveResult) finish(school string) error {
	r.RequestedSchoolBid = school
	r.ItemsShown, r.ItemsCorrect, r.ItemsTotal = r.Items.Shown, r.Items.Correct, r.Items.Total
	r.LexileScore, r.LexileRange, r.LexileMin, r.LexileMax = r.Lexile.Score, r.Lexile.Range, r.Lexile.Min, r.Lexile.Max
	r.QuantileScore, r.QuantileRange, r.QuantileOriginal = r.Quantile.Score, r.Quantile.Range, r.Quantile.Original
	r.QuantileMinimum, r.QuantileMaximum = r.Quantile.Minimum, r.Quantile.Maximum
	for _, t := range []struct {
		text *string
		to   **int64
	}{{r.StartText, &r.AdministrationStart}, {r.EndText, &r.AdministrationEnd}, {r.ModifiedText, &r.Modified}} {
		if t.text == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, *t.text)
		if err != nil {
			if at, err = time.Parse("2006-01-02T15:04:05", *t.text); err != nil {
				return fmt.Errorf("read a timestamp: %w", err)
			}
		}
		micros := at.UnixMicro()
		*t.to = &micros
	}
	for i := range r.Norms {
		r.Norms[i].RequestedSchoolBid, r.Norms[i].TestResultBid, r.Norms[i].Ordinal = school, r.TestResultBid, int32(i)
	}
	for i := range r.Areas {
		r.Areas[i].RequestedSchoolBid, r.Areas[i].TestResultBid, r.Areas[i].Ordinal = school, r.TestResultBid, int32(i)
	}
	return nil
}
