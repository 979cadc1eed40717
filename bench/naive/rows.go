package naive

import (
	"fmt"
	"time"
)

// Result is both a record of 4.6 and a row of its table.
type Result struct {
	RequestedSchoolBid           string   `json:"-"                            parquet:"requested_school_bid,dict"`
	TestResultBid                *string  `json:"testResultBid"                parquet:"test_result_bid,optional"`
	StudentBid                   *string  `json:"studentBid"                   parquet:"student_bid,optional"`
	SchoolBid                    *string  `json:"schoolBid"                    parquet:"school_bid,optional,dict"`
	TermBid                      *string  `json:"termBid"                      parquet:"term_bid,optional,dict"`
	SubjectArea                  *string  `json:"subjectArea"                  parquet:"subject_area,optional,dict"`
	Grade                        *string  `json:"grade"                        parquet:"grade,optional,dict"`
	TestName                     *string  `json:"testName"                     parquet:"test_name,optional,dict"`
	TestKey                      *string  `json:"testKey"                      parquet:"test_key,optional,dict"`
	TestType                     *string  `json:"testType"                     parquet:"test_type,optional,dict"`
	GrowthEventYn                *bool    `json:"growthEventYn"                parquet:"growth_event_yn,optional"`
	Duration                     *int64   `json:"duration"                     parquet:"duration,optional"`
	Status                       *string  `json:"status"                       parquet:"status,optional,dict"`
	RIT                          *int32   `json:"rit"                          parquet:"rit,optional"`
	StandardError                *float64 `json:"standardError"                parquet:"standard_error,optional"`
	RITScoreHigh                 *int32   `json:"ritScoreHigh"                 parquet:"rit_score_high,optional"`
	RITScoreLow                  *int32   `json:"ritScoreLow"                  parquet:"rit_score_low,optional"`
	ItemsShown                   *int32   `json:"-"                            parquet:"items_shown,optional"`
	ItemsCorrect                 *int32   `json:"-"                            parquet:"items_correct,optional"`
	ItemsTotal                   *int32   `json:"-"                            parquet:"items_total,optional"`
	ResponseDisengagedPercentage *float64 `json:"responseDisengagedPercentage" parquet:"response_disengaged_percentage,optional"`
	ImpactOfDisengagement        *float64 `json:"impactOfDisengagement"        parquet:"impact_of_disengagement,optional"`
	Start                        *int64   `json:"-"                            parquet:"administration_start_date_time,optional,timestamp(microsecond)"`
	End                          *int64   `json:"-"                            parquet:"administration_end_date_time,optional,timestamp(microsecond)"`
	Modified                     *int64   `json:"-"                            parquet:"modified_date_time,optional,timestamp(microsecond)"`
	LexileScore                  *string  `json:"-"                            parquet:"lexile_score,optional,dict"`
	LexileRange                  *string  `json:"-"                            parquet:"lexile_range,optional,dict"`
	LexileMin                    *string  `json:"-"                            parquet:"lexile_min,optional,dict"`
	LexileMax                    *string  `json:"-"                            parquet:"lexile_max,optional,dict"`
	QuantileScore                *string  `json:"-"                            parquet:"quantile_score,optional,dict"`
	QuantileRange                *string  `json:"-"                            parquet:"quantile_range,optional,dict"`
	QuantileMinimum              *string  `json:"-"                            parquet:"quantile_minimum,optional,dict"`
	QuantileMaximum              *string  `json:"-"                            parquet:"quantile_maximum,optional,dict"`
	QuantileOriginal             *string  `json:"-"                            parquet:"quantile_original,optional,dict"`

	Items        items   `json:"items"                       parquet:"-"`
	Lexile       scale   `json:"lexile"                      parquet:"-"`
	Quantile     scale   `json:"quantile"                    parquet:"-"`
	StartText    *string `json:"administrationStartDateTime" parquet:"-"`
	EndText      *string `json:"administrationEndDateTime"   parquet:"-"`
	ModifiedText *string `json:"modifiedDateTime"            parquet:"-"`
	Norms        []Norm  `json:"norms"                       parquet:"-"`
	Areas        []Area  `json:"instructionalAreas"          parquet:"-"`
}

type items struct {
	Shown   *int32 `json:"shown"`
	Correct *int32 `json:"correct"`
	Total   *int32 `json:"total"`
}

type scale struct {
	Score    *string `json:"score"`
	Range    *string `json:"range"`
	Min      *string `json:"min"`
	Max      *string `json:"max"`
	Minimum  *string `json:"minimum"`
	Maximum  *string `json:"maximum"`
	Original *string `json:"original"`
}

// Norm is both an element of norms and a row of its table.
type Norm struct {
	RequestedSchoolBid string  `json:"-"          parquet:"requested_school_bid,dict"`
	TestResultBid      *string `json:"-"          parquet:"test_result_bid,optional"`
	Ordinal            int32   `json:"-"          parquet:"ordinal"`
	Percentile         *int32  `json:"percentile" parquet:"percentile,optional"`
	Reference          *string `json:"reference"  parquet:"reference,optional,dict"`
	Type               *string `json:"type"       parquet:"type,optional,dict"`
}

// Area is both an element of instructionalAreas and a row of its table.
type Area struct {
	RequestedSchoolBid string   `json:"-"                     parquet:"requested_school_bid,dict"`
	TestResultBid      *string  `json:"-"                     parquet:"test_result_bid,optional"`
	Ordinal            int32    `json:"-"                     parquet:"ordinal"`
	Bid                *string  `json:"instructionalAreaBid"  parquet:"instructional_area_bid,optional,dict"`
	Name               *string  `json:"instructionalAreaName" parquet:"instructional_area_name,optional,dict"`
	Score              *float64 `json:"score"                 parquet:"score,optional"`
	StandardError      *float64 `json:"standardError"         parquet:"standard_error,optional"`
	ScoreLow           *float64 `json:"scoreLow"              parquet:"score_low,optional"`
	ScoreHigh          *float64 `json:"scoreHigh"             parquet:"score_high,optional"`
}

// fillColumns copies nested members and timestamps to their columns.
func (r *Result) fillColumns(school string) error {
	r.RequestedSchoolBid = school
	r.ItemsShown, r.ItemsCorrect, r.ItemsTotal = r.Items.Shown, r.Items.Correct, r.Items.Total
	r.LexileScore, r.LexileRange, r.LexileMin, r.LexileMax = r.Lexile.Score, r.Lexile.Range, r.Lexile.Min, r.Lexile.Max
	r.QuantileScore, r.QuantileRange, r.QuantileOriginal = r.Quantile.Score, r.Quantile.Range, r.Quantile.Original
	r.QuantileMinimum, r.QuantileMaximum = r.Quantile.Minimum, r.Quantile.Maximum
	for _, t := range []struct {
		text   *string
		column **int64
	}{{r.StartText, &r.Start}, {r.EndText, &r.End}, {r.ModifiedText, &r.Modified}} {
		if t.text == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, *t.text)
		if err != nil {
			return fmt.Errorf("read a timestamp: %w", err)
		}
		micros := at.UnixMicro()
		*t.column = &micros
	}
	for i := range r.Norms {
		r.Norms[i].RequestedSchoolBid, r.Norms[i].TestResultBid, r.Norms[i].Ordinal = school, r.TestResultBid, int32(i)
	}
	for i := range r.Areas {
		r.Areas[i].RequestedSchoolBid, r.Areas[i].TestResultBid, r.Areas[i].Ordinal = school, r.TestResultBid, int32(i)
	}
	return nil
}
